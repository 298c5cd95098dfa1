"""The machines of an environment that are in quarantine: known or believed to be in an attacker's hands. Pure.

The vault's secret ``quarantine`` holds the list, and the record of the steps that
were done. Only officers write there and ``longhaul up`` leaves it as it is. API servers fetch it and refuse whoever
presents the certificate of a machine on the list (``components/render/quarantine.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from contract.lifetimes import NODE_CERTIFICATE_DAYS
from contract.users import NODE_USER
from contract.vault import size_checked

PATH = "/etc/longhaul/quarantine.json"
"""File of API servers with the list, for the node controller and the join service as well."""

CERTIFICATE = timedelta(days=NODE_CERTIFICATE_DAYS + 1)
"""Time after which every certificate has expired that a machine had when API servers began to refuse it. A day allows
for clocks that differ."""


_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class Quarantined:
    """A machine in quarantine."""

    name: str
    """Name of its Node."""
    site: str
    """The machine's site; empty when the machine no longer exists."""
    since: str
    """Time, RFC 3339, at which the last API server began to refuse it; until then, the time at which the quarantine
    began."""
    pool: str = ""
    """Pool of a cloud's machine; empty for a host, and for a machine that is gone."""
    group: str = ""
    """Name of its group in the cloud."""
    machine: str = ""
    """The cloud's id of the machine."""
    wanted: int = 0
    """Size that its group should have had before the quarantine."""
    gone: bool = False
    """True when no machine of that name existed any more, in no pool and as no host: only the name is refused."""
    kept: tuple[str, ...] = ()
    """Ids of the machine, disks or snapshots that its cloud still keeps."""
    done: bool = False
    """True once every step was done."""
    released: str = ""
    """Time at which it was released, RFC 3339; empty while something of it is kept."""

    def refused_until(self) -> datetime:
        """Return the time until which its certificates may be valid, and until which its name stays refused."""
        return datetime.fromisoformat(self.since) + CERTIFICATE


@dataclass(frozen=True, kw_only=True)
class Quarantine:
    """All machines in quarantine, the first quarantined first."""

    machines: tuple[Quarantined, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Quarantine:
        """Parse the vault's value; raise ``ValueError`` when it is malformed."""
        try:
            raw = json.loads(text)["machines"]
            machines = tuple(Quarantined(**{**entry, "kept": tuple(entry["kept"])}) for entry in raw)
            times = [machine.refused_until() for machine in machines]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError("it is not a list of machines") from None
        names = [machine.name for machine in machines]
        if not all(map(_NAME.fullmatch, names)) or len(set(names)) < len(names):
            raise ValueError("each machine needs the name of a node, and no name may occur twice")
        if any(time.tzinfo is None for time in times):
            raise ValueError("its times have no zone")
        return cls(machines=machines)

    def text(self) -> str:
        """Return the vault's value. ``users`` is the list as a text for kube-apiserver's configuration, in a form that
        CEL and YAML read alike. Raise ``ValueError`` when it is too long for the vault."""
        users = json.dumps([f"{NODE_USER}{machine.name}" for machine in self.machines])
        document = json.dumps({"users": users, "machines": [asdict(machine) for machine in self.machines]})
        return size_checked(document)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of their Nodes, in alphabetical order."""
        return tuple(sorted(machine.name for machine in self.machines))

    @property
    def unreleased(self) -> tuple[Quarantined, ...]:
        """Return the machines that are not released: their cloud still keeps something of them."""
        return tuple(machine for machine in self.machines if not machine.released)

    def find(self, name: str) -> Quarantined | None:
        """Return the machine of this name; None when it is not in quarantine."""
        return next((machine for machine in self.machines if machine.name == name), None)

    def with_(self, machine: Quarantined) -> Quarantine:
        """Return the list with ``machine`` added, or in the place of the machine of the same name."""
        if self.find(machine.name) is None:
            return Quarantine(machines=(*self.machines, machine))
        return Quarantine(machines=tuple(machine if other.name == machine.name else other for other in self.machines))

    def pruned(self, now: datetime) -> Quarantine:
        """Return the list without machines that were released and whose certificates have all expired."""
        return Quarantine(machines=tuple(_needed(self.machines, now)))


def _needed(machines: Iterable[Quarantined], now: datetime) -> Iterable[Quarantined]:
    return (machine for machine in machines if not machine.released or machine.refused_until() > now)


def names_of(text: str) -> tuple[str, ...]:
    """Return the names of the Nodes in a list, in alphabetical order. Raise ``KeyError``, ``TypeError`` or
    ``ValueError`` when the list is malformed. Nothing else in it is read, so a machine refuses the names in a newer
    release's list too."""
    return tuple(sorted(str(machine["name"]) for machine in json.loads(text)["machines"]))


def is_name(name: str) -> bool:
    """Return whether a Node may have this name."""
    return _NAME.fullmatch(name) is not None


def format_time(now: datetime) -> str:
    """Return a time in the format of the list."""
    return now.astimezone(UTC).isoformat(timespec="seconds")
