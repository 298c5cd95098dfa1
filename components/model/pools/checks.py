"""Checks of a pool's fields, alone and together. They are the same in every cloud."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault, Location
from clouds.base.phrases import suggestion
from clouds.base.pool_section import Pool
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.nodes.labels import label_fault
from components.model.nodes.rdma import huge_pages_2mib
from contract.taints import SET_AND_LIFTED

HUGE_PAGES_PERCENT = 85
"""Largest share of a machine type's memory that may be huge pages, in percent. The machine refuses more than nine
tenths of the memory that its kernel sees, and the kernel sees a little less than the type has."""

OF_KUBERNETES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Prefixes of taints that Kubernetes' controllers set and lift. Longhaul has no cloud controller."""
LIFTED_AT_ONCE = "node.kubernetes.io/"
"""Prefix of taints that kube-controller-manager makes of a Node's conditions, and takes away without the condition
(kubernetes 1.36, ``pkg/controller/nodelifecycle``, ``doNoScheduleTaintingPass``)."""
SMALLER_PER_GIB = 512
"""Number of huge pages of 2 MiB in a GiB."""


def check_pools(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each field of a pool that is invalid by itself or contradicts another."""
    rented = [name for name, site in environment.sites.items() if cloud_of(site).rents]
    for name, pool in environment.pools.items():
        at = ("pools", name)
        if pool.site not in rented:
            on_prem = pool.site in environment.sites
            wrong = "is on-prem; its hosts go into the hosts file" if on_prem else "is not a site"
            yield Fault(
                at=(*at, "site"),
                wrong=f"{pool.site!r} {wrong}",
                write=suggestion(rented, pool.site),
                basis=(("sites",), ("sites", pool.site, "kind")),
            )
        if pool.min > pool.max:
            wrong = f"{pool.min} is more than max, {pool.max}"
            yield Fault(at=(*at, "min"), wrong=wrong, write=f"at most {pool.max}", basis=((*at, "max"),))
        if pool.spare > pool.max:
            wrong = f"{pool.spare} is more than max, {pool.max}"
            yield Fault(at=(*at, "spare"), wrong=wrong, write=f"at most {pool.max}", basis=((*at, "max"),))
        others = [other for other in environment.pools if other != name]
        for index, fallback in enumerate(pool.fallbacks):
            if fallback not in others:
                wrong = f"{fallback!r} is not another pool"
                place = (*at, "fallbacks", index)
                yield Fault(at=place, wrong=wrong, write=suggestion(others, fallback), basis=(("pools",),))
            elif fallback in pool.fallbacks[:index]:
                wrong = f"{fallback!r} is named before"
                yield Fault(at=(*at, "fallbacks", index), wrong=wrong, write="each pool once, in order")
        yield from _check_huge_pages(environment, name, pool)
        yield from _check_taints(name, pool)
        for key in pool.labels:
            if fault := label_fault(key):
                yield Fault(at=(*at, "labels", key), wrong=f"{key!r} {fault}", write="a key of your own domain")


def _check_taints(name: str, pool: Pool) -> Iterator[Fault]:
    """Yield a fault for each taint that repeats the key and effect of an earlier one, which a Node cannot have
    (kubernetes 1.36, ``pkg/apis/core/validation``, ``validateNodeTaints``), and for each that Kubernetes or Longhaul
    sets and lifts."""
    earlier: set[tuple[str, str]] = set()
    for field, taints in (("taints", pool.taints), ("startup_taints", pool.startup_taints)):
        for index, taint in enumerate(taints):
            at = ("pools", name, field, index)
            if (taint.key, taint.effect) in earlier:
                wrong = f"{taint.key!r} with {taint.effect} is there before, and a node has no two of these"
                yield Fault(at=at, wrong=wrong, write="each pair of key and effect once")
            earlier.add((taint.key, taint.effect))
            if taint.key.startswith(OF_KUBERNETES if field == "taints" else LIFTED_AT_ONCE):
                wrong = f"{taint.key!r} is a taint of Kubernetes' own, which a node does not keep or never loses"
                yield Fault(at=(*at, "key"), wrong=wrong, write="a key of your own domain")
            elif taint.key in SET_AND_LIFTED:
                wrong = f"{taint.key!r} is set and lifted by Longhaul"
                yield Fault(at=(*at, "key"), wrong=wrong, write="a key of your own domain")


def _check_huge_pages(environment: Environment, name: str, pool: Pool) -> Iterator[Fault]:
    kind = environment.known_types.get(pool.machine_type)
    site = environment.sites.get(pool.site)
    if kind is None or site is None or kind.cloud != site.kind:
        return
    adapters = huge_pages_2mib(environment, name)
    possible = kind.memory_gib * SMALLER_PER_GIB * HUGE_PAGES_PERCENT // 100
    most = max((possible - adapters) // SMALLER_PER_GIB, 0)
    if pool.huge_pages_gib > most:
        wrong = f"{pool.huge_pages_gib} GiB leave too little of the {kind.memory_gib} GiB of a {pool.machine_type}"
        if adapters:
            wrong += f", beside {adapters / SMALLER_PER_GIB:.1f} GiB for its network adapters"
        at = ("pools", name)
        basis = ((*at, "machine_type"), (*at, "efa"), ("machine_types", pool.machine_type, "memory_gib"))
        yield Fault(at=(*at, "huge_pages_gib"), wrong=wrong, write=f"at most {most}", basis=basis)


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
    """Yield a fault for each spot pool that names a reservation."""
    for name, pool in environment.pools.items():
        if pool.spot and pool.reservation is not None:
            wrong = "machines are spare capacity (`spot`), which uses no reservation"
            basis = (("pools", name, "spot"),)
            yield Fault(at=("pools", name, "reservation"), wrong=wrong, write="leave one of the two out", basis=basis)


def check_fallbacks(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool with GPUs that falls back to one without, and for each cycle of fallbacks."""
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
