"""Health checks of an API server machine. Each program is asked on its loopback port."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from contract.documents.node import NodeConfig
from contract.documents.node_answers import MachineCheck
from contract.paths import KUBERNETES_AUTHORITIES
from contract.ports import (
    ACCOUNTANT_PORT,
    AUTOSCALER_PORT,
    CONTROLLER_MANAGER_PORT,
    JOBSET_HEALTH_PORT,
    KUEUE_HEALTH_PORT,
    NODE_CONTROLLER_PORT,
    NODE_SIGNER_PORT,
    SCHEDULER_PORT,
)

READY = "/readyz?verbose&exclude=etcd-override-0&exclude=etcd-override-readiness-0"
"""Path of kube-apiserver's readiness without the events etcd, whose loss must not take an API server out of service."""

ALIVE = "/livez?exclude=etcd&exclude=etcd-override-0"
"""Path of kube-apiserver's health without its etcd clusters."""

ALIVE_S = 15.0
"""Longest wait for the answer at :data:`ALIVE`, seconds, because a busy server is slow but not hung. kubeadm's liveness
probe has the same limit (kubernetes 1.36, cmd/kubeadm/app/util/staticpod/utils.go)."""

CONTROLLER_MANAGER = f"https://127.0.0.1:{CONTROLLER_MANAGER_PORT}/healthz"
NODE_SIGNER = f"https://127.0.0.1:{NODE_SIGNER_PORT}/healthz"
SCHEDULER = f"https://127.0.0.1:{SCHEDULER_PORT}/healthz"
NODE_CONTROLLER = f"http://127.0.0.1:{NODE_CONTROLLER_PORT}/healthz"
AUTOSCALER = f"http://127.0.0.1:{AUTOSCALER_PORT}/healthz"
ACCOUNTANT = f"http://127.0.0.1:{ACCOUNTANT_PORT}/healthz"
QUEUES = {
    "kueue": f"http://127.0.0.1:{KUEUE_HEALTH_PORT}/readyz",
    "jobset": f"http://127.0.0.1:{JOBSET_HEALTH_PORT}/readyz",
}
"""Addresses of the readiness of the managers of queues. A manager is ready when it answers webhooks."""
GROUPS = {"kueue": "kueue.x-k8s.io", "jobset": "jobset.x-k8s.io"}
"""API group of the objects of each manager of queues."""
TIMEOUT_S = 5.0
ELSEWHERE_S = 2.0
"""Longest wait in seconds for an answer from another API server."""


def checks(node: NodeConfig, *, pki: Path) -> tuple[MachineCheck, ...]:
    """Return the checks that kube-apiserver is ready and has the right version, and that controller-manager, node
    signer, scheduler, node controller, autoscaler, join endpoint and, if there are queues, their managers and the
    accountant are healthy."""
    return (
        server(node, pki=pki),
        _version(f"{_url(node)}/version", _context(pki), wanted=node.version),
        health("kube-controller-manager", CONTROLLER_MANAGER, unverified()),
        health("kube-node-signer", NODE_SIGNER, unverified()),
        health("kube-scheduler", SCHEDULER, unverified()),
        health("node-controller", NODE_CONTROLLER, unverified()),
        health("autoscaler", AUTOSCALER, unverified()),
        # Not verified: the join endpoint's certificate does not name the loopback address.
        health("join", f"https://127.0.0.1:{node.join_port}/healthz", unverified()),
        *(_queues(node, name, url, pki=pki) for name, url in QUEUES.items() if node.queues),
        *((health("accountant", ACCOUNTANT, unverified()),) if node.queues else ()),
    )


def server(node: NodeConfig, *, pki: Path) -> MachineCheck:
    """Check that kube-apiserver is ready."""
    return health("kube-apiserver", _url(node) + READY, _context(pki))


def _queues(node: NodeConfig, name: str, url: str, *, pki: Path) -> MachineCheck:
    """Check that a manager of queues is ready. A manager whose objects are not in the cluster yet also passes: the
    objects are made only after the API servers are ready, and until then nobody calls the manager."""
    check = health(name, url, unverified())
    if not check.ok and _is_unknown(f"{_url(node)}/apis/{GROUPS[name]}", pki=pki):
        return MachineCheck(name=name, ok=True, detail="its objects are not in the cluster yet")
    return check


def _is_unknown(url: str, *, pki: Path) -> bool:
    try:
        return _get(url, _context(pki))[0] == 404
    except OSError:
        return False


def why_silent(node: NodeConfig) -> str:
    """Return the reason why kube-apiserver counts as silent; empty if it gives any answer, even a refusal, or if it
    does not run."""
    try:
        _get(_url(node) + ALIVE, unverified(), timeout_s=ALIVE_S)
    except TimeoutError as error:
        return str(error)
    except urllib.error.URLError as error:
        return str(error.reason) if isinstance(error.reason, TimeoutError) else ""
    except (OSError, http.client.HTTPException):
        return ""
    return ""


def answers(frontend: str, *, pki: Path) -> bool:
    """Return whether a ready API server answers at ``frontend``, which is not this machine's own address."""
    try:
        status, _ = _get(f"https://{frontend}{READY}", _context(pki), timeout_s=ELSEWHERE_S)
    except OSError:
        return False
    return status == 200


def _url(node: NodeConfig) -> str:
    return f"https://127.0.0.1:{node.port}"


def _context(pki: Path) -> ssl.SSLContext:
    """Return a TLS context with controller-manager's certificate, because kube-apiserver names failed checks only to
    authenticated clients."""
    context = ssl.create_default_context(cafile=str(pki / KUBERNETES_AUTHORITIES))
    context.load_cert_chain(pki / "controller-manager.pem")
    return context


def unverified() -> ssl.SSLContext:
    """Return a TLS context without verification, for loopback ports of programs that make a new certificate at each
    start."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _get(url: str, context: ssl.SSLContext, *, timeout_s: float = TIMEOUT_S) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=timeout_s) as response:
            return response.status, response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")


def health(name: str, url: str, context: ssl.SSLContext) -> MachineCheck:
    """Check that a program answers with status 200."""
    try:
        status, body = _get(url, context)
    except OSError as error:
        return MachineCheck(name=name, ok=False, detail=f"{url}: {error}")
    failed = [line for line in body.splitlines() if line.startswith("[-]")]
    return MachineCheck(name=name, ok=status == 200, detail="; ".join(failed) or f"answers {status}")


def _version(url: str, context: ssl.SSLContext, *, wanted: str) -> MachineCheck:
    try:
        status, body = _get(url, context)
        runs = str(json.loads(body)["gitVersion"]) if status == 200 else ""
    except (OSError, ValueError, KeyError) as error:
        return MachineCheck(name="version", ok=False, detail=f"{url}: {error}")
    if not runs:
        return MachineCheck(name="version", ok=False, detail=f"{url} answers {status}")
    return MachineCheck(name="version", ok=runs == f"v{wanted}", detail=f"runs {runs}, the environment wants v{wanted}")
