"""Images that machines boot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

from clouds.base.baking import BakeOptions, Recipe
from clouds.base.place import SiteT


class MachineImages(Generic[SiteT]):
    """Images of a cloud. Its machines boot none by default."""

    def is_placeholder(self, site: SiteT) -> bool:
        """Return whether the image id in a site's section is the placeholder of an image that is still to be baked."""
        return False

    def placeholder(self, account: str, *, kind: str) -> str:
        """Return the id to write until the first image of a kind (``node`` or ``gpu``) is baked. ``account`` is the
        account that will hold the image; a cloud whose image ids name no account ignores it."""
        return ""

    def recipe(self, site: SiteT, asked: BakeOptions, version: str) -> Recipe:
        """Return the settings with which Packer bakes the requested image. Raise ``ValueError`` when an option cannot
        be used; the message names the option and says what is wrong."""
        raise ValueError(f"{asked.site}: its machines boot no image")

    def credentials(self, environ: Mapping[str, str], *, needed: bool) -> dict[str, str]:
        """Return environment variables with which Packer uses the same credentials as all commands. Raise
        ``CloudError`` when ``needed`` is true and there are no credentials."""
        return {}

    def leftovers(self, name: str, image: str, variables: Mapping[str, Any]) -> list[str]:
        """Return shell commands that show what a killed bake left behind, one command for each entry. ``name`` is the
        name of the bake, ``image`` is :attr:`Recipe.image` and ``variables`` holds all Packer variables."""
        return []
