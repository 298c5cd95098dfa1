"""Health checks of a worker node. Each program is asked locally, and the Node is read from the API."""

from __future__ import annotations

import json
import socket
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract.documents.node import Worker
from contract.documents.node_answers import MachineCheck
from contract.kubernetes.readiness import ready_condition
from contract.node_dns import KUBELET_DROP_IN, METRICS_PORT
from contract.paths import KUBERNETES_AUTHORITIES, PKI
from contract.ports import KUBE_PROXY_HEALTH_PORT

CONTAINERD = Path("/run/containerd/containerd.sock")
KUBELET = "http://127.0.0.1:10248/healthz"
PROXY = f"http://127.0.0.1:{KUBE_PROXY_HEALTH_PORT}/healthz"
DNS_CACHE = f"http://127.0.0.1:{METRICS_PORT}/metrics"
TIMEOUT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class WorkerPaths:
    """Files with a worker's identity."""

    environment: Path = Path("/run/longhaul/node.env")
    """File that node/place.py writes."""
    certificate: Path = Path("/var/lib/kubelet/pki/kubelet-client-current.pem")
    authority: Path = Path(PKI, KUBERNETES_AUTHORITIES)
    dns_cache: Path = Path(KUBELET_DROP_IN)
    """Setting by which the node's pods ask the DNS cache."""


def name(paths: WorkerPaths) -> str:
    """Return the node's name; empty while the node's place is not known."""
    try:
        lines = paths.environment.read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition("=")[2] for line in lines if line.startswith("NODE_NAME=")), "")


def checks(paths: WorkerPaths, worker: Worker) -> tuple[MachineCheck, ...]:
    """Return the checks that the place is known, that the programs are healthy, and that the node has joined, is Ready
    and has the right version."""
    node_name = name(paths)
    place = MachineCheck(
        name="place", ok=bool(node_name), detail=node_name or "not known yet: see longhaul-node-place.service"
    )
    joined = _joined(paths)
    programs = (
        _listens("containerd", CONTAINERD),
        _answers("kubelet", KUBELET),
        _answers("kube-proxy", PROXY),
        *((_answers("DNS cache", DNS_CACHE),) if paths.dns_cache.exists() else ()),
    )
    if not (place.ok and joined.ok):
        return (place, *programs, joined)
    return (place, *programs, joined, *_node(paths, worker, node_name))


def _joined(paths: WorkerPaths) -> MachineCheck:
    if paths.certificate.exists():
        return MachineCheck(name="joined", ok=True, detail="has a certificate")
    return MachineCheck(
        name="joined", ok=False, detail="has no certificate yet: see kubelet.service, and the requests' events"
    )


def _listens(program: str, path: Path) -> MachineCheck:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(TIMEOUT_S)
        try:
            probe.connect(str(path))
        except OSError as error:
            return MachineCheck(name=program, ok=False, detail=f"{path}: {error}")
    return MachineCheck(name=program, ok=True, detail="answers")


def _answers(program: str, url: str) -> MachineCheck:
    try:
        _get(url)
    except (OSError, ValueError) as error:
        return MachineCheck(name=program, ok=False, detail=f"{url}: {error}")
    return MachineCheck(name=program, ok=True, detail="answers 200")


def _node(paths: WorkerPaths, worker: Worker, node_name: str) -> tuple[MachineCheck, ...]:
    """Return the checks of the Node in the API, read with the node's own certificate."""
    try:
        node = read_node(paths, worker, node_name)
        ready, runs = ready_condition(node), node["status"]["nodeInfo"]["kubeletVersion"]
    except (OSError, ValueError, KeyError, LookupError) as error:
        gone = isinstance(error, urllib.error.HTTPError) and error.code == 404
        reason = "there is none: see longhaul-registered.timer" if gone else repr(error)
        return (MachineCheck(name="ready", ok=False, detail=f"Node {node_name}: {reason}"),)
    version = worker.version
    return (
        MachineCheck(name="ready", ok=ready.is_true, detail=ready.message or "no condition Ready yet"),
        MachineCheck(name="version", ok=runs == f"v{version}", detail=f"runs {runs}, the environment wants v{version}"),
    )


def read_node(paths: WorkerPaths, worker: Worker, name: str, *, query: str = "") -> dict[str, Any]:
    """Return the Node ``name``, read with the kubelet's certificate. Raise ``ValueError`` or ``OSError``, of which
    ``HTTPError`` is one, if it cannot be read."""
    context = ssl.create_default_context(cafile=str(paths.authority))
    context.load_cert_chain(paths.certificate)
    return dict(json.loads(_get(f"{worker.api}/api/v1/nodes/{name}{query}", context)))


def _get(url: str, context: ssl.SSLContext | None = None) -> str:
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    with urllib.request.build_opener(*handlers).open(url, timeout=TIMEOUT_S) as response:
        return str(response.read().decode())
