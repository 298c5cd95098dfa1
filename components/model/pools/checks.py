"""Checks of pools' fields against each other, which apply in every cloud."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault, Location
from components.model.environment import Environment


def check_fabric(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool that declares adapters that its machine type cannot have."""
    types = environment.known_types
    for name, pool in environment.pools.items():
        kind, site = types.get(pool.machine_type), environment.sites.get(pool.site)
        if pool.efa and kind is not None and site is not None and kind.cloud == site.kind and not kind.efa_cards:
            fitting = [other for other, type_ in types.items() if type_.cloud == kind.cloud and type_.efa_cards]
            wrong = f"no network card of a {pool.machine_type} can have an Elastic Fabric Adapter"
            write = f"leave it out, or a type that has: {', '.join(fitting)}" if fitting else "leave it out"
            basis = (("pools", name, "machine_type"), ("machine_types", pool.machine_type, "efa_cards"))
            yield Fault(at=("pools", name, "efa"), wrong=wrong, write=write, basis=basis)


def check_base(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when an autoscaler that acts may end every node: the cluster's own pods, DNS first, need a node
    that stays."""
    pools = environment.pools
    if not environment.scales or not pools or environment.hosts:
        return
    if not any(pool.min for pool in pools.values()):
        wrong = "no pool has a `min`, and there is no host: the autoscaler could end every node that DNS runs on"
        basis = (("autoscaler",), ("pools",), ("bare_metal",))
        yield Fault(at=("pools",), wrong=wrong, write="`min: 1` at a pool without GPUs", basis=basis)


def check_purchase(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool that declares both spare and reserved capacity."""
    for name, pool in environment.pools.items():
        if pool.spot and pool.reservation is not None:
            wrong = "machines are spare capacity (`spot`), which uses no reservation"
            basis = (("pools", name, "spot"),)
            yield Fault(at=("pools", name, "reservation"), wrong=wrong, write="leave one of the two out", basis=basis)


def check_fallbacks(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each fallback without GPUs of a pool with GPUs, and one for each loop of fallbacks."""
    types = environment.known_types
    reported: set[str] = set()
    for name, pool in environment.pools.items():
        type_ = types.get(pool.machine_type)
        for index, fallback in enumerate(pool.fallbacks):
            other = environment.pools.get(fallback)
            kind = types.get(other.machine_type) if other else None
            if type_ and type_.gpus and other and kind and not kind.gpus:
                wrong = f"{fallback!r} has no GPUs, and each {pool.machine_type} has {type_.gpus}"
                machines = (pool.machine_type, other.machine_type)
                basis = (
                    *(("pools", pool_name, "machine_type") for pool_name in (name, fallback)),
                    *(("machine_types", machine, "gpus") for machine in machines),
                )
                write = "a pool with GPUs, or leave it out"
                yield Fault(at=("pools", name, "fallbacks", index), wrong=wrong, write=write, basis=basis)
        loop = () if name in reported else _loop(environment, name)
        if loop:
            reported.update(loop)
            wrong = f"the fallbacks come back to {name}: {' -> '.join(loop)}"
            at: Location = ("pools", name, "fallbacks")
            yield Fault(at=at, wrong=wrong, write="leave it out of one of them", basis=(("pools",),))


def _loop(environment: Environment, start: str) -> tuple[str, ...]:
    """Return the shortest loop of fallbacks from a pool back to itself; empty when there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    visited: set[str] = set()
    for way in ways:
        pool = environment.pools.get(way[-1])
        for fallback in pool.fallbacks if pool else ():
            if fallback == start and len(way) > 1:
                return (*way, start)
            if fallback not in (start, *visited):
                visited.add(fallback)
                ways.append((*way, fallback))
    return ()
