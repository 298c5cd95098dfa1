"""State of the autoscaler between two decisions. It is stored in the cluster, so that a restart loses nothing.
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
    """A pause of a pool, a group or a shape of pods after failures."""

    failures: int
    """Number of consecutive failures."""
    until: datetime
    """End of the pause."""
    obstacle: Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """Requests for a pool's machines because pods of one shape wait."""

    asked: datetime | None = None
    """Time of the first request whose machines are not judged yet; None if all are."""
    unused: datetime | None = None
    """Time since which a node from such a request has been useless or empty while pods of the shape wait; None if there
    is no such node."""
    waits: int = 0
    """Number of pods of the shape that waited at the last decision."""
    failure: Backoff | None = None
    """Pause because machines did not take pods of the shape; None if there is no pause."""
    failed: datetime | None = None
    """Time of the last failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionMemory:
    """State between decisions. An empty one is safe: waiting times begin again."""

    asked: Mapping[str, datetime] = field(default_factory=dict)
    """Time since which a group has been asked for more machines than it has nodes, by group."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Number of machines that a group has or was asked for, by group. The number is used while the group's cloud does
    not answer."""
    lost: frozenset[str] = frozenset()
    """Keys (:func:`machine_key`) of machines that were nodes and no longer are. Somebody may have deleted their Nodes
    while the machines still have work."""
    backoff: Mapping[str, Backoff] = field(default_factory=dict)
    """Failures of pools by the pool's name, and failures of groups by :func:`backoff_key`."""
    idle: Mapping[str, datetime] = field(default_factory=dict)
    """Time since which a node has had no work, by node."""
    learned: Mapping[str, dict[str, int]] = field(default_factory=dict)
    """Amount of each resource that nodes of a pool really have for pods, by pool and resource. The declaration of a
    machine type promises a little too much."""
    unfit: Mapping[str, datetime] = field(default_factory=dict)
    """Time since which a node has been unfit for pods, by node. Nodes whose time the API shows are left out."""
    joining: Mapping[str, datetime] = field(default_factory=dict)
    """Time since which a machine has been without a node, by :func:`machine_key`."""
    unlisted: Mapping[str, datetime] = field(default_factory=dict)
    """Time since which a machine without a node has been missing from its group's list, by :func:`machine_key`. A
    cloud's list may be incomplete."""
    purchases: Mapping[str, Mapping[str, Purchase]] = field(default_factory=dict)
    """Requests for machines, by pool and by the key of the waiting pods' shape."""


def backoff_key(pool: str, group: str, *, groups: int) -> str:
    """Return the key of a group's failures. ``groups`` is the number of groups of the pool. The key of a pool's only
    group is the pool's name."""
    return pool if groups == 1 else f"{pool}/{group}"


def machine_key(group: str, machine: str) -> str:
    """Return the key of a machine. The key contains the group, because machines of different scale sets have the same
    numbers."""
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
    """Return the memory as text for a ConfigMap."""
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
    """Return a purchase without its empty fields, because there may be hundreds of purchases."""
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
