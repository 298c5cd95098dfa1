"""Machines and networks for ``lab status``."""

from __future__ import annotations

from typing import Any

from lab.desired import Network
from lab.hypervisor.keeper import Keeper


def told_machine(keeper: Keeper) -> dict[str, Any]:
    """What a keeper has; a machine that goes away has no specification any more."""
    spec, state = keeper.spec, keeper.state
    return {
        "name": keeper.name,
        "id": spec.id if spec else "",
        "network": spec.network if spec else "",
        "address": str(spec.address.ip) if spec else "",
        "public": str(spec.public) if spec and spec.public else "",
        "phase": state.phase,
        "generation": state.generation,
        "reason": state.reason,
    }


def told_network(network: Network) -> dict[str, Any]:
    """A network with its NATs' addresses."""
    return {
        "id": network.id,
        "name": network.name,
        "ranges": [str(range_) for range_ in network.ranges],
        "egress": sorted({str(subnet.egress) for subnet in network.subnets if subnet.egress}),
    }
