"""Whether subnets, route tables and gateways that are there already fit the address plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from clouds.aws.site import AwsSite
from clouds.base.fitting import FoundSubnet, listed


def subnet_faults(found: FoundSubnet, wanted: IPv4Network, site: AwsSite, *, zone: str) -> Iterator[str]:
    """Why a subnet cannot be that of a zone's nodes."""
    if found.ranges != (wanted,):
        yield f"it has {listed(found.ranges)}, and the address plan {wanted}; they are to be equal"
    if found.network != site.existing.vpc:
        yield f"it is in {found.network}, not in {site.existing.vpc}; name one of this VPC"
    if found.zone != f"{site.region}{zone}":
        yield f"it is in {found.zone}, not in {site.region}{zone}; name one of this zone"


def table_faults(associated: Iterable[str], subnet: str) -> Iterator[str]:
    """Why a route table, to be known by the subnets that are associated with it, is not that of ``subnet``."""
    if subnet not in associated:
        yield f"{subnet} is not associated with it; associate it, or name the table that it is associated with"


def attachment_faults(attached: str, vpc: str) -> Iterator[str]:
    """Why a gateway, to be known by the VPC that it is attached to, is not that of ``vpc``."""
    if attached != vpc:
        yield f"it is attached to {attached or 'no VPC'}, not to {vpc}; attach it to that one"
