"""Control-plane machines' reports about themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from components.model.secrets.rotations import RotationProgress, parse_progress
from contract.documents.node_answers import (
    BackupState,
    CertificateDates,
    MachineCheck,
    MachineCredentials,
    MemberReport,
    NodeReport,
    ServerKeys,
    of_text,
    reason_of,
)
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
class CredentialsView:
    """A control-plane machine's report about rotations with overlap."""

    role: str
    unused: tuple[str, ...]
    """Units whose process uses other keys or authorities than the machine has."""
    rotations: Mapping[str, RotationProgress] | None = None
    """Rotations in progress, by name; None for a machine that does not store them."""
    authorities: frozenset[str] = frozenset()
    """SHA-256 of the API servers' authorities that the machine trusts."""


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """A machine's answer to ``longhaul-node status``."""

    ready: bool
    checks: tuple[MachineCheck, ...] = ()
    members: tuple[MemberReport, ...] = ()
    """Members of the etcd cluster as this machine sees them."""
    certificates: tuple[CertificateView, ...] = ()
    """Certificates of the machine; empty when it does not report them."""
    backup: BackupState | None = None
    """An etcd member's report about its cluster's backups; None when it does not report any."""
    encryption: ServerKeys | None = None
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
        return self.error or reason_of(self.checks)


COMMAND = "longhaul-node status"


def ask_machine(control: ControlAccess[Any], place: Place[Any], machine: str, *, limit_s: float) -> NodeAnswer:
    """Return one machine's answer. A failure of the machine or the cloud becomes part of the answer, and so does a
    machine that takes longer than ``limit_s`` seconds."""
    try:
        output = control.run_command(place, machine, COMMAND, timeout_s=limit_s)
    except CloudError as error:
        return NodeAnswer(ready=False, error=str(error))
    return parse_answer(output.stdout, output.stderr)


def parse_answer(stdout: str, stderr: str) -> NodeAnswer:
    """Parse the machine's JSON."""
    try:
        report = of_text(NodeReport, stdout)
        return NodeAnswer(
            ready=report.ready,
            checks=report.checks,
            members=report.members,
            certificates=tuple(map(_certificate, report.certificates)),
            backup=report.backup,
            encryption=report.encryption,
            credentials=_credentials(report.credentials, role=report.role) if report.credentials else None,
            refuses=_refuses(report.quarantine) if report.quarantine else None,
            restore=report.restore,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        lines = (stderr or stdout).strip().splitlines()
        return NodeAnswer(
            ready=False, error=f"no answer from longhaul-node: {lines[-1] if lines else 'it said nothing'}"
        )


def _certificate(dates: CertificateDates) -> CertificateView:
    begins, ends = (datetime.fromtimestamp(seconds, tz=UTC) for seconds in (dates.begins, dates.ends))
    return CertificateView(name=dates.name, begins=begins, ends=ends)


def _credentials(report: MachineCredentials, *, role: str) -> CredentialsView:
    return CredentialsView(
        role=role,
        unused=report.unused,
        rotations=None if report.rotations is None else parse_progress(json.dumps(report.rotations)),
        authorities=frozenset(report.files.get(KUBERNETES_AUTHORITIES, ())),
    )


def _refuses(clients: RefusedClients) -> tuple[str, ...] | None:
    """Return the machines that a server refuses; None when the server does not know."""
    if clients.error:
        return None
    return clients.names if clients.loaded else ()
