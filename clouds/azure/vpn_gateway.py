"""Sizes of VPN gateways in Azure, with their published limits.

Sources are in azure-docs, as of 2026-06: ``about-gateway-skus.md`` ("Gateway SKUs by tunnel, connection, and
throughput", "Gateway SKUs by performance") and ``gateway-sku-upgrade.md``. All these sizes support BGP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from clouds.base.throughput import text

SizeName = Literal["VpnGw1AZ", "VpnGw2AZ", "VpnGw3AZ", "VpnGw4AZ", "VpnGw5AZ"]
"""Names of sizes with zones. Azure moves the others to these (``gateway-sku-consolidation.md``)."""

DEFAULT: SizeName = "VpnGw2AZ"

FLOWS = 500_000
"""Largest number of a gateway's flows in each direction, for every size (``includes/vpn-gateway-limits``, "Max.
flows")."""

UPGRADE = "learn.microsoft.com/azure/vpn-gateway/gateway-sku-upgrade"


@dataclass(frozen=True, kw_only=True)
class GatewaySize:
    """A size in the generation in which Longhaul makes it. Throughputs and packets are results of Azure's tests with
    AES-256-GCM, which are no promise."""

    name: SizeName
    generation: Literal["Generation1", "Generation2"]
    total_mbit: int
    """Throughput of all tunnels together, Mbit/s."""
    tunnel_mbit: int
    """Throughput of one tunnel, Mbit/s. It is never more than ``total_mbit``."""
    tunnel_packets: int
    """Packets per second of one tunnel."""
    connections: int
    """Largest number of connections to other sites."""
    machines: int
    """Largest supported number of machines in the network that communicate through the gateway."""


def _size(name: SizeName, generation: Literal[1, 2], numbers: tuple[int, int, int, int, int]) -> GatewaySize:
    total_mbit, tunnel_mbit, tunnel_packets, connections, machines = numbers
    return GatewaySize(
        name=name,
        generation="Generation1" if generation == 1 else "Generation2",
        total_mbit=total_mbit,
        tunnel_mbit=tunnel_mbit,
        tunnel_packets=tunnel_packets,
        connections=connections,
        machines=machines,
    )


SIZES: Mapping[str, GatewaySize] = {
    size.name: size
    for size in (
        _size("VpnGw1AZ", 1, (650, 650, 62_000, 30, 1_000)),
        _size("VpnGw2AZ", 2, (1_250, 1_250, 120_000, 30, 2_000)),
        _size("VpnGw3AZ", 2, (2_500, 1_500, 140_000, 30, 3_300)),
        _size("VpnGw4AZ", 2, (5_000, 2_300, 220_000, 100, 4_400)),
        _size("VpnGw5AZ", 2, (10_000, 2_300, 220_000, 100, 9_000)),
    )
}
"""All sizes by name, the smallest first."""


def resize_refusal(before: str, after: str) -> str:
    """Return, in one sentence, why Azure refuses to make a gateway of the size ``before`` one of the size ``after``
    without deleting it; empty when Azure makes the change in place. Azure refuses other generations and smaller sizes
    (``gateway-sku-upgrade.md``, "Considerations", "Limitations and restrictions")."""
    if before == after or before not in SIZES or after not in SIZES:
        return ""
    if SIZES[before].generation != SIZES[after].generation:
        return f"{before} and {after} are of different generations, and Azure changes none into the other ({UPGRADE})."
    if list(SIZES).index(after) < list(SIZES).index(before):
        return f"{after} is smaller than {before}, and Azure makes no gateway smaller ({UPGRADE})."
    return ""


def throughput_words(size: GatewaySize) -> str:
    """Return the throughputs of all tunnels and of one, as a phrase."""
    return f"{text(size.total_mbit)} in all, {text(size.tunnel_mbit)} in one tunnel"
