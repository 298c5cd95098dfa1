"""Pools' groups as their clouds report them: auto scaling groups and scale sets, described in the same terms."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from clouds.base.refusals import Refusal

MOST_AGES = 100
"""Maximum number of a group's machines whose creation times one observation requests."""


class Life(StrEnum):
    """Stage of a machine's life, as the cloud reports it."""

    PRESENT = "present"
    CHANGING = "changing"
    """The cloud is making the machine, or replacing it in place."""
    LEAVING = "leaving"
    """The machine is being removed. Its replacement is another machine."""


@dataclass(frozen=True, kw_only=True)
class LiveMachine:
    """One machine of a group."""

    id: str
    """The cloud's id of the machine."""
    node: str
    """Name of its Node."""
    current: bool
    """True when the machine was made from the group's present model or template."""
    life: Life = Life.PRESENT
    counted: bool = True
    """True when the group's size includes the machine."""
    keep_reason: str = ""
    """Reason why the machine must be left alone; empty when the cloud records none."""


@dataclass(frozen=True, kw_only=True)
class GroupState:
    """Present state of a pool's group."""

    target: str
    """Text that identifies the model or template of new machines. Equal texts mean the same model or template."""
    wanted: int
    """Number of machines that the group should have."""
    machines: tuple[LiveMachine, ...]
    least: int = 0
    """Minimum number of machines, which the cloud enforces."""


@dataclass(frozen=True, kw_only=True)
class GroupObservation:
    """A group, with the data that an autoscaler needs."""

    group: GroupState
    made: Mapping[str, str] = field(default_factory=dict)
    """Creation times of machines that are not nodes, by machine id."""
    refusals: Sequence[Refusal] = ()


class Rolled(Protocol):
    """Machines that are observed and replaced together. Every method raises :class:`CloudError` when the cloud refuses
    or does not answer."""

    in_place: bool
    """True when a machine is replaced under its own name; false when it is terminated and another machine follows. In
    place, the replacement has a second step, :meth:`rebuild`, and the old Node must be deleted before the machine joins
    again."""
    looks_apart_s: float
    """Shortest time between two calls of :meth:`look` that the cloud's limits allow in a long series, seconds."""

    def look(self) -> GroupState:
        """Return the group and all of its machines, read at the same time."""

    def replace(self, machine: LiveMachine) -> None:
        """Start to replace a machine on which no workload runs. The group keeps its size."""

    def rebuild(self, machine: LiveMachine) -> None:
        """Run the second step of a replacement in place, once the cloud reports the machine as current. A group that
        does not replace in place raises ``NotImplementedError``."""

    def remake(self, machine: LiveMachine) -> None:
        """Replace a machine that has no Node. Without a Node, steps cannot be recorded, so run all of them, and wait
        between them where necessary."""


class Scaled(Protocol):
    """Size of a group. Every method raises :class:`CloudError` when the cloud refuses or does not answer."""

    def size(self) -> int:
        """Return the number of machines that the group should have."""

    def resize(self, count: int) -> None:
        """Set the number of machines, as an autoscaler does. The group itself makes or terminates machines."""


class LiveGroup(Rolled, Scaled, Protocol):
    """A pool's group in the cloud, which can be observed, replaced and resized."""

    ends_at_once: int
    """Largest number of machines that one request can end."""
    apart_s: float
    """Shortest time between two observations that the cloud's limits allow, seconds."""
    grows_apart_s: float
    """Shortest time between two requests for more machines that the cloud's limits allow in a long series, seconds."""

    def observe(self, nodes: frozenset[str]) -> GroupObservation:
        """Return the data that an autoscaler needs. ``nodes`` holds the names of all nodes. Refusals may be left out
        when every machine is a node. Raise :class:`CloudError` when the cloud refuses or does not answer."""

    def end(self, machines: Sequence[str], *, replaced: bool = False) -> None:
        """End the machines with these ids, and lower the group's size by their number in the same step. The cloud
        refuses to make the group smaller than its minimum; if ``replaced`` is true, a single machine is then replaced
        instead. After an error, machines that were not ended remain. Raise :class:`CloudError` when the cloud refuses
        or does not answer."""

    def made_at(self, machines: Sequence[LiveMachine]) -> Mapping[str, str]:
        """Return the times at which machines were made, in RFC 3339, by their ids. Machines that the cloud does not
        know are left out. Raise :class:`CloudError` when the cloud refuses or does not answer."""

    def refusals(self) -> Sequence[Refusal]:
        """Return the refusals since the group last got a machine, from one request for the whole group. Raise
        :class:`CloudError` when the cloud refuses or does not answer."""

    def console(self, machine: LiveMachine) -> str:
        """Return the command that shows a machine's console output, for a machine that is not a node."""


class WholeObservation:
    """Observation of a whole group at once, for clouds that describe a group and its machines in one answer."""

    apart_s = grows_apart_s = 0.0

    def observe(self: LiveGroup, nodes: frozenset[str]) -> GroupObservation:
        """Return the group, the ages of machines that are not nodes, and refusals when a machine is missing. Most
        groups take one request, because all of their machines are nodes."""
        group = self.look()
        joining = unjoined(group.machines, nodes)
        owes = joining or group.wanted > sum(machine.counted for machine in group.machines)
        return GroupObservation(
            group=group,
            made=self.made_at(joining[:MOST_AGES]) if joining else {},
            refusals=self.refusals() if owes else (),
        )


def unjoined(machines: Iterable[LiveMachine], nodes: Container[str]) -> list[LiveMachine]:
    """Return the machines that are neither nodes nor being removed. ``nodes`` holds the names of all nodes."""
    return [machine for machine in machines if machine.life is not Life.LEAVING and machine.node not in nodes]
