"""Documents that the command and the members exchange when an etcd cluster is restored from a backup: the plan for a
member, and the member's progress (docs/restore.md)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any


class Step(IntEnum):
    """Last step of a restore that a member has done."""

    NONE = -1
    """The member has no record of a restore."""
    BEGUN = 0
    STOPPED = 1
    """etcd is stopped, and the member's old data is set aside."""
    REBUILT = 2
    """The member has new data."""
    STARTED = 3
    """etcd was started with the new data."""
    FINISHED = 4


@dataclass(frozen=True, kw_only=True)
class Record:
    """Progress of a restore on one member."""

    id: str
    backup: str
    """Class and name of the backup."""
    step: int = Step.BEGUN
    cluster: str = ""
    """Id of the new etcd cluster, hexadecimal. Empty until the member has new data."""
    revision: int = 0
    """Newest revision of the new data, or 0 until the member has new data."""


@dataclass(frozen=True, kw_only=True)
class MachineLook:
    """A machine's answer to ``restore look``."""

    machine: str
    hold: str = ""
    """Id of the restore that keeps the machine's service from being started, or empty if the service may be started."""
    record: Record | None = None
    """The machine's last restore, as far as the data on the disk confirms the record. None if there was no restore."""
    noted: int = Step.NONE
    """Step in the record itself. The step of ``record`` is lower if the new data is gone from the disk."""
    quorum: bool = False
    cluster: str = ""
    """Id of the etcd cluster that answers the machine with a quorum, hexadecimal. Empty if no quorum answers."""
    revision: int = 0
    """Newest revision on the machine. The value is 0 if the machine's etcd does not answer, and for an API server."""
    data: str = ""
    """Id of the etcd cluster to which the data on the disk belongs, hexadecimal. Empty if the disk has no readable
    data."""
    asides: tuple[str, ...] = ()
    """Folders into which restores have moved old data."""

    def to_document(self) -> dict[str, Any]:
        """Return the answer as a JSON document, with ``noted`` inside ``record``."""
        document = asdict(self)
        noted = document.pop("noted")
        if self.record:
            document["record"]["noted"] = noted
        return document

    @classmethod
    def of_document(cls, answer: Mapping[str, Any]) -> MachineLook:
        """Return the answer in a document. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the document is no
        answer."""
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
    """A backup, with the values that a member needs to fetch, check and open the backup."""

    kept: str
    """Class of the backup, which is also the name of the backup's container."""
    name: str
    sha256: str
    """SHA-256 of the encrypted backup, hexadecimal."""
    snapshot_sha256: str
    revision: int
    keys: int
    size: int
    """Size of the encrypted backup in bytes."""
    plain_size: int
    """Size of the database in bytes."""
    header: bytes
    """Header of age with the backup's file key, encrypted for the member's one-time key. This header takes the place of
    the backup's own header."""
    skip: int
    """Length of the backup's own header in bytes."""


@dataclass(frozen=True, kw_only=True)
class RestorePlan:
    """Everything that a member needs to know to make new data."""

    source: BackupSource
    members: tuple[str, ...]
    """Names of all members of the new etcd cluster."""
    token: str
    """Token from which etcd derives the ids of the cluster and of the members. A token that was never used gives new
    ids, so the new cluster refuses a member with old data."""
    bump: int
    """Number of revisions by which the new data is ahead of the backup."""

    def to_text(self) -> str:
        """Return the plan as one word of a command line."""
        source = {**asdict(self.source), "header": base64.b64encode(self.source.header).decode()}
        return base64.b64encode(json.dumps({**asdict(self), "source": source}).encode()).decode()


def plan_of_text(text: str) -> RestorePlan:
    """Return the plan in a text. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the text is no plan."""
    raw = json.loads(base64.b64decode(text))
    source = BackupSource(**{**raw["source"], "header": base64.b64decode(raw["source"]["header"])})
    return RestorePlan(source=source, members=tuple(raw["members"]), token=str(raw["token"]), bump=int(raw["bump"]))
