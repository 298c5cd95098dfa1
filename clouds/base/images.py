"""Images that machines boot, and how they are baked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

from clouds.base.place import Place, SiteT

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
    """Default machine type to bake on. It has four processors, because the bake compiles NVIDIA's modules. It needs no
    GPU."""
    image: str
    """Id of the image, if it is known before the image exists; else empty."""
    variables: Mapping[str, Any]
    """Packer variables that only this cloud has."""


class MachineImages(Generic[SiteT]):
    """Images of a cloud. Its machines boot none by default."""

    def is_placeholder(self, site: SiteT) -> bool:
        """Return whether the image id in a site's section is the placeholder of an image that is still to be baked."""
        return False

    def placeholder(self, account: str, *, kind: str) -> str:
        """Return the id to write until the first image of a kind (``node`` or ``gpu``) is baked. ``account`` is the
        account that will hold the image; a cloud whose image ids name no account ignores it."""
        return ""

    def recipe(self, place: Place[SiteT], asked: BakeOptions, version: str) -> Recipe:
        """Return the settings with which Packer bakes the requested image of a site. Raise ``ValueError`` when an
        option cannot be used; the message names the option and says what is wrong."""
        raise ValueError(f"{asked.site}: its machines boot no image")

    def credentials(self, environ: Mapping[str, str], *, needed: bool) -> dict[str, str]:
        """Return environment variables with which Packer uses the same credentials as all commands. Raise
        ``CloudError`` when ``needed`` is true and there are no credentials."""
        return {}

    def leftovers(self, name: str, image: str, variables: Mapping[str, Any]) -> list[str]:
        """Return shell commands that show what a killed bake left behind, one command for each entry. ``name`` is the
        name of the bake, ``image`` is :attr:`Recipe.image` and ``variables`` holds all Packer variables."""
        return []
