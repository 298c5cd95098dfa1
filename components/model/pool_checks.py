"""Checks of pools' fields against each other, which hold in every cloud."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.fault import Fault
from components.model.environment import Environment
from components.model.machine_types import known_machine_types


def check_fabric(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool that asks for adapters that its machine type cannot have."""
    types = {**known_machine_types(), **environment.machine_types}
    for name, pool in environment.pools.items():
        kind, site = types.get(pool.machine_type), environment.sites.get(pool.site)
        if pool.efa and kind is not None and site is not None and kind.cloud == site.kind and not kind.efa_cards:
            fitting = [other for other, one in types.items() if one.cloud == kind.cloud and one.efa_cards]
            wrong = f"no network card of a {pool.machine_type} can have an Elastic Fabric Adapter"
            write = f"leave it out, or a type that has: {', '.join(fitting)}" if fitting else "leave it out"
            basis = (("pools", name, "machine_type"), ("machine_types", pool.machine_type, "efa_cards"))
            yield Fault(at=("pools", name, "efa"), wrong=wrong, write=write, basis=basis)


def check_purchase(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool that asks for spare capacity and for reserved capacity at once."""
    for name, pool in environment.pools.items():
        if pool.spot and pool.reservation is not None:
            wrong = "machines are spare capacity (`spot`), which uses no reservation"
            basis = (("pools", name, "spot"),)
            yield Fault(at=("pools", name, "reservation"), wrong=wrong, write="leave one of the two out", basis=basis)
