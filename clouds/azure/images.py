"""Images of machines in Azure: versions in a compute gallery."""

from __future__ import annotations

from clouds.azure.site import AzureSite

PLACEHOLDER_VERSION = "0.0.0"
"""Version of no image: `longhaul image build` makes versions of the date."""

GALLERY_GROUP, GALLERY = "longhaul-images", "longhaul"
"""Resource group and gallery that docs/getting-started.md makes."""


def stands_for_none(site: AzureSite) -> bool:
    """Whether the id that a site's file gives stands for an image that is still to be baked."""
    return site.image.endswith(f"/versions/{PLACEHOLDER_VERSION}")


def placeholder(subscription: str, *, kind: str) -> str:
    """The id that the first image of this kind would have, but for its version: it says which gallery the baked one
    goes into."""
    definition = "node-gpu" if kind == "gpu" else "node"
    return (
        f"/subscriptions/{subscription}/resourceGroups/{GALLERY_GROUP}/providers/Microsoft.Compute/galleries/{GALLERY}"
        f"/images/{definition}/versions/{PLACEHOLDER_VERSION}"
    )
