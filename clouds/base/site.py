"""A site, with the keys that it has in every cloud."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from clouds.base.replaces import Replaces
from clouds.base.section import DnsZone, HostKey, Name, Range, Section
from clouds.base.throughput import Throughput

ZONES = 4
"""Largest number of availability zones of a site. The address plan gives each zone a quarter of the node and pod
ranges."""


class Gateway(Section):
    """A machine that ends the site's IPsec tunnels."""

    name: Name = Field(examples=["gw-0"])
    """Last part of its host name; the machine is called `<env>-<name>`."""
    public_address: IPv4Address = Field(examples=["198.51.100.20"])
    """Static public address at which the other sites' gateways reach it."""
    capacity: Annotated[Throughput | None, Replaces.NOTHING] = None
    """Throughput of all its tunnels together in each direction, as you measured it, with the way to the internet. Left
    out, it is unknown, and what links need is compared with the other ends alone."""
    host_key: HostKey | None = None
    """The machine's SSH host key, which connections must match. Leave it out until the machine is prepared."""


class SiteBase(Section):
    """Keys that every site has."""

    if TYPE_CHECKING:  # Each cloud's own type defines these keys. Fields declared here would come before the others.

        @property
        def kind(self) -> str:
            """Return the kind of its cloud, as in files."""

        @property
        def region(self) -> str:
            """Return the cloud's name of its region; empty for on-premises sites."""

        @property
        def image(self) -> str:
            """Return the cloud's name of its node image; empty for on-premises sites."""

        @property
        def gateways(self) -> tuple[Gateway, ...]:
            """Return the operator's machines that end its tunnels; none in clouds, which have their own gateways."""

        @property
        def zones(self) -> tuple[str, ...]:
            """Return the names of its availability zones; none for on-premises sites."""

    range: Annotated[Range | None, Replaces.STATE] = Field(default=None, examples=["10.64.0.0/16"])
    """The site's block, /8 to /20. Left out, the site gets the next free block of `prefix` bits of the supernet, in the
    file's order. Append new sites at the end, or write the range, so that no site's block moves."""
    prefix: Annotated[int, Replaces.STATE] = Field(default=16, ge=8, le=20)
    """Prefix length of the site's block when `range` is left out: /16 holds 8,192 node addresses and the pods of 2,048
    nodes."""
    private_zones: Annotated[tuple[DnsZone, ...], Replaces.NOTHING] = Field(
        default=(), examples=[["corp.example.com", "168.192.in-addr.arpa"]]
    )
    """DNS zones for which the site's own resolvers have answers of their own. The cluster's DNS servers give these
    answers at the site, to the site's nodes and pods; from other sites and from laptops nobody gets them. Pods of other
    sites ask their own site's resolvers for such names."""
    depot: Annotated[str | None, Replaces.STATE] = Field(
        default=None,
        pattern=r"^https?://[a-z0-9.-]+(:\d+)?$",
        examples=["https://depot.example.internal"],
        json_schema_extra={"patternErrorMessage": "an http or https address without a path"},
    )
    """Address from which the site's machines get binaries, Debian packages and container images. Left out, they get
    them from the publishers. Machines accept only content that the builder has signed (`depots.key`), and only a server
    that `depots.authority` has certified. With plain `http`, anyone on the network path sees what machines install, and
    can withhold it or show an older depot: a plan that introduces plain `http` is refused."""
