"""Answers of ``longhaul-node`` on a machine. Each command of it prints one of these answers as a JSON object, and the
caller reads the object (images/rootfs, machine/longhaul_node.py). The answer of ``quarantine`` and ``revoked`` is in
``refusals.py``, the answer of ``restore`` in ``restore.py``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from contract.documents.refusals import RefusedClients
from contract.json_object import json_object, parse_dataclass

T = TypeVar("T")

NO_REASON = "it gives no reason"


@dataclass(frozen=True, kw_only=True)
class MachineCheck:
    """Name of a check, its result, and the observation behind it."""

    name: str
    ok: bool
    detail: str = ""
    final: bool = False
    """True when waiting cannot change the result."""


@dataclass(frozen=True, kw_only=True)
class MemberReport:
    """State of one member of the etcd cluster, as another member observes it."""

    name: str
    id: str
    """Id in hexadecimal, as etcdctl writes it."""
    healthy: bool
    leader: bool
    learner: bool
    db_size_bytes: int
    revision: int = 0
    """Newest revision of the member; 0 if the member does not answer."""


@dataclass(frozen=True, kw_only=True)
class CertificateDates:
    """Validity of one certificate, seconds since the epoch."""

    name: str
    """Name of the certificate's file, without the suffix."""
    begins: float
    ends: float


@dataclass(frozen=True, kw_only=True)
class NewestBackup:
    """The newest backup of a member's etcd cluster."""

    name: str
    """Class of the backup, and name within the class."""
    made: float
    """Time at which the backup was stored, seconds since the epoch."""
    size: int
    """Number of encrypted bytes."""
    revision: int
    keys: int


@dataclass(frozen=True, kw_only=True)
class BackupStorageState:
    """Content of the backups' storage, as a member counts it."""

    newest: NewestBackup | None = None
    took_s: float = 0.0
    """Time that the newest backup took, seconds."""
    rejected: int = 0
    """Number of blobs that do not count as backups (:mod:`contract.documents.backups`)."""
    rejected_why: str = ""
    """Name of a rejected blob, and the reason."""
    oldest: Mapping[str, float] = field(default_factory=dict)
    """Time of the oldest blob of each class, seconds since the epoch. Rejected blobs are included."""


@dataclass(frozen=True, kw_only=True)
class BackupState(BackupStorageState):
    """Result of a member's last look at the storage. If a later look fails, the earlier content stays. This is the
    answer of ``backup``, and part of the answer of ``status``."""

    declared: bool
    """True when the environment has backups."""
    looked: float
    """Time of the look, seconds since the epoch."""
    every_s: float = 0.0
    """Time between two backups, seconds."""
    error: str = ""
    """Reason why the last look or backup failed; empty if it succeeded."""


@dataclass(frozen=True, kw_only=True)
class ServerKeys:
    """Encryption keys of an API server: answer of ``encryption`` there."""

    keys: tuple[str, ...] = ()
    """Names of the keys in the file, in the file's order. The first key encrypts."""
    loaded: bool = False
    """True when the running kube-apiserver uses this very file."""
    error: str = ""
    """Reason why it is unknown whether the keys are loaded; empty if it is known."""


@dataclass(frozen=True, kw_only=True)
class ObjectsByKey:
    """Keys that encrypted the stored objects: answer of ``encryption`` on an etcd member."""

    objects: Mapping[str, int]
    """Number of objects, by the key's name. Unencrypted objects have an empty name."""


@dataclass(frozen=True, kw_only=True)
class MachineCredentials:
    """Credentials of a control-plane machine: answer of ``credentials``."""

    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """SHA-256 of every certificate and public key (DER), by file, in the file's order."""
    unused: tuple[str, ...] = ()
    """Units that were started before the content of one of their files changed."""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """SHA-256 of the certificates that ports serve, by the file from which the certificate should come. Ports on which
    no program listens are left out."""
    rotations: Mapping[str, Any] | None = None
    """Rotations in progress, as API servers read them from the vault; None on other machines."""
    error: str = ""
    """Reason why a unit was not restarted after its files changed."""


@dataclass(frozen=True, kw_only=True)
class NodeReport:
    """State of a machine: answer of ``status`` and ``ready``."""

    machine: str
    role: str
    ready: bool
    checks: tuple[MachineCheck, ...] = ()
    cluster: str = ""
    """Id of a member's etcd cluster in hexadecimal."""
    members: tuple[MemberReport, ...] = ()
    """Members of the etcd cluster, as a member observes them."""
    certificates: tuple[CertificateDates, ...] = ()
    """Dates of a control-plane machine's certificates."""
    backup: BackupState | None = None
    """Backups of a member's etcd cluster, as the member last saw them."""
    encryption: ServerKeys | None = None
    """An API server's encryption keys."""
    credentials: MachineCredentials | None = None
    """Credentials of a control-plane machine."""
    quarantine: RefusedClients | None = None
    """Machines that an API server refuses."""
    restore: str = ""
    """Backup whose restore is half done on this machine; empty without such a restore."""


def reason_of(checks: Iterable[MachineCheck]) -> str:
    """Return the reason why a machine is not ready: its failed checks as text."""
    failed = [check for check in checks if not check.ok]
    return "; ".join(f"{check.name}: {check.detail}" if check.detail else check.name for check in failed) or NO_REASON


@dataclass(frozen=True, kw_only=True)
class Survival:
    """Ability of an etcd cluster to keep its quorum without one member: answer of ``cluster``."""

    without: str
    member: bool
    """True when the machine is a member of the cluster."""
    voters: int
    quorum: int
    """Number of healthy voters that the cluster needs. A machine that no longer exists stays a voter until its
    successor removes it."""
    healthy_without: int
    survives: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Removal:
    """Result of a member's removal from its etcd cluster: answer of ``remove``."""

    removed: bool
    """True if the member is no longer in the cluster."""
    reason: str
    alive: bool = False
    """True if only a dead member was to be removed, and this member is alive."""


@dataclass(frozen=True, kw_only=True)
class Departure:
    """Result of an API server's departure from the load balancer: answer of ``leave``."""

    left: bool
    """True if the server has left, or was not in service."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class Reclaimed:
    """Result of reclaiming space in an etcd cluster's databases: answer of ``reclaim``."""

    done: bool
    reason: str
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Size of each member's database before and after, bytes."""
    ask_another: bool = False
    """True if this member began nothing, and another member may be able to do the work."""


@dataclass(frozen=True, kw_only=True)
class ServerIssuers:
    """Issuers whose tokens an API server accepts: answer of ``issuers``."""

    urls: tuple[str, ...] = ()
    """The issuers' URLs, in the list's order."""
    digest: str = ""
    """SHA-256 of the list, in hexadecimal."""
    loaded: bool = False
    """True when the running kube-apiserver uses this very list."""
    error: str = ""
    """Reason why it is unknown whether the list is loaded; empty if it is known."""


def to_text(answer: object) -> str:
    """Return ``answer``, a dataclass of this module, as JSON."""
    return json.dumps(asdict(answer))  # type: ignore[call-overload]


def of_text(kind: type[T], text: str) -> T:
    """Read an answer of the class ``kind``. Missing fields have their defaults, and unknown fields are ignored, because
    the machine may run another release. Raise ``ValueError`` if the text is not such an answer."""
    return parse_dataclass(kind, json_object(text))
