"""Whether what is there already fits the address plan: asked of a cloud by whoever builds or looks, judged here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, collapse_addresses, ip_network


@dataclass(frozen=True, kw_only=True)
class SiteRanges:
    """Ranges that the address plan gives a site, as its cloud is told of them."""

    supernet: IPv4Network
    """The environment's."""
    block: IPv4Network
    """The site's."""
    parts: Mapping[str, IPv4Network]
    """Ranges of subnets by what stands in them."""
    zones: tuple[IPv4Network, ...]
    """Ranges of nodes and pods in each zone, where a zone has a subnet of its own, in the order of the site's."""


@dataclass(frozen=True, kw_only=True)
class FoundSubnet:
    """A subnet as its cloud has it."""

    ranges: tuple[IPv4Network, ...]
    endpoints: tuple[str, ...] = ()
    """Azure: service endpoints."""
    delegated: str = ""
    """Azure: the service that it is delegated to, which machines cannot stand in."""
    network: str = ""
    """AWS: the VPC."""
    zone: str = ""
    """AWS: the availability zone with its region."""


@dataclass(frozen=True, kw_only=True)
class FoundNetwork:
    """A virtual network or VPC as its cloud has it."""

    region: str
    ranges: tuple[IPv4Network, ...]
    subnets: Mapping[str, FoundSubnet] = field(default_factory=dict)
    """Azure: by name, without case."""


def ranges_of(texts: Iterable[str]) -> tuple[IPv4Network, ...]:
    """The IPv4 ranges among what a cloud lists."""
    found = (ip_network(text) for text in texts)
    return tuple(one for one in found if isinstance(one, IPv4Network))


def network_faults(found: FoundNetwork, ranges: SiteRanges, *, region: str) -> Iterator[str]:
    """Why a network cannot be that of the site in ``region`` that has ``ranges``."""
    block = ranges.block
    if found.region.replace(" ", "").lower() != region:
        yield f"it is in {found.region}, and the site in {region}; name one in the site's region"
    if not any(block.subnet_of(one) for one in collapse_addresses(found.ranges)):
        yield (
            f"its ranges, {listed(found.ranges)}, do not hold {block}, the site's; add that to the network, or write "
            "a `range` that it has"
        )
    strange = [one for held in found.ranges for one in _without(held, block) if one.overlaps(ranges.supernet)]
    if strange:
        yield (
            f"it has {listed(strange)} besides, in {ranges.supernet}, where the other sites are: what is sent to "
            "them would stay in the network; choose another supernet, or a network of which only the site's range "
            "lies in it"
        )


def _without(held: IPv4Network, block: IPv4Network) -> list[IPv4Network]:
    """What of ``held`` is not the block's."""
    if not held.overlaps(block):
        return [held]
    return [] if held.subnet_of(block) else list(held.address_exclude(block))


def listed(ranges: Sequence[IPv4Network]) -> str:
    """Ranges for a sentence."""
    return ", ".join(map(str, ranges)) or "none"
