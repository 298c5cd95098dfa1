"""Checks of pools' fields against each other, which hold in every cloud."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.fault import Fault
from components.model.environment import Environment


def check_purchase(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool that asks for spare capacity and for reserved capacity at once."""
    for name, pool in environment.pools.items():
        if pool.spot and pool.reservation is not None:
            wrong = "machines are spare capacity (`spot`), which uses no reservation"
            basis = (("pools", name, "spot"),)
            yield Fault(at=("pools", name, "reservation"), wrong=wrong, write="leave one of the two out", basis=basis)
