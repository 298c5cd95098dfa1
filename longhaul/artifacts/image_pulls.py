"""Container images from their registries: pulled by digest with crane, and added to a layout.

crane checks all content against the requested digest. crane also handles sign-in (``crane auth login``, Docker's
configuration and its helpers), proxies, and the variants of registries' answers.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract.annotations import IMAGE_NAME
from longhaul.artifacts.depot_content import Pull
from longhaul.artifacts.oci import INDEX
from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder, sha256_file
from longhaul.toolchain.errors import SetupError, ToolCommandError, disk_full, is_disk_full, is_network
from longhaul.toolchain.process import run_logged

_LAYOUT = 1
"""Version of the cached form. Raise it when the code below stores the same images differently."""


@dataclass(frozen=True, kw_only=True)
class Pulled:
    """An image in the cache."""

    name: str
    """Name with registry and tag."""
    layout: Path
    """OCI image layout with only this image."""


def pull(wanted: Pull, *, crane: Path, arch: str, log: Path, progress: Progress) -> Pulled:
    """Return the image for an architecture, given by Go's name, from the cache. Pull the image first when it is missing
    there.

    Raise :class:`SetupError` when the pull fails.
    """
    repository = wanted.name.rpartition(":")[0]
    place = cache_root() / "containers" / digest(_LAYOUT, repository, wanted.digest, arch)

    def make(into: Path) -> None:
        progress(f"{wanted.name}: pulling it")
        argv = [str(crane), "pull", "--format=oci", f"--platform=linux/{arch}", f"{repository}@{wanted.digest}"]
        try:
            run_logged([*argv, str(into / "layout")], log=log, what=f"pulling {wanted.name}")
        except ToolCommandError as error:
            raise _explain(error, wanted=wanted, where=into.parent) from error

    ensure_folder(place, make, what=wanted.name, progress=progress)
    _check(place, wanted)
    return Pulled(name=wanted.name, layout=place / "layout")


def _explain(error: ToolCommandError, *, wanted: Pull, where: Path) -> SetupError:
    if is_disk_full(error.output):
        return SetupError(f"{disk_full(where, doing=f'pulling {wanted.name}')}\n{error}")
    if is_network(error.output):
        return SetupError(
            f"{wanted.name}: its registry cannot be reached. Connect this machine, run it again.\n{error}"
        )
    # The registry's error message, or crane's for an answer without a message. A bare number may be part of a path.
    if re.search(r"\b(UNAUTHORIZED|DENIED|status code 401|status code 403)\b", error.output):
        return SetupError(f"{wanted.name}: its registry wants you to sign in: `crane auth login`.\n{error}")
    if re.search(r"\b(MANIFEST_UNKNOWN|NAME_UNKNOWN|status code 404)\b", error.output):
        return SetupError(f"{wanted.name}: its registry has no image with the digest {wanted.digest}.\n{error}")
    return error


def _check(place: Path, wanted: Pull) -> None:
    """Check the digests of a cached image: files in the cache may have changed."""
    if len(_entries(place / "layout")) != 1:
        raise SetupError(f"{place} does not hold {wanted.name} alone: remove that folder and run it again")
    for blob in (place / "layout/blobs/sha256").iterdir():
        if sha256_file(blob) != blob.name:
            raise SetupError(f"{blob} was changed since it was pulled: remove {place} and run it again")


def add(layout: Path, pulled: Pulled) -> None:
    """Add a pulled image to the layout in the folder ``layout``, under its name."""
    for blob in (pulled.layout / "blobs/sha256").iterdir():
        target = layout / "blobs/sha256" / blob.name
        if not target.exists():
            shutil.copyfile(blob, target)
    (entry,) = _entries(pulled.layout)
    kept: dict[str, Any] = {key: entry[key] for key in ("mediaType", "digest", "size", "platform") if key in entry}
    tag = pulled.name.rpartition(":")[2]
    kept["annotations"] = {IMAGE_NAME: pulled.name, "org.opencontainers.image.ref.name": tag}
    whole = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [*_entries(layout), kept]}
    (layout / "index.json").write_text(json.dumps(whole, sort_keys=True, separators=(",", ":")), encoding="utf-8")


def images_of(layout: Path) -> Iterator[tuple[str, str]]:
    """Yield name and digest of each image of a depot's layout."""
    for entry in _entries(layout):
        yield entry["annotations"][IMAGE_NAME], entry["digest"]


def _entries(layout: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((layout / "index.json").read_bytes())["manifests"]
    return entries
