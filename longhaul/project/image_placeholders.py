"""Placeholders for image ids until the first image is baked.

An environment names an image for each cloud site, and baking the first image needs the environment: on Azure, the
image's id contains the gallery for the baked image. So a new file begins with ids that have the right form but no
image.
"""

from __future__ import annotations

from clouds.registry import cloud_of, clouds
from components.model import Environment


def kind_for_gpus(gpus: int) -> str:
    """Return the kind of image for a site whose machines have at most ``gpus`` GPUs."""
    return "gpu" if gpus else "node"


def sites_to_bake(environment: Environment) -> tuple[str, ...]:
    """Return the sites of the control plane and of pools whose machines would boot a placeholder, in the file's
    order."""
    booting = {environment.control_plane.site, *(pool.site for pool in environment.pools.values())}
    sites = {name: site for name, site in environment.sites.items() if name in booting}
    return tuple(name for name, site in sites.items() if cloud_of(site).images.is_placeholder(site))


def placeholder(cloud: str, account: str, *, kind: str) -> str:
    """Return the placeholder id for the first image, in an Azure subscription or another cloud's equivalent."""
    return clouds()[cloud].images.placeholder(account, kind=kind)
