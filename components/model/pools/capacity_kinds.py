"""Kinds of capacity: teams' guarantees are for an accelerator and a way of purchase, whichever pool or rack provides
it. Pure.

Kueue writes a kind's label into pods, so a kind is never one pool: when a pool of the kind has no capacity left, demand
goes on to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clouds.base.pool_section import Taint
    from components.model.environment import Environment
from components.model.teams.section import Share

CORES, GPUS = "cpu", "gpu"
"""Kind of machines without GPUs, and kind of machines whose GPUs have no declared model."""
SPOT = "-spot"
"""Suffix of the names of kinds whose machines clouds may take back."""


def kind_name(*, gpus: int, model: str, spot: bool = False) -> str:
    """Return the kind of a machine: the words of its GPUs' model, joined by hyphens, in lower case."""
    base = (model.lower().replace(" ", "-") or GPUS) if gpus else CORES
    return base + (SPOT if spot else "")


@dataclass(frozen=True, kw_only=True)
class CapacityKind:
    """A kind of capacity, and the most of it that the environment may have."""

    name: str
    gpus: int = 0
    """Number of GPUs of all hosts, and of all pools at their largest size."""
    cores: int | None = 0
    """Number of virtual cores, counted in the same way; None with hosts, whose cores are not declared."""
    cores_each: int | None = None
    """Largest number of virtual cores for each GPU of a machine; None without GPUs, and when only hosts are of the
    kind."""
    memory_gib: int | None = 0
    """Memory of all machines together, GiB, counted like the cores."""
    memory_each_gib: int | None = None
    """Largest memory for each GPU of a machine, GiB; None when ``cores_each`` is None."""
    taints: tuple[Taint, ...] = ()
    """Taints of all pools of the kind."""
    sources: tuple[str, ...] = ()
    """Pools of the kind, and ``hosts``, in the file's order."""

    def cores_of(self, share: Share) -> int:
        """Return the number of cores that a share of this kind guarantees."""
        return share.gpus * (self.cores_each or 0) if share.cores is None else share.cores


def pool_kinds(environment: Environment) -> dict[str, str]:
    """Return the kind of each pool whose machine type is known, by the pool's name."""
    every = kinds(environment).values()
    return {name: kind.name for kind in every for name in kind.sources if name in environment.pools}


def kinds(environment: Environment) -> dict[str, CapacityKind]:
    """Return every kind by name, those without GPUs first. Pools of unknown machine types are left out."""
    by_name: dict[str, CapacityKind] = {}
    types = environment.known_types
    for name, pool in environment.pools.items():
        machine = types.get(pool.machine_type)
        if machine is None:
            continue
        kind = kind_name(gpus=machine.gpus, model=machine.gpu_model, spot=pool.spot)
        before = by_name.get(kind, CapacityKind(name=kind))
        each = machine.vcpus // machine.gpus if machine.gpus else None
        # Rounded up, so that the sum over a machine's GPUs is never less than its memory.
        memory = -(-machine.memory_gib // machine.gpus) if machine.gpus else None
        by_name[kind] = CapacityKind(
            name=kind,
            gpus=before.gpus + pool.max * machine.gpus,
            cores=(before.cores or 0) + pool.max * machine.vcpus,
            cores_each=max(filter(None, (before.cores_each, each)), default=None),
            memory_gib=(before.memory_gib or 0) + pool.max * machine.memory_gib,
            memory_each_gib=max(filter(None, (before.memory_each_gib, memory)), default=None),
            taints=tuple(dict.fromkeys((*before.taints, *pool.taints))),
            sources=(*before.sources, name),
        )
    for host in environment.hosts:
        kind = kind_name(gpus=host.gpus, model=host.gpu_model)
        before = by_name.get(kind, CapacityKind(name=kind))
        by_name[kind] = CapacityKind(
            name=kind,
            gpus=before.gpus + host.gpus,
            cores=None,
            cores_each=before.cores_each,
            memory_gib=None,
            memory_each_gib=before.memory_each_gib,
            taints=before.taints,
            sources=tuple(dict.fromkeys((*before.sources, "hosts"))),
        )
    return dict(sorted(by_name.items(), key=lambda pair: bool(pair[1].gpus)))
