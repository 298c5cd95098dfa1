"""A pool's group as its cloud has it: an auto scaling group or a scale set, told in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

AT_ONCE = 8
"""Groups that are asked at the same time."""


class CloudError(Exception):
    """The cloud refused or did not answer; ``passing`` says whether it may be otherwise in a moment."""

    def __init__(self, message: str, *, passing: bool) -> None:
        super().__init__(message)
        self.passing = passing


class Life(StrEnum):
    """Where the cloud is with a machine."""

    THERE = "there"
    CHANGING = "changing"
    """The cloud makes it, or makes it anew."""
    GOING = "going"
    """On its way out: whatever comes in its place is another machine."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine of a group."""

    id: str
    """What the cloud calls it."""
    node: str
    """Name of its Node."""
    current: bool
    """Whether it was made from what the group's machines are made from now."""
    life: Life = Life.THERE
    held: str = ""
    """Why somebody wants it left alone; empty when nobody said so in the cloud."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """A pool's group."""

    target: str
    """What its machines are made from now, as people may compare it."""
    wanted: int
    """Machines that it should have."""
    machines: tuple[Machine, ...]


class Cloud(Protocol):
    """One pool's group. Everything raises :class:`CloudError`."""

    in_place: bool
    """Whether a machine is made anew under its own name, rather than ended and followed by another. Then its
    replacement has a second step, :meth:`rebuild`, and its old Node is in the new one's way."""

    def look(self) -> Group:
        """The group and all its machines, asked for together."""

    def replace(self, machine: Machine) -> None:
        """Begin to replace a machine on which nothing runs; the group keeps its size."""

    def rebuild(self, machine: Machine) -> None:
        """The second step, once the machine is current by the cloud's account."""

    def remake(self, machine: Machine) -> None:
        """Replace a machine that has no Node on which the steps could be noted: all of it, awaiting what has to be."""


class Several:
    """A pool of several groups of one kind, which are rolled as one: so many machines at a time of all of them."""

    def __init__(self, groups: Mapping[str, Cloud]) -> None:
        self._groups = groups
        self.in_place = all(group.in_place for group in groups.values())

    def look(self) -> Group:
        """All groups together. Machines are told apart by their group, since each counts its own."""
        with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
            found = dict(zip(self._groups, threads.map(lambda group: group.look(), self._groups.values()), strict=True))
        targets = sorted({group.target for group in found.values()})
        return Group(
            target=targets[0] if len(targets) == 1 else f"{targets[0]} and {len(targets) - 1} others",
            wanted=sum(group.wanted for group in found.values()),
            machines=tuple(
                replace(machine, id=f"{name}/{machine.id}")
                for name, group in found.items()
                for machine in group.machines
            ),
        )

    def replace(self, machine: Machine) -> None:
        """In its group."""
        group, own = self._own(machine)
        group.replace(own)

    def rebuild(self, machine: Machine) -> None:
        """In its group."""
        group, own = self._own(machine)
        group.rebuild(own)

    def remake(self, machine: Machine) -> None:
        """In its group."""
        group, own = self._own(machine)
        group.remake(own)

    def _own(self, machine: Machine) -> tuple[Cloud, Machine]:
        name, _, id_ = machine.id.partition("/")
        return self._groups[name], replace(machine, id=id_)
