"""Machines of pools that are taken out of their group and kept for a look, as their cloud can do it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from clouds.base.live_groups import LiveGroup
from clouds.base.place import Place, SiteT


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A machine of a pool, as its cloud knows it."""

    node: str
    """Name of its Node."""
    group: str
    """Name of its group in the cloud."""
    machine: str
    """The cloud's id of the machine."""
    wanted: int
    """Number of machines that its group should have had before."""


def suspect_in(groups: Mapping[str, LiveGroup], node: str) -> Suspect | None:
    """Return the machine of a Node's name; None when no group has it. ``groups``: a pool's groups by name."""
    for name, group in groups.items():
        view = group.look()
        for machine in view.machines:
            if machine.node == node:
                return Suspect(node=node, group=name, machine=machine.id, wanted=view.wanted)
    return None


class PoolQuarantine(ABC, Generic[SiteT]):
    """Quarantine of a pool's machine. Every method but :meth:`consequences` raises ``CloudError`` when the cloud
    refuses or does not answer, and each change may be repeated: whatever interrupts a quarantine, the next run begins
    anew."""

    @abstractmethod
    def consequences(self) -> tuple[str, ...]:
        """Return what becomes of a machine here, and what is lost of it; a sentence each, without a full stop."""

    @abstractmethod
    def find(self, place: Place[SiteT], pool: str, node: str) -> Suspect | None:
        """Return the machine of a Node's name; None when no group of the pool has it."""

    @abstractmethod
    def keep(self, place: Place[SiteT], suspect: Suspect) -> tuple[str, ...]:
        """See to it that its system disk stays, and return the ids of what is kept; none when the machine has
        ended. It comes first: whoever is on the machine notices that it is cut off, and can end it."""

    @abstractmethod
    def isolate(self, place: Place[SiteT], suspect: Suspect) -> None:
        """Cut the machine off, so that it reaches nothing and nothing but operators reaches it."""

    @abstractmethod
    def replace(self, place: Place[SiteT], suspect: Suspect) -> None:
        """Take the machine out of its group, which makes another in its place."""

    @abstractmethod
    def release(self, place: Place[SiteT], kept: tuple[str, ...]) -> None:
        """Delete what was kept."""
