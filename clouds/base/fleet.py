"""Pools' groups as their clouds have them: auto scaling groups and scale sets, told in the same words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


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


class Rolled(Protocol):
    """Machines that are looked at and replaced together. Everything raises :class:`CloudError`."""

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


class Scaled(Protocol):
    """A group, as far as its size goes. Everything raises :class:`CloudError`."""

    def size(self) -> int:
        """Machines that it should have."""

    def resize(self, count: int) -> None:
        """Ask for another number of them, as an autoscaler does; the group makes or ends machines itself."""


class LiveGroup(Rolled, Scaled, Protocol):
    """A pool's group as the cloud has it."""
