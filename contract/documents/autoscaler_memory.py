"""State from one decision of the autoscaler to the next, stored in the cluster, so that a restart loses nothing.
``longhaul capacity`` reads it too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contract.reasons.autoscaler import Obstacle, WaitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """A pool that failed."""

    failures: int
    """Number of consecutive failures."""
    until: datetime
    """Time until which the pool is skipped."""
    obstacle: Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """Machines that a pool was asked for because pods of one shape wait."""

    asked: datetime | None = None
    """Time of the first request whose machines have not been judged; None when all have."""
    unused: datetime | None = None
    """Time since which a node that came of it is empty while such pods wait; None when none is."""
    waits: int = 0
    """Number of such pods that waited at the last decision."""
    failure: Backoff | None = None
    """Record of machines that did not take such pods; None without any."""
    failed: datetime | None = None
    """Time of the last such failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionMemory:
    """State between decisions. An empty one is safe: waiting times begin again."""

    asked: Mapping[str, datetime] = field(default_factory=dict)
    """Times since which groups have been asked for more machines than are nodes, by group."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Numbers of machines that groups have or were asked for, by group; used while their cloud does not answer."""
    lost: frozenset[str] = frozenset()
    """Machines, by :func:`machine_key`, that were nodes and are not any more: somebody may have deleted their Nodes
    while the machines still have work."""
    backoff: Mapping[str, Backoff] = field(default_factory=dict)
    """Failures by pool, and of pools with several groups by :func:`backoff_key`."""
    idle: Mapping[str, datetime] = field(default_factory=dict)
    """Times since which nodes have had no work, by node."""
    learned: Mapping[str, dict[str, int]] = field(default_factory=dict)
    """Amounts that nodes of a pool really have for pods, by pool: a declared type promises a little too much."""
    unfit: Mapping[str, datetime] = field(default_factory=dict)
    """Times since which nodes have not been fit for pods, by node, where the API does not tell."""
    joining: Mapping[str, datetime] = field(default_factory=dict)
    """Times since which machines have been without a node, by :func:`machine_key`."""
    unlisted: Mapping[str, datetime] = field(default_factory=dict)
    """Times since which such machines are missing from their groups' lists, by :func:`machine_key`: lists may be
    short."""
    purchases: Mapping[str, Mapping[str, Purchase]] = field(default_factory=dict)
    """Requests for machines by pool and by the key of the shape of the pods that waited for them."""


def backoff_key(pool: str, group: str, *, groups: int) -> str:
    """Return the key of a group's failures; ``groups`` is the number of its pool's groups. The only group of a pool is
    the pool."""
    return pool if groups == 1 else f"{pool}/{group}"


def machine_key(group: str, machine: str) -> str:
    """Return the key of a machine: scale sets number theirs alike."""
    return f"{group}/{machine}"


def split_machine_key(key: str) -> tuple[str, str]:
    """Return the group and the machine of a key."""
    group, _, machine = key.rpartition("/")
    return group, machine


def to_document(memory: DecisionMemory) -> dict[str, Any]:
    """Return the memory as plain JSON values."""
    return {
        "asked": _times(memory.asked),
        "sizes": dict(sorted(memory.sizes.items())),
        "lost": sorted(memory.lost),
        "backoff": {name: _of_backoff(pause) for name, pause in sorted(memory.backoff.items())},
        "idle": _times(memory.idle),
        "learned": {name: dict(sorted(capacity.items())) for name, capacity in sorted(memory.learned.items())},
        "unfit": _times(memory.unfit),
        "joining": _times(memory.joining),
        "unlisted": _times(memory.unlisted),
        "purchases": {
            pool: {key: _of_purchase(purchase) for key, purchase in sorted(shapes.items())}
            for pool, shapes in sorted(memory.purchases.items())
        },
    }


def of_document(document: Mapping[str, Any]) -> DecisionMemory:
    """Return the memory from a document of :func:`to_document`. Raise ``AttributeError``, ``KeyError``, ``TypeError``
    or ``ValueError`` for anything else."""
    return DecisionMemory(
        asked=_read(document["asked"]),
        sizes={name: int(count) for name, count in document["sizes"].items()},
        lost=frozenset(map(str, document["lost"])),
        backoff={name: _backoff(pause) for name, pause in document["backoff"].items()},
        idle=_read(document["idle"]),
        learned={
            name: {key: int(value) for key, value in capacity.items()} for name, capacity in document["learned"].items()
        },
        unfit=_read(document["unfit"]),
        joining=_read(document["joining"]),
        unlisted=_read(document["unlisted"]),
        purchases={
            pool: {key: _purchase(purchase) for key, purchase in shapes.items()}
            for pool, shapes in document["purchases"].items()
        },
    )


def to_text(memory: DecisionMemory) -> str:
    """Return the memory as the text in its ConfigMap."""
    return json.dumps(to_document(memory), sort_keys=True)


def of_text(text: str) -> DecisionMemory:
    """Return the memory from the text in a ConfigMap. Raise the errors of :func:`of_document`."""
    return of_document(json.loads(text))


def _of_backoff(pause: Backoff) -> dict[str, Any]:
    return {
        "failures": pause.failures,
        "until": pause.until.isoformat(),
        "reason": pause.obstacle.reason,
        "message": pause.obstacle.message,
    }


def _backoff(pause: Mapping[str, Any]) -> Backoff:
    return Backoff(
        failures=int(pause["failures"]),
        until=datetime.fromisoformat(pause["until"]),
        obstacle=Obstacle(WaitReason(pause["reason"]), str(pause["message"])),
    )


def _of_purchase(purchase: Purchase) -> dict[str, Any]:
    """Return a purchase without what it lacks: there may be hundreds."""
    times = {"asked": purchase.asked, "unused": purchase.unused, "failed": purchase.failed}
    return {
        **{name: at.isoformat() for name, at in times.items() if at},
        **({"waits": purchase.waits} if purchase.waits else {}),
        **({"failure": _of_backoff(purchase.failure)} if purchase.failure else {}),
    }


def _purchase(document: Mapping[str, Any]) -> Purchase:
    times = _read({name: document[name] for name in ("asked", "unused", "failed") if name in document})
    return Purchase(
        asked=times.get("asked"),
        unused=times.get("unused"),
        waits=int(document.get("waits", 0)),
        failure=_backoff(document["failure"]) if "failure" in document else None,
        failed=times.get("failed"),
    )


def _times(times: Mapping[str, datetime]) -> dict[str, str]:
    return {name: at.isoformat() for name, at in sorted(times.items())}


def _read(times: Mapping[str, str]) -> dict[str, datetime]:
    return {name: datetime.fromisoformat(at) for name, at in times.items()}
