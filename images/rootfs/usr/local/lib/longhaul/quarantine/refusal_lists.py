"""Clients that this API server machine refuses, by two lists: machines in quarantine (/etc/longhaul/quarantine.json),
and people whose access was revoked (/etc/longhaul/revoked.json). VPN machines refuse these people too."""

from __future__ import annotations

import hashlib
import http.client
import subprocess
import time
from pathlib import Path

from kube_apiserver.metrics import loaded
from machine.polling import poll_until

from contract.documents.node import NodeConfig
from contract.documents.refusals import RefusedClients, digest_of
from contract.units import KUBE_APISERVER
from quarantine.refused_names import LIST, names

CONFIGURATION = "authorization.yaml"
METRIC = "apiserver_authorization_config_controller_last_config_info"
"""Metric with the hash of the configuration that kube-apiserver uses (k8s.io/apiserver 0.36,
pkg/server/options/authorizationconfig/metrics)."""
RETRY_S = 1.0
"""Seconds between two checks. kube-apiserver reads the file when the file changes, and does not announce that."""


def refused(node: NodeConfig, *, pki: Path, path: Path = LIST) -> RefusedClients:
    """Return the clients that this API server refuses."""
    listed: tuple[str, ...] = ()
    reported: tuple[str, ...] = ()
    try:
        listed = names(path)
        reported = listed if path.name == LIST.name else ()
        file = pki / CONFIGURATION
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        used = loaded(node, METRIC, pki=pki) == f"sha256:{digest}"
        ended = used and _started() > file.stat().st_mtime
        return RefusedClients(names=reported, digest=digest_of(listed), loaded=used, ended=ended)
    except (OSError, ValueError, http.client.HTTPException, subprocess.SubprocessError) as error:
        message = f"it is not known whom its server refuses: {error}"
        return RefusedClients(names=reported, digest=digest_of(listed), loaded=False, error=message)


def await_refused(node: NodeConfig, *, pki: Path, wanted: str, wait_s: float, path: Path = LIST) -> RefusedClients:
    """Wait until kube-apiserver uses the list with the digest ``wanted``, at most ``wait_s`` seconds, and return the
    refused clients. If the file has another list, return at once."""
    return poll_until(
        lambda: refused(node, pki=pki, path=path),
        lambda answer: answer.loaded or answer.digest != wanted,
        wait_s=wait_s,
        pause_s=RETRY_S,
    )


def end_connections(node: NodeConfig, *, pki: Path, path: Path = LIST) -> RefusedClients:
    """Restart kube-apiserver unless it was started after the list changed, and return the clients that it refuses. A
    watch is authorized only when it begins, and may last for an hour (``--min-request-timeout``). A watch with a stolen
    certificate would report changes for that long. The load balancer leaves out a server that is ending
    (``--shutdown-delay-duration``)."""
    if not refused(node, pki=pki, path=path).ended:
        subprocess.run(["systemctl", "restart", KUBE_APISERVER], check=True, capture_output=True)
    return refused(node, pki=pki, path=path)


def _started() -> float:
    """Return the time of kube-apiserver's start, in seconds since the epoch, by the present clock."""
    words = ["systemctl", "show", "--property=ExecMainStartTimestampMonotonic", "--value", KUBE_APISERVER]
    started_us = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    return time.time() - (time.monotonic() - int(started_us or 0) / 1e6)
