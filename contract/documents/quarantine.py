"""Machines of an environment in quarantine, which are known or believed to be in an attacker's hands.

The vault's secret ``quarantine`` contains the list and the steps that were done for each machine. Only officers write
the secret, and ``longhaul up`` does not change it. API servers fetch the secret, and refuse clients that present the
certificate of a machine on the list (``components/render/quarantine.py``).
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
"""File with the list on API servers. The node controller and the join endpoint read the file too."""

CERTIFICATE = timedelta(days=NODE_CERTIFICATE_DAYS + 1)
"""Time from the beginning of the refusal until all certificates of the refused machine have expired. One day of it
allows for clocks that differ."""

TOKENS = timedelta(seconds=10 + 120 + 1)
"""Time from the end of a machine's pods until nobody accepts their tokens. API servers remember an accepted token for
10 s (kubernetes 1.36, pkg/kubeapiserver/options/authentication.go, ``TokenSuccessCacheTTL``). Kubelets ask API servers,
and remember the answer for 120 s (pkg/kubelet/apis/config/v1beta1/defaults.go, ``authentication.webhook.cacheTTL``).
The last second is for times without fractions."""


_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class Quarantined:
    """A machine in quarantine."""

    name: str
    """Name of the machine's Node."""
    site: str
    """Site of the machine; empty if the machine no longer exists."""
    since: str
    """Time, RFC 3339, at which the last API server began to refuse the machine; before that, the time at which the
    quarantine began."""
    pool: str = ""
    """Pool of a cloud's machine; empty for a host, and for a machine that is gone."""
    group: str = ""
    """Name of the machine's group in the cloud."""
    machine: str = ""
    """The cloud's id of the machine."""
    wanted: int = 0
    """Desired size of the machine's group before the quarantine."""
    gone: bool = False
    """True if neither a pool nor the hosts file contained a machine of this name any more. Only the name is refused."""
    kept: tuple[str, ...] = ()
    """Ids of the machine, disks and snapshots that the cloud still keeps."""
    pods_gone: str = ""
    """Time, RFC 3339, at which the machine's pods and its Node no longer existed; empty before that."""
    done: bool = False
    """True once every step is done."""
    released: str = ""
    """Time of the release, RFC 3339; empty before the release."""

    def refused_until(self) -> datetime:
        """Return the time until which the machine's certificates may be valid. Its name stays refused until that
        time."""
        return datetime.fromisoformat(self.since) + CERTIFICATE

    def tokens_void(self) -> datetime | None:
        """Return the time from which nobody accepts tokens of the machine's pods; None while the pods may exist."""
        return datetime.fromisoformat(self.pods_gone) + TOKENS if self.pods_gone else None


@dataclass(frozen=True, kw_only=True)
class Quarantine:
    """All machines in quarantine, in the order of their quarantine."""

    machines: tuple[Quarantined, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Quarantine:
        """Parse the vault's value. Raise ``ValueError`` if the value is malformed."""
        try:
            raw = json.loads(text)["machines"]
            machines = tuple(Quarantined(**{**entry, "kept": tuple(entry["kept"])}) for entry in raw)
            times = [time for machine in machines for time in (machine.refused_until(), machine.tokens_void()) if time]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError("it is not a list of machines") from None
        names = [machine.name for machine in machines]
        if not all(map(_NAME.fullmatch, names)) or len(set(names)) < len(names):
            raise ValueError("each machine needs the name of a node, and no name may occur twice")
        if any(time.tzinfo is None for time in times):
            raise ValueError("its times have no zone")
        return cls(machines=machines)

    def text(self) -> str:
        """Return the vault's value. Its field ``users`` is the users' names as one string for kube-apiserver's
        configuration; CEL and YAML parse the string to the same list. Raise ``ValueError`` if the value is too long for
        the vault."""
        users = json.dumps([f"{NODE_USER}{machine.name}" for machine in self.machines])
        document = json.dumps({"users": users, "machines": [asdict(machine) for machine in self.machines]})
        return size_checked(document)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the machines' Nodes, in alphabetical order."""
        return tuple(sorted(machine.name for machine in self.machines))

    @property
    def unreleased(self) -> tuple[Quarantined, ...]:
        """Return the machines that are not released."""
        return tuple(machine for machine in self.machines if not machine.released)

    def find(self, name: str) -> Quarantined | None:
        """Return the machine of this name; None if no such machine is in quarantine."""
        return next((machine for machine in self.machines if machine.name == name), None)

    def with_(self, machine: Quarantined) -> Quarantine:
        """Return the list with the entry ``machine``, which replaces an entry of the same name."""
        if self.find(machine.name) is None:
            return Quarantine(machines=(*self.machines, machine))
        return Quarantine(machines=tuple(machine if other.name == machine.name else other for other in self.machines))

    def pruned(self, now: datetime) -> Quarantine:
        """Return the list without released machines whose certificates have all expired."""
        return Quarantine(machines=tuple(_needed(self.machines, now)))


def _needed(machines: Iterable[Quarantined], now: datetime) -> Iterable[Quarantined]:
    return (machine for machine in machines if not machine.released or machine.refused_until() > now)


def names_of(text: str) -> tuple[str, ...]:
    """Return the names of the Nodes in a list, in alphabetical order. Other fields are not read, so a machine can
    refuse the names in a newer release's list too. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the list is
    malformed."""
    return tuple(sorted(str(machine["name"]) for machine in json.loads(text)["machines"]))


def is_name(name: str) -> bool:
    """Return whether a Node may have this name."""
    return _NAME.fullmatch(name) is not None


def format_time(now: datetime) -> str:
    """Return a time in the format of the list."""
    return now.astimezone(UTC).isoformat(timespec="seconds")
