"""Images of machines in Nimbus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.baking import BakeOptions, Recipe
from clouds.base.errors import CloudError
from nimbus.api import ACCOUNT, account
from nimbus.site import NimbusSite

PLACEHOLDER = "image-0"
"""Id that stands for no image."""


def is_placeholder(site: NimbusSite, /) -> bool:
    """Return whether the id in a site's file stands for an image that is still to be baked."""
    return site.image == PLACEHOLDER


def placeholder(_account: str, /, *, kind: str) -> str:
    """Return the id that stands for the first image, the same for all kinds."""
    return PLACEHOLDER


def recipe(site: NimbusSite, asked: BakeOptions, version: str, /) -> Recipe:
    """Return how an image is baked as asked for; ``ValueError`` with what is wrong."""
    if asked.subnet:
        raise ValueError(f"--subnet {asked.subnet}: fabrics have none")
    variables = {"region": site.region, "project": site.project, "version": version}
    return Recipe(builder="nimbus", machine_type="lift-8", image="", variables=variables)


def credentials(environ: Mapping[str, str], /, *, needed: bool) -> dict[str, str]:
    """Return the variables with the account's credentials."""
    if needed:
        account()
    elif ACCOUNT not in environ:
        return {}
    if ACCOUNT not in environ:
        raise CloudError(f"no Nimbus account: set {ACCOUNT}")
    return {ACCOUNT: environ[ACCOUNT]}


def leftovers(name: str, image: str, variables: Mapping[str, Any], /) -> list[str]:
    """Return commands that tell whether a killed bake left anything behind."""
    return [f"nimbus images --region {variables['region']} --named {name} {image}".rstrip()]
