"""A cluster's capacity before and after a change: nodes, GPUs and cores of each pool and of each site's hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class NumberRange:
    """A range from the smallest to the largest number."""

    least: int = 0
    most: int = 0

    def __add__(self, other: NumberRange) -> NumberRange:
        return NumberRange(least=self.least + other.least, most=self.most + other.most)

    def __str__(self) -> str:
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,}..{self.most:,}"


@dataclass(frozen=True, kw_only=True)
class PlannedCapacity:
    """Capacity of a pool, or of a site's hosts."""

    nodes: NumberRange = NumberRange()
    gpus: NumberRange = NumberRange()
    cores: NumberRange | None = NumberRange()
    """Virtual cores; None when the number is unknown: for hosts, and for a machine type that is not known any more."""

    def __add__(self, other: PlannedCapacity) -> PlannedCapacity:
        cores = None if self.cores is None or other.cores is None else self.cores + other.cores
        return PlannedCapacity(nodes=self.nodes + other.nodes, gpus=self.gpus + other.gpus, cores=cores)


@dataclass(frozen=True, kw_only=True)
class CapacityRow:
    """Capacity of a pool, or of a site's hosts, before and after; None on the side where it does not exist."""

    name: str
    site: str
    before: PlannedCapacity | None
    after: PlannedCapacity | None

    @property
    def changes(self) -> bool:
        """Return whether the capacity differs before and after."""
        return self.before != self.after


def compare(before: Environment | None, after: Environment) -> tuple[CapacityRow, ...]:
    """Return a row for every pool and for every site's hosts, in the file's order, then for the removed pools and
    hosts."""
    old = dict(_of(before)) if before is not None else {}
    new = dict(_of(after))
    return tuple(
        CapacityRow(name=name, site=site, before=old.get((name, site)), after=new.get((name, site)))
        for name, site in dict.fromkeys((*new, *old))
    )


def total(rows: tuple[CapacityRow, ...], *, after: bool) -> PlannedCapacity:
    """Return the sum of the capacities before the change, or after it if ``after``. Unknown numbers of cores are left
    out."""
    capacity = PlannedCapacity()
    for row in rows:
        side = row.after if after else row.before
        if side is not None:
            known = side if side.cores is not None else PlannedCapacity(nodes=side.nodes, gpus=side.gpus)
            capacity = capacity + known
    return capacity


def _of(environment: Environment) -> Iterator[tuple[tuple[str, str], PlannedCapacity]]:
    for name, pool in environment.pools.items():
        nodes = NumberRange(least=pool.min, most=pool.max)
        try:
            kind = environment.machine_type(pool.machine_type)
        except KeyError:
            yield (name, pool.site), PlannedCapacity(nodes=nodes, cores=None)
            continue
        yield (
            (name, pool.site),
            PlannedCapacity(nodes=nodes, gpus=_times(nodes, kind.gpus), cores=_times(nodes, kind.vcpus)),
        )
    hosts = Counter(host.site for host in environment.hosts)
    for site, number in hosts.items():
        gpus = sum(host.gpus for host in environment.hosts if host.site == site)
        yield (
            ("hosts", site),
            PlannedCapacity(
                nodes=NumberRange(least=number, most=number), gpus=NumberRange(least=gpus, most=gpus), cores=None
            ),
        )


def _times(nodes: NumberRange, each: int) -> NumberRange:
    return NumberRange(least=nodes.least * each, most=nodes.most * each)
