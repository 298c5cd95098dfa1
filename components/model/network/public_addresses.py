"""Checks of public addresses: the address of a gateway, and the ranges of operators and laptops."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

from clouds.base.faults import Fault, Location
from clouds.base.ranges import OPERATORS, is_public, why_not_operators
from components.model.environment import Environment
from components.model.vpn.section import ANYWHERE


def check_public_addresses(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each gateway whose public address is private or is another gateway's too."""
    first: dict[IPv4Address, tuple[Location, str]] = {}
    for name, site in environment.sites.items():
        for index, gateway in enumerate(site.gateways):
            at: Location = ("sites", name, "gateways", index, "public_address")
            address = gateway.public_address
            if not is_public(address):
                wrong = f"{address} is not public: the other sites reach the gateway over the internet"
                yield Fault(at=at, wrong=wrong, write="the static address that the internet sees")
            earlier, owner = first.setdefault(address, (at, gateway.name))
            if earlier != at:
                wrong = f"{address} is the address of {owner} in {earlier[1]} too: its tunnels would end at one of them"
                yield Fault(at=at, wrong=wrong, write="an address of its own", basis=(earlier,))


def check_operators(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each range of operators that is not public, or is the whole internet."""
    for index, range_ in enumerate(environment.access.operators):
        wrong = why_not_operators(range_)
        if wrong:
            yield Fault(at=("access", "operators", index), wrong=f"{range_} {wrong}", write=OPERATORS)


def check_vpn_sources(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each range of laptops that is not public: VPN machines are reached over the internet. A range
    may be the whole internet."""
    for index, range_ in enumerate(environment.vpn.sources if environment.vpn else ()):
        wrong = "" if range_ == ANYWHERE else why_not_operators(range_)
        if wrong:
            yield Fault(at=("vpn", "sources", index), wrong=f"{range_} {wrong}", write=OPERATORS)
