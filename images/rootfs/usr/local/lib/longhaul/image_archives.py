"""The container images that came with a machine's image, as archives.

Not in containerd's own store, whose root is the local SSD where there is one: what a bake leaves in /var/lib/containerd
is never looked at there.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

ARCHIVES = Path("/usr/share/longhaul/images")
NAME = "io.containerd.image.name"
"""Annotation by which an OCI layout says what `ctr images import` is to call an image."""


class ArchiveError(Exception):
    """A file that is no archive of a named image."""


def archives(folder: Path = ARCHIVES) -> Iterator[tuple[Path, dict[str, str]]]:
    """Every archive with its images' manifest digests by name; ``ArchiveError`` for one that is none."""
    for path in sorted(folder.glob("*.tar")):
        yield path, images(path)


def images(path: Path) -> dict[str, str]:
    """Digest of each image's manifest by the image's whole name."""
    try:
        with tarfile.open(path) as tar, tar.extractfile("index.json") as file:  # type: ignore[union-attr]
            index = json.load(file)
        return {entry["annotations"][NAME]: entry["digest"] for entry in index["manifests"]}
    except (tarfile.TarError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{path} is no archive of container images with names: {error!r}") from error
