"""Quarantine of pools' machines: a cloud takes a machine out of its group and keeps it for an investigation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from clouds.base.live_groups import LiveGroup
from clouds.base.place import Place, SiteT


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A machine of a pool in its cloud."""

    node: str
    """Name of its Node."""
    group: str
    """Name of its group in the cloud."""
    machine: str
    """The cloud's id of the machine."""
    wanted: int
    """Desired number of machines of its group before the quarantine."""


def suspect_in(groups: Mapping[str, LiveGroup], node: str) -> Suspect | None:
    """Return the machine with a Node's name; None when no group has it. ``groups`` are a pool's groups by name."""
    for name, group in groups.items():
        view = group.look()
        for machine in view.machines:
            if machine.node == node:
                return Suspect(node=node, group=name, machine=machine.id, wanted=view.wanted)
    return None


class PoolQuarantine(ABC, Generic[SiteT]):
    """Quarantine of a pool's machine. Every method except :meth:`consequences` raises ``CloudError`` when the cloud
    refuses or does not answer. Each change may be repeated: after any interruption, the next run begins again."""

    @abstractmethod
    def consequences(self) -> tuple[str, ...]:
        """Return sentences about what happens to a machine in this cloud and what is lost; each without a full stop."""

    @abstractmethod
    def find(self, place: Place[SiteT], pool: str, node: str) -> Suspect | None:
        """Return the machine with a Node's name; None when no group of the pool has it."""

    @abstractmethod
    def keep(self, place: Place[SiteT], suspect: Suspect) -> tuple[str, ...]:
        """Keep the machine's system disk, and return the ids of what is kept; none when the machine has ended. Callers
        do this first, because an attacker on the machine notices its isolation and can end the machine."""

    @abstractmethod
    def isolate(self, place: Place[SiteT], suspect: Suspect) -> None:
        """Isolate the machine: it reaches nothing, and only operators reach it."""

    @abstractmethod
    def replace(self, place: Place[SiteT], suspect: Suspect) -> None:
        """Take the machine out of its group, which makes a replacement."""

    @abstractmethod
    def release(self, place: Place[SiteT], kept: tuple[str, ...]) -> None:
        """Delete what was kept."""
