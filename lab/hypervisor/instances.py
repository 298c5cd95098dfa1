"""Chooses the instance for each flow when several instances of a gateway are active. Nothing here has side effects.

A cloud that spreads flows gives each instance its share, and an instance without a tunnel to the destination drops its
share. In the lab all instances share one charon, so nftables rules drop that share.
"""

from __future__ import annotations

from collections.abc import Set
from ipaddress import IPv4Network

from lab.desired import DesiredGateway
from lab.hypervisor.charon import TUN

_TABLE = "instances"
_SEED = "0x1"
"""Seed of the hash. It is fixed, so that a flow's instance is the same in every run."""


def render(gateway: DesiredGateway, *, up: Set[str]) -> str:
    """Return nftables' rules for a gateway whose tunnels ``up`` are up. A flow is a pair of addresses."""
    rules = "".join(
        f"\t\toifname {TUN} ip daddr {range_} jhash ip saddr . ip daddr mod {len(gateway.addresses)} seed {_SEED} "
        f"{instance} drop\n"
        for range_ in _ranges(gateway)
        for instance in _without(gateway, range_, up)
    )
    chain = f"\tchain forward {{\n\t\ttype filter hook forward priority -10; policy accept;\n{rules}\t}}\n"
    return f"table ip {_TABLE}\ndelete table ip {_TABLE}\ntable ip {_TABLE} {{\n{chain}}}\n"


def _ranges(gateway: DesiredGateway) -> list[IPv4Network]:
    spread = gateway.tunnels if gateway.spreads else ()
    return sorted({range_ for tunnel in spread for range_ in tunnel.remote_ranges})


def _without(gateway: DesiredGateway, range_: IPv4Network, up: Set[str]) -> list[int]:
    """Return the instances, by their numbers, that have no tunnel to a range."""
    having = {
        tunnel.local
        for tunnel in gateway.tunnels
        if tunnel.carries and tunnel.name in up and range_ in tunnel.remote_ranges
    }
    return [number for number, address in enumerate(gateway.addresses) if address not in having]
