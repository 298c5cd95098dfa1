"""Digests of this machine's certificates and public keys, and restarts of programs that still use former files.

Programs read three kinds of files only at their start: keys of service accounts (kubernetes 1.36,
pkg/controlplane/apiserver/options/options.go and cmd/kube-controller-manager/app/service_accounts.go), the published
authorities of API servers (cmd/kube-controller-manager/app/certificates.go), and the authorities of an etcd cluster
(etcd 3.6, client/pkg/transport/listener.go, which kube-apiserver uses as well).
"""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from etcd import checks as etcd_checks
from etcd.client import Etcdctl
from kube_apiserver import leave as api_leave
from machine.polling import poll_until

from contract.documents.node import NodeConfig
from contract.documents.node_answers import MachineCredentials
from contract.paths import KUBERNETES_AUTHORITIES
from contract.units import CONTROLLER_MANAGER, ETCD, KUBE_APISERVER
from credentials.digests import digests
from credentials.served_certificates import files_not_served, served_certificates

ACCOUNTS = "service-account.pem"
MEMBERS = "etcd-ca.crt"
"""File with the authorities of etcd members."""
CLIENTS = "etcd-client-ca.crt"
"""File with the authorities of an etcd member's clients."""
ROTATIONS = "rotations.json"
COPIES = {
    KUBE_APISERVER: Path("/run/longhaul-api"),
    CONTROLLER_MANAGER: Path("/run/longhaul-controller-manager"),
    ETCD: Path("/run/longhaul"),
}
"""Folders into which units copy, at their start, the files that their programs read only then. The copies are the
content in use."""
COPIED = {
    KUBE_APISERVER: (ACCOUNTS, MEMBERS),
    CONTROLLER_MANAGER: (ACCOUNTS, KUBERNETES_AUTHORITIES),
    ETCD: (MEMBERS, CLIENTS),
}
"""Names of the copied files."""
READY_S = 120.0
"""Longest time in seconds until a restarted member commits again."""
RETRY_S = 1.0
SHOWS_S = 90.0
"""Longest time in seconds until a program serves a new certificate without a restart. kube-apiserver reads the file
when the file changes, and every minute (k8s.io/apiserver 0.36, dynamiccertificates, ``FileRefreshDuration``)."""


def machine_credentials(node: NodeConfig, *, pki: Path) -> MachineCredentials:
    """Return the credentials that this machine has and uses."""
    paths = sorted(path for path in pki.iterdir() if path.suffix in (".pem", ".crt"))
    return MachineCredentials(
        files={path.name: digests(path.read_text()) for path in paths},
        unused=_unused(node, pki),
        shown=served_certificates(node, pki=pki),
        rotations=_rotations(pki),
    )


def take_over(node: NodeConfig, *, frontend: str, pki: Path, etcdctl: Etcdctl | None) -> MachineCredentials:
    """Restart the programs that were started with former content of a file, and wait until all ports serve the files'
    certificates. Before its restart, kube-apiserver leaves the load balancer at ``frontend``, which is empty if there
    is no other API server. A member needs ``etcdctl``. It is restarted only if the other members are a quorum, or if
    there is no other voter."""
    unused = _unused(node, pki)
    error = ""
    if KUBE_APISERVER in unused:
        error = _restart_server(node, frontend=frontend, pki=pki)
    if CONTROLLER_MANAGER in unused and not error:
        error = _done("restart", CONTROLLER_MANAGER)
    if ETCD in unused and etcdctl is not None:
        error = _restart_member(node, etcdctl)
    credentials = poll_until(
        lambda: machine_credentials(node, pki=pki),
        lambda answer: bool(error) or not files_not_served(answer.shown, pki),
        wait_s=SHOWS_S,
        pause_s=RETRY_S,
    )
    return replace(credentials, error=error)


def _restart_member(node: NodeConfig, etcdctl: Etcdctl) -> str:
    """Restart etcd. Return the reason why etcd was not restarted or does not commit; empty if it commits. A leader
    hands over before it stops (etcd 3.6, server/etcdserver/server.go, ``Stop``)."""
    survival = etcd_checks.survival(node, etcdctl, without=node.machine)
    alone = survival.member and survival.voters == 1
    if not survival.survives and not alone:
        return survival.reason
    if error := _done("restart", ETCD):
        return error
    deadline = time.monotonic() + READY_S
    while failed := [check for check in etcd_checks.checks(node, etcdctl)[1] if not check.ok]:
        if time.monotonic() + RETRY_S > deadline:
            return f"{failed[0].name}: {failed[0].detail}"
        time.sleep(RETRY_S)
    return ""


def _restart_server(node: NodeConfig, *, frontend: str, pki: Path) -> str:
    """Restart kube-apiserver. Return the reason why it was not restarted; empty if it is ready."""
    if not frontend:
        return _done("restart", KUBE_APISERVER)
    departure = api_leave.leave(node, frontend=frontend, pki=pki)
    if not departure.left:
        return departure.reason
    # Its start ends when it is ready. If this program does not get that far, the timer of the leave starts it. A server
    # that served nobody was not stopped by the leave, and must be restarted as well.
    if error := _done("restart", KUBE_APISERVER):
        return error
    # The target that requires it stopped with it.
    return _done("stop", api_leave.RETURN) or _done("--no-block", "start", "longhaul-api.target")


def _done(*words: str) -> str:
    """Run systemctl. Return the reason why it failed; empty if it succeeded."""
    done = subprocess.run(["systemctl", *words], check=False, capture_output=True, text=True)
    messages = done.stderr.strip().splitlines() or [f"systemctl {' '.join(words)} ended with {done.returncode}"]
    return messages[-1] if done.returncode else ""


def _unused(node: NodeConfig, pki: Path) -> tuple[str, ...]:
    units = {"api": (KUBE_APISERVER, CONTROLLER_MANAGER), "vpn": ()}.get(node.role, (ETCD,))
    return tuple(unit for unit in units if any(_differs(unit, name, pki) for name in COPIED[unit]))


def _differs(unit: str, name: str, pki: Path) -> bool:
    """Return whether a unit uses former content of a file. A stopped unit has no copy and will start with the file's
    content. A stopped kube-apiserver counts all the same: it may have left the load balancer for a restart that has not
    happened yet."""
    copy = _content(COPIES[unit] / name)
    return copy != _content(pki / name) and (unit == KUBE_APISERVER or copy is not None)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _rotations(pki: Path) -> dict[str, Any] | None:
    try:
        document = json.loads((pki / ROTATIONS).read_text())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
