"""Checks that existing subnets, route tables and gateways fit the address plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from clouds.aws.site import AwsSite
from clouds.base.existing_networks import FoundSubnet, ranges_text


def subnet_faults(subnet: FoundSubnet, wanted: IPv4Network, site: AwsSite, *, zone: str) -> Iterator[str]:
    """Yield the reasons why a subnet cannot be the subnet of a zone's nodes."""
    if subnet.ranges != (wanted,):
        yield f"it has {ranges_text(subnet.ranges)}, and the address plan {wanted}; they must be equal"
    if subnet.network != site.existing.vpc:
        yield f"it is in {subnet.network}, not in {site.existing.vpc}; name one of this VPC"
    if subnet.zone != f"{site.region}{zone}":
        yield f"it is in {subnet.zone}, not in {site.region}{zone}; name one of this zone"


def table_faults(associated: Iterable[str], subnet: str) -> Iterator[str]:
    """Yield a reason when a route table is not associated with ``subnet``. ``associated`` holds the table's subnets."""
    if subnet not in associated:
        yield f"{subnet} is not associated with it; associate it, or name the table that it is associated with"


def attachment_faults(attached: str, vpc: str) -> Iterator[str]:
    """Yield a reason when a gateway is not attached to ``vpc``. ``attached`` is the VPC that it is attached to, empty
    for none."""
    if attached != vpc:
        yield f"it is attached to {attached or 'no VPC'}, not to {vpc}; attach it to that one"
