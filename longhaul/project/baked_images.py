"""Versions in an environment's images, from the manifests that bakes left on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of
from contract.documents.image_manifest import versions_of
from longhaul.project.context import Context, state_folder
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.project.lab_seam import Lab

MANIFEST, RECORD = "manifest.json", "image.json"
"""Names of an image's manifest, and of the file beside it with the image's id."""


def image_versions(
    where: Context, environment: Environment, environ: Mapping[str, str]
) -> dict[str, Mapping[str, str]]:
    """Return the versions in each site's image, by site and release. Sites whose image was baked elsewhere, or whose
    manifest lists no versions, are left out."""
    rented = {name: site.image for name, site in environment.sites.items() if cloud_of(site).rents}
    if where.lab is not None:
        by_site = {name: _of_lab(where.lab, image) for name, image in rented.items()}
    else:
        kept = _kept(state_folder(where, environ) / "images")
        by_site = {name: kept.get(image, {}) for name, image in rented.items()}
    return {name: versions for name, versions in by_site.items() if versions}


def _of_lab(lab: Lab, image: str) -> Mapping[str, str]:
    try:
        return _versions(lab.image_manifest(image))
    except CommandError:
        return {}


def _kept(folder: Path) -> dict[str, Mapping[str, str]]:
    """Return the versions of every image that was baked here, by the image's id."""
    records = sorted(folder.glob(f"*/{RECORD}"))
    return {str(_read(path).get("image", "")): _versions(path.with_name(MANIFEST)) for path in records}


def _versions(manifest: Path) -> Mapping[str, str]:
    try:
        return versions_of(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
