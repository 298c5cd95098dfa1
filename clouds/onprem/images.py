"""Images of machines: none, because hosts are prepared in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.baking import BakeOptions, Recipe
from clouds.onprem.site import OnpremSite


def is_placeholder(_site: OnpremSite, /) -> bool:
    """Return false: there is nothing to bake."""
    return False


def placeholder(_account: str, *, kind: str) -> str:  # noqa: ARG001 - there is none of any kind
    """Return an empty text."""
    return ""


def recipe(_site: OnpremSite, asked: BakeOptions, _version: str, /) -> Recipe:
    """Raise ``ValueError``: hosts have no image."""
    raise ValueError(f"{asked.site} is on-prem: its hosts have no image, `longhaul hosts` makes them what they are")


def credentials(_environ: Mapping[str, str], /, *, needed: bool) -> dict[str, str]:  # noqa: ARG001 - nobody is asked
    """Return an empty mapping."""
    return {}


def leftovers(_name: str, _image: str, _variables: Mapping[str, Any], /) -> list[str]:
    """Return an empty list, because nothing is baked."""
    return []
