"""What stands for an image until the first is baked.

An environment names an image for each cloud site, and baking the first needs the environment: on Azure its image's id
says which gallery the baked one goes into. So a file begins with ids of the right form that no image has.
"""

from __future__ import annotations

from clouds.registry import cloud_of, clouds
from components.model import Environment


def kind(gpus: int) -> str:
    """Kind of image that a site needs whose machines have so many GPUs at most."""
    return "gpu" if gpus else "node"


def to_be_baked(environment: Environment) -> tuple[str, ...]:
    """The sites whose machines would boot such an image, in the file's order: those of the control plane and of
    pools."""
    booting = {environment.control_plane.site, *(pool.site for pool in environment.pools.values())}
    sites = {name: site for name, site in environment.sites.items() if name in booting}
    return tuple(name for name, site in sites.items() if cloud_of(site).images.stands_for_none(site))


def placeholder(cloud: str, account: str, *, kind: str) -> str:
    """The id that stands for the first image, in a subscription of Azure or whatever a cloud has for one."""
    return clouds()[cloud].images.placeholder(account, kind=kind)
