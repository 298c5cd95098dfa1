"""Input and output of a cloud when an image is baked for one of its sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS = ("node", "gpu")


@dataclass(frozen=True, kw_only=True)
class BakeOptions:
    """Options of `longhaul image build`. An empty option means the default."""

    site: str
    kind: str = KINDS[0]
    version: str = ""
    subnet: str = ""
    machine_type: str = ""
    encryption_key: str = ""
    base: str = ""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings with which Packer bakes an image in a cloud."""

    builder: str
    """Name of Packer's builder. images/packer defines a source of that builder."""
    machine_type: str
    """Default machine type to bake on. It has four processors, because NVIDIA's modules are compiled. A GPU is not
    needed."""
    image: str
    """Id of the image, if it is known before the image exists; else empty."""
    variables: Mapping[str, Any]
    """Packer variables that only this cloud has."""
