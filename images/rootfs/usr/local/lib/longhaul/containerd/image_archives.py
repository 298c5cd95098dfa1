"""Archives of the container images in a machine's image.

A bake does not put the container images into containerd's own store, /var/lib/containerd. On a machine with a local
SSD, the store is on the SSD, so containerd would never read them.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

from contract.annotations import IMAGE_NAME
from contract.paths import IMAGES

ARCHIVES = Path(IMAGES)


class ArchiveError(Exception):
    """Raised if a file is not an archive of named images."""


def archives(folder: Path = ARCHIVES) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield every archive, with the digests of its images' manifests by name. Raise ``ArchiveError`` for a file that is
    not an archive of named images."""
    for path in sorted(folder.glob("*.tar")):
        yield path, images(path)


def images(path: Path) -> dict[str, str]:
    """Return the digest of each image's manifest, by the image's full name."""
    try:
        with tarfile.open(path) as tar, tar.extractfile("index.json") as file:  # type: ignore[union-attr]
            index = json.load(file)
        return {entry["annotations"][IMAGE_NAME]: entry["digest"] for entry in index["manifests"]}
    except (tarfile.TarError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{path} is no archive of container images with names: {error!r}") from error
