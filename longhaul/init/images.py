"""What stands for an image until the first is baked.

An environment names an image for each cloud site, and baking the first needs the environment: on Azure its image's id
says which gallery the baked one goes into. So a file begins with ids of the right form that no image has.
"""

from __future__ import annotations

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from components.model import Environment
from components.model.sites import Site

PLACEHOLDER_VERSION = "0.0.0"
"""Version of no image: `longhaul image build` makes versions of the date."""
PLACEHOLDER_AMI = "ami-" + 17 * "0"
"""Id of no image."""
GALLERY_GROUP, GALLERY = "longhaul-images", "longhaul"
"""Resource group and gallery that docs/getting-started.md makes."""


def kind(gpus: int) -> str:
    """Kind of image that a site needs whose machines have so many GPUs at most."""
    return "gpu" if gpus else "node"


def stands_for_none(site: Site) -> bool:
    """Whether the id that a site's file gives stands for an image that is still to be baked."""
    if isinstance(site, AzureSite):
        return site.image.endswith(f"/versions/{PLACEHOLDER_VERSION}")
    return isinstance(site, AwsSite) and site.image == PLACEHOLDER_AMI


def to_be_baked(environment: Environment) -> tuple[str, ...]:
    """The sites whose machines would boot such an image, in the file's order: those of the control plane and of
    pools."""
    booting = {environment.control_plane.site, *(pool.site for pool in environment.pools.values())}
    return tuple(name for name, site in environment.sites.items() if name in booting and stands_for_none(site))


def azure_placeholder(subscription: str, *, kind: str) -> str:
    """The id that the first image of this kind would have, but for its version."""
    definition = "node-gpu" if kind == "gpu" else "node"
    return (
        f"/subscriptions/{subscription}/resourceGroups/{GALLERY_GROUP}/providers/Microsoft.Compute/galleries/{GALLERY}"
        f"/images/{definition}/versions/{PLACEHOLDER_VERSION}"
    )
