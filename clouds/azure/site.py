"""A site in Azure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clouds.azure.existing_section import AzureExisting
from clouds.azure.vpn_gateway import DEFAULT, SizeName
from clouds.azure.zones import default_zones
from clouds.base.replaces import Replaces
from clouds.base.section import Uuid
from clouds.base.site import ZONES as MOST_ZONES
from clouds.base.site import Gateway, SiteBase


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
        default_factory=default_zones, min_length=0, max_length=MOST_ZONES
    )
    """Availability zones over which machines are spread, in this order. With a single zone, addresses are in that zone;
    otherwise they are in all zones of the region. Addresses keep the zones in which they were made. Left out, they are
    `1`, `2` and `3`, or none in a region that has none by Azure's list, such as `westus`. A site of pools may have none
    (`[]`); the control plane's site may not, since all its machines could then fail together."""
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
    """Resource id of the node image's version in an Azure compute gallery. A version is three numbers: with an alias
    such as `latest`, machines made at different times would have different systems."""
    vpn_gateway_size: Annotated[SizeName, Replaces.TUNNELS] = DEFAULT
    """Size of the VPN gateway that Longhaul makes for the site's tunnels. Azure makes a gateway larger in place, which
    takes about 45 minutes. It makes none smaller, and none of `VpnGw1AZ` another size or the reverse: these changes are
    refused."""
    existing: Annotated[AzureExisting, Replaces.STATE] = Field(default_factory=AzureExisting)
    """Existing parts of the site, which Longhaul does not make."""
    encrypted: Annotated[bool, Replaces.STATE] = False
    """True when Azure encrypts traffic between machines of this site, and with peered sites that have this setting too.
    It works only between machines of some series, none of which has GPUs; all other traffic stays unencrypted. An
    existing machine takes part after it was stopped and started (learn.microsoft.com, "What is Azure Virtual Network
    encryption?"). With an existing `network`, turn encryption on there."""

    @property
    def gateways(self) -> tuple[Gateway, ...]:
        """Return nothing: Azure has its own gateway."""
        return ()
