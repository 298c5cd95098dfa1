"""Control-plane machines' reports about themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from components.model import Role
from components.model.secrets.rotations import RotationProgress, parse_progress
from contract.documents.refusals import RefusedClients
from contract.paths import KUBERNETES_AUTHORITIES

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.place import Place

STILL = ("stopped", "deallocated")
"""Power states that last until the machine is started (learn.microsoft.com, "States and billing of Azure Virtual
Machines")."""


@dataclass(frozen=True, kw_only=True)
class CertificateView:
    """Validity of a certificate on a machine."""

    name: str
    begins: datetime
    ends: datetime


@dataclass(frozen=True, kw_only=True)
class EncryptionView:
    """Encryption keys of an API server."""

    keys: tuple[str, ...]
    """Key names in order; the first one encrypts."""
    loaded: bool
    """True when the running server uses them."""
    error: str = ""
    """Reason why this is unknown; empty when it is known."""


@dataclass(frozen=True, kw_only=True)
class CredentialsView:
    """A control-plane machine's report about rotations with overlap."""

    role: str
    unused: tuple[str, ...]
    """Units whose process uses other keys or authorities than those on the machine."""
    rotations: Mapping[str, RotationProgress] | None = None
    """Rotations in progress, by name; None for a machine that does not store them."""
    authorities: frozenset[str] = frozenset()
    """SHA-256 of the API servers' authorities that the machine trusts."""


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """A machine's answer to ``longhaul-node status``."""

    ready: bool
    checks: tuple[tuple[str, bool, str], ...] = ()
    """Name, success and detail of each check."""
    members: tuple[Mapping[str, Any], ...] = ()
    """Members of the etcd cluster as this machine sees them."""
    certificates: tuple[CertificateView, ...] = ()
    """Certificates of the machine; empty when it does not report them."""
    backup: Mapping[str, Any] = field(default_factory=dict)
    """An etcd member's report about its cluster's backups; empty when it does not report any."""
    encryption: EncryptionView | None = None
    """An API server's encryption keys; None when it does not report them."""
    credentials: CredentialsView | None = None
    """Report about rotations with overlap; None when the machine does not report them."""
    refuses: tuple[str, ...] | None = None
    """Machines in quarantine that an API server refuses; None when it does not report them."""
    restore: str = ""
    """Name of the backup whose restore is unfinished on the machine; otherwise empty."""
    error: str = ""
    """Reason why there is no answer; empty when there is one."""

    @property
    def reason(self) -> str:
        """Return why the machine is not ready."""
        failed = [f"{name}: {detail}" if detail else name for name, ok, detail in self.checks if not ok]
        return self.error or "; ".join(failed) or "it gives no reason"


COMMAND = "longhaul-node status"


def ask_machine(control: ControlAccess[Any], place: Place[Any], machine: str, *, limit_s: float) -> NodeAnswer:
    """Return one machine's answer. Failures of the machine or the cloud become part of it, also when it takes longer
    than ``limit_s`` seconds."""
    try:
        output = control.run_command(place, machine, COMMAND, timeout_s=limit_s)
    except CloudError as error:
        return NodeAnswer(ready=False, error=str(error))
    return parse_answer(output.stdout, output.stderr)


def parse_answer(stdout: str, stderr: str) -> NodeAnswer:
    """Parse the machine's JSON."""
    try:
        content = json.loads(stdout)
        checks = tuple(_check(check) for check in content.get("checks", []))
        members = tuple(dict(member) for member in content.get("members") or [])
        certificates = tuple(_certificate(certificate) for certificate in content.get("certificates") or [])
        backup = dict(content.get("backup") or {})
        restore = str(content.get("restore") or "")
        return NodeAnswer(
            ready=bool(content["ready"]),
            checks=checks,
            members=members,
            certificates=certificates,
            backup=backup,
            encryption=_encryption(content.get("encryption")),
            credentials=_credentials(content.get("credentials"), role=str(content.get("role") or Role.API)),
            refuses=_refuses(content.get("quarantine")),
            restore=restore,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        lines = (stderr or stdout).strip().splitlines()
        return NodeAnswer(
            ready=False, error=f"no answer from longhaul-node: {lines[-1] if lines else 'it said nothing'}"
        )


def _check(check: dict[str, Any]) -> tuple[str, bool, str]:
    return str(check["name"]), bool(check["ok"]), str(check.get("detail", ""))


def _certificate(certificate: dict[str, Any]) -> CertificateView:
    begins, ends = (datetime.fromtimestamp(float(certificate[key]), tz=UTC) for key in ("begins", "ends"))
    return CertificateView(name=str(certificate["name"]), begins=begins, ends=ends)


def _encryption(answer: Mapping[str, Any] | None) -> EncryptionView | None:
    if not answer:
        return None
    return EncryptionView(
        keys=tuple(map(str, answer["keys"])), loaded=bool(answer["loaded"]), error=str(answer.get("error") or "")
    )


def _credentials(answer: Mapping[str, Any] | None, *, role: str) -> CredentialsView | None:
    if not answer:
        return None
    known = answer.get("rotations")
    return CredentialsView(
        role=role,
        unused=tuple(map(str, answer.get("unused") or ())),
        rotations=None if known is None else parse_progress(json.dumps(known)),
        authorities=frozenset(map(str, (answer.get("files") or {}).get(KUBERNETES_AUTHORITIES) or ())),
    )


def _refuses(answer: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    """Return the machines that a server refuses; None when the server does not know."""
    if not answer:
        return None
    clients = RefusedClients.of_document(answer)
    if clients.error:
        return None
    return clients.names if clients.loaded else ()
