"""What a cloud is told of an image that is to be baked for one of its sites, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS = ("node", "gpu")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says."""

    site: str
    kind: str = KINDS[0]
    version: str = ""
    subnet: str = ""
    machine_type: str = ""
    encryption_key: str = ""
    base: str = ""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a cloud's images are baked."""

    builder: str
    """Packer's builder; images/packer has a source of it."""
    machine_type: str
    """What to bake on unless one is asked for: four processors, for NVIDIA's modules are compiled. A GPU is not
    needed."""
    image: str
    """Id of the image where it is known before there is one; else empty."""
    variables: Mapping[str, Any]
    """Packer's, those that only this cloud has."""
