"""Restore of an etcd cluster from a backup, as the command and the members exchange it: the plan for a member, and the
member's progress (docs/backups.md)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any


class Step(IntEnum):
    """Last step that is done on a member."""

    NONE = -1
    """There is no restore on it."""
    BEGUN = 0
    STOPPED = 1
    """etcd is stopped, and its data is set aside."""
    REBUILT = 2
    """New data is there."""
    STARTED = 3
    """etcd was started with the new data."""
    FINISHED = 4


@dataclass(frozen=True, kw_only=True)
class Record:
    """Progress of a restore on this member."""

    id: str
    backup: str
    """Class and name of the backup."""
    step: int = Step.BEGUN
    cluster: str = ""
    """Id of the new etcd cluster in hexadecimal, once there is new data."""
    revision: int = 0
    """Newest revision of the new data."""


@dataclass(frozen=True, kw_only=True)
class MachineLook:
    """A machine's answer to ``restore look``."""

    machine: str
    hold: str = ""
    """Id of the restore that keeps its service from being started; empty without one."""
    record: Record | None = None
    """Its last restore, as the data on its disk confirms it."""
    noted: int = Step.NONE
    """Highest step that the restore had reached; its present step is lower when its new data is gone."""
    quorum: bool = False
    cluster: str = ""
    """Id of the etcd cluster that answers it with a quorum, hexadecimal."""
    revision: int = 0
    """Newest revision that it has; 0 when its etcd does not answer, or it is no member."""
    data: str = ""
    """Id of the etcd cluster of its data, hexadecimal."""
    asides: tuple[str, ...] = ()
    """Folders that restores have set aside."""

    def to_document(self) -> dict[str, Any]:
        """Return the answer."""
        document = asdict(self)
        noted = document.pop("noted")
        if self.record:
            document["record"]["noted"] = noted
        return document

    @classmethod
    def of_document(cls, answer: Mapping[str, Any]) -> MachineLook:
        """Read an answer; ``KeyError``, ``TypeError`` or ``ValueError`` when it is not one."""
        record = dict(answer.get("record") or {})
        noted = int(record.pop("noted", record.get("step", Step.NONE)))
        return cls(
            machine=str(answer["machine"]),
            hold=str(answer.get("hold") or ""),
            record=Record(**record) if record else None,
            noted=noted,
            quorum=bool(answer.get("quorum")),
            cluster=str(answer.get("cluster") or ""),
            revision=int(answer.get("revision") or 0),
            data=str(answer.get("data") or ""),
            asides=tuple(map(str, answer.get("asides") or ())),
        )


@dataclass(frozen=True, kw_only=True)
class BackupSource:
    """A backup, and how it is opened."""

    kept: str
    """Class of the backup, which is its container."""
    name: str
    sha256: str
    """Hash of the encrypted content, hexadecimal."""
    snapshot_sha256: str
    revision: int
    keys: int
    size: int
    """Number of encrypted bytes."""
    plain_size: int
    """Number of bytes of the database."""
    header: bytes
    """Header of age that holds the file's key for the member's one-time key."""
    skip: int
    """Number of bytes of the backup's own header, which the other header replaces."""


@dataclass(frozen=True, kw_only=True)
class RestorePlan:
    """All that a member needs to know to make new data."""

    source: BackupSource
    members: tuple[str, ...]
    """Names of all members of the new etcd cluster."""
    token: str
    """Token from which the ids of cluster and members are derived. A token that was never used gives new ids, so that a
    member with old data is refused."""
    bump: int
    """Number of revisions that the data is ahead of the backup."""

    def to_text(self) -> str:
        """Return the plan as one word of a command line."""
        source = {**asdict(self.source), "header": base64.b64encode(self.source.header).decode()}
        return base64.b64encode(json.dumps({**asdict(self), "source": source}).encode()).decode()


def plan_of_text(text: str) -> RestorePlan:
    """Read a plan; ``KeyError``, ``TypeError`` or ``ValueError`` when it is not one."""
    raw = json.loads(base64.b64decode(text))
    source = BackupSource(**{**raw["source"], "header": base64.b64decode(raw["source"]["header"])})
    return RestorePlan(source=source, members=tuple(raw["members"]), token=str(raw["token"]), bump=int(raw["bump"]))
