"""Sites: the places where machines stand."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field

from components.model.base import HostKey, Name, Range, Section, Uuid
from components.model.existing import AwsExisting, AzureExisting, ZoneLetter

ZONES = 4
"""Availability zones a site may have: the address plan gives each a quarter of the node and pod ranges."""


class SiteBase(Section):
    """What every site has."""

    range: Range | None = Field(default=None, examples=["10.64.0.0/16"])
    """The site's block, /8 to /20. Left out, the next free block of `prefix` bits out of the supernet, in the file's
    order: append new sites at the end, or write the range, so that no site's block moves."""
    prefix: int = Field(default=16, ge=8, le=20)
    """Size of the site's block when `range` is left out: /16 holds 8,192 node addresses and 2,048 nodes' pods."""
    depot: str | None = Field(
        default=None,
        pattern=r"^https?://[a-z0-9.-]+(:\d+)?$",
        examples=["http://depot.example.internal"],
        json_schema_extra={"patternErrorMessage": "an http or https address without a path"},
    )
    """Where the site's machines get binaries, Debian packages and container images; left out, where their makers
    publish them. Machines believe it: over plain `http`, everyone on the way to it is root on them."""


class AzureSite(SiteBase):
    """A region of Azure: one resource group, one virtual network."""

    kind: Literal["azure"]
    """Azure."""
    region: str = Field(
        pattern=r"^[a-z0-9]+$",
        examples=["westeurope"],
        json_schema_extra={"patternErrorMessage": "Azure's name of a region"},
    )
    """Azure's name of the region, such as `westeurope`."""
    subscription: Uuid
    """The subscription's id."""
    tenant: Uuid
    """The Entra tenant that the subscription trusts."""
    zones: tuple[Annotated[str, Field(pattern=r"^[1-9]$", examples=["1"])], ...] = Field(
        default=("1", "2", "3"), min_length=1, max_length=ZONES
    )
    """Availability zones that machines are spread over, in this order."""
    image: str = Field(
        pattern=r"^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/galleries/[^/]+/images/[^/]+/versions/[^/]+$",
        examples=[
            "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/longhaul-images/providers/Microsoft.Compute"
            "/galleries/longhaul/images/node/versions/1.0.0"
        ],
        json_schema_extra={"patternErrorMessage": "the resource id of an image version in a compute gallery"},
    )
    """Resource id of the node image's version in an Azure compute gallery."""
    existing: AzureExisting = Field(default_factory=AzureExisting)
    """What is there already, and so is not made."""


class AwsSite(SiteBase):
    """A region of AWS: one VPC."""

    kind: Literal["aws"]
    """AWS."""
    region: str = Field(
        pattern=r"^[a-z]{2}(-[a-z]+)+-\d$",
        examples=["us-east-1"],
        json_schema_extra={"patternErrorMessage": "AWS's name of a region"},
    )
    """AWS's name of the region, such as `us-east-1`."""
    account: str | None = Field(
        default=None,
        pattern=r"^[0-9]{12}$",
        examples=["123456789012"],
        json_schema_extra={"patternErrorMessage": "an account's id, 12 digits in quotes"},
    )
    """The account, the same for every AWS site. With credentials of another one nothing is made."""
    zones: tuple[ZoneLetter, ...] = Field(default=("a", "b"), min_length=2, max_length=ZONES)
    """Letters of the availability zones, at least two."""
    image: str = Field(pattern=r"^ami-[0-9a-f]{8,17}$", examples=["ami-0123456789abcdef0"])
    """Id of the node image in this region."""
    existing: AwsExisting = Field(default_factory=AwsExisting)
    """What is there already, and so is not made."""


class Gateway(Section):
    """A machine that ends the site's IPsec tunnels."""

    name: Name = Field(examples=["gw-0"])
    """Host name's last part; the machine is `<env>-<name>`."""
    public_address: IPv4Address = Field(examples=["198.51.100.20"])
    """The static address that the other sites' gateways reach."""
    host_key: HostKey | None = None
    """The machine's SSH host key, pinned; left out until the rack is prepared."""


class OnpremSite(SiteBase):
    """Racks of your own."""

    kind: Literal["onprem"]
    """Bare metal."""
    gateways: tuple[Gateway, ...] = Field(min_length=1, max_length=2)
    """One gateway, or two that fail over."""


Site = Annotated[AzureSite | AwsSite | OnpremSite, Field(discriminator="kind")]
