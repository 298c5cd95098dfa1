"""Checks that an existing network fits the address plan. The program and ``doctor`` read the network from the cloud;
this module judges it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, collapse_addresses, ip_network

from clouds.base.ranges import SiteRanges


@dataclass(frozen=True, kw_only=True)
class FoundSubnet:
    """An existing subnet, as its cloud reports it."""

    ranges: tuple[IPv4Network, ...]
    endpoints: tuple[str, ...] = ()
    """Azure: service endpoints."""
    delegated: str = ""
    """Azure: service that the subnet is delegated to; machines cannot be in such a subnet. Empty when it is not
    delegated."""
    network: str = ""
    """AWS: id of the VPC."""
    zone: str = ""
    """AWS: name of the availability zone, including its region."""


@dataclass(frozen=True, kw_only=True)
class FoundNetwork:
    """An existing virtual network or VPC, as its cloud reports it."""

    region: str
    ranges: tuple[IPv4Network, ...]
    subnets: Mapping[str, FoundSubnet] = field(default_factory=dict)
    """Azure: subnets by name in lower case."""


def ranges_of(texts: Iterable[str]) -> tuple[IPv4Network, ...]:
    """Return the IPv4 ranges among ``texts``; others are left out."""
    ranges = (ip_network(text) for text in texts)
    return tuple(range_ for range_ in ranges if isinstance(range_, IPv4Network))


def network_faults(network: FoundNetwork, ranges: SiteRanges, *, region: str) -> Iterator[str]:
    """Yield the reasons why a network cannot be the network of the site with ``ranges`` in ``region``."""
    block = ranges.block
    if network.region.replace(" ", "").lower() != region:
        yield f"it is in {network.region}, and the site in {region}; name one in the site's region"
    if not any(block.subnet_of(merged) for merged in collapse_addresses(network.ranges)):
        yield (
            f"its ranges, {ranges_text(network.ranges)}, do not contain {block}, the site's block; add it to the "
            "network, or write a `range` of the network"
        )
    strange = [rest for range_ in network.ranges for rest in _without(range_, block) if rest.overlaps(ranges.supernet)]
    if strange:
        yield (
            f"it has {ranges_text(strange)} besides, in {ranges.supernet}, where the other sites are: traffic to them "
            "would stay in the network; choose another supernet, or a network that has only the site's range in it"
        )


def _without(range_: IPv4Network, block: IPv4Network) -> list[IPv4Network]:
    """Return the ranges of ``range_`` that are outside ``block``."""
    if not range_.overlaps(block):
        return [range_]
    return [] if range_.subnet_of(block) else list(range_.address_exclude(block))


def ranges_text(ranges: Sequence[IPv4Network]) -> str:
    """Return ranges as text for a sentence."""
    return ", ".join(map(str, ranges)) or "none"
