"""Images of machines in Nimbus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.baking import Asked, Recipe
from clouds.base.errors import CloudError
from nimbus.api import ACCOUNT, account
from nimbus.site import NimbusSite

PLACEHOLDER = "image-0"
"""Id of no image."""


def stands_for_none(site: NimbusSite, /) -> bool:
    """Whether the id that a site's file gives stands for an image that is still to be baked."""
    return site.image == PLACEHOLDER


def placeholder(_account: str, /, *, kind: str) -> str:
    """The id that stands for the first image, one for all kinds."""
    return PLACEHOLDER


def recipe(site: NimbusSite, asked: Asked, version: str, /) -> Recipe:
    """How an image is baked as it is asked for; ``ValueError`` with what is wrong."""
    if asked.subnet:
        raise ValueError(f"--subnet {asked.subnet}: fabrics have none")
    variables = {"region": site.region, "project": site.project, "version": version}
    return Recipe(builder="nimbus", machine_type="lift-8", image="", variables=variables)


def credentials(environ: Mapping[str, str], /, *, needed: bool) -> dict[str, str]:
    """The account's."""
    if needed:
        account()
    elif ACCOUNT not in environ:
        return {}
    if ACCOUNT not in environ:
        raise CloudError(f"no Nimbus account: set {ACCOUNT}")
    return {ACCOUNT: environ[ACCOUNT]}


def leftovers(name: str, image: str, variables: Mapping[str, Any], /) -> list[str]:
    """Commands that tell whether anything is left of a bake that was killed."""
    return [f"nimbus images --region {variables['region']} --named {name} {image}".rstrip()]
