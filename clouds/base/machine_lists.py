"""Machines of a site's pools, as its cloud lists them. Callers delete objects of machines that a list lacks, so a
request returns a complete list or fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Presence(StrEnum):
    """Stage of a machine's life, as far as its Node depends on it."""

    THERE = "there"
    ENDING = "ending"
    """Being removed, perhaps still running: no longer a node, and not yet known to be off."""
    ENDED = "ended"
    """Off for good, according to the cloud."""


@dataclass(frozen=True, kw_only=True)
class ListedMachine:
    """A machine as its site lists it."""

    name: str
    """Name of the machine's Node."""
    site: str
    pool: str
    addresses: frozenset[str]
    """The machine's own addresses, without its pods' addresses."""
    zone: str = ""
    """Value of the Node's zone label; empty while the list lacks it."""
    group: str = ""
    """Scale set of an Azure machine."""
    identity: str = ""
    """Name of the machine in documents that its cloud signs (AWS: instance id, Azure: vmId); empty for a host."""
    presence: Presence = Presence.THERE


class MachineList(ABC):
    """List of one site's machines. Both methods raise :class:`CloudError` rather than return a partial list."""

    @property
    def apart_s(self) -> float:
        """Shortest time between two requests that the cloud's limits allow, seconds."""
        return 0.0

    def __init__(self, site: str) -> None:
        self.site = site

    @abstractmethod
    def everything(self) -> Mapping[str, ListedMachine]:
        """Return every machine of the site by name."""

    @abstractmethod
    def some(self, names: Iterable[str]) -> Mapping[str, ListedMachine]:
        """Return the named machines that exist, and perhaps other machines, by name."""
