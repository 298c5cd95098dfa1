"""A site in Azure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clouds.azure.existing import AzureExisting
from clouds.base.replaces import Replaces
from clouds.base.section import Uuid
from clouds.base.site import ZONES, Gateway, SiteBase


class AzureSite(SiteBase):
    """A site in Azure: a region with one resource group and one virtual network."""

    kind: Annotated[Literal["azure"], Replaces.STATE]
    """Always `azure`."""
    region: Annotated[str, Replaces.STATE] = Field(
        pattern=r"^[a-z0-9]+$",
        examples=["westeurope"],
        json_schema_extra={"patternErrorMessage": "Azure's name of a region"},
    )
    """Azure's name of the region, such as `westeurope`."""
    subscription: Annotated[Uuid, Replaces.STATE]
    """Id of the subscription."""
    tenant: Annotated[Uuid, Replaces.STATE]
    """Id of the Entra tenant that the subscription trusts."""
    zones: Annotated[tuple[Annotated[str, Field(pattern=r"^[1-9]$", examples=["1"])], ...], Replaces.STATE] = Field(
        default=("1", "2", "3"), min_length=1, max_length=ZONES
    )
    """Availability zones over which machines are spread, in this order. Addresses are in that zone if it is one, and in
    all of the region's otherwise; they stay where they were made."""
    image: Annotated[str, Replaces.SITE] = Field(
        pattern=r"^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/galleries/[^/]+/images/[^/]+/versions/\d+\.\d+\.\d+$",
        examples=[
            "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/longhaul-images/providers/Microsoft.Compute"
            "/galleries/longhaul/images/node/versions/1.0.0"
        ],
        json_schema_extra={
            "patternErrorMessage": "the resource id of an image version in a compute gallery, three numbers at its end"
        },
    )
    """Resource id of the node image's version in an Azure compute gallery. A version is three numbers: machines made at
    different times would have different systems with an alias such as `latest`."""
    existing: Annotated[AzureExisting, Replaces.STATE] = Field(default_factory=AzureExisting)
    """Existing parts of the site, which Longhaul does not make."""
    encrypted: Annotated[bool, Replaces.STATE] = False
    """Has Azure encrypt what machines of this site, and of sites that are peered with it and say so too, send to
    each other. It does so between machines of some series, among which are none with GPUs; all others go on speaking
    plain. A machine that is there takes part once it was stopped and started (learn.microsoft.com, "What is Azure
    Virtual Network encryption?"). With an existing `network`, turn it on there."""

    @property
    def gateways(self) -> tuple[Gateway, ...]:
        """Empty, because Azure has a gateway of its own."""
        return ()
