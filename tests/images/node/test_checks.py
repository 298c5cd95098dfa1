"""A worker's checks of itself."""

from __future__ import annotations

import json
import socket
import urllib.error
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from machine import longhaul_node as node
from node import checks as worker_checks
from node.checks import WorkerPaths

from contract.documents.node import Worker
from contract.documents.node_answers import NodeReport

NODE = "https://10.64.3.5:6443/api/v1/nodes/i-1"
WORKER = Worker(
    role="node",
    kind="aws",
    version="1.30.3",
    api="https://10.64.3.5:6443",
    labels={},
    supernet="10.64.0.0/12",
    pod_mtu=1400,
)
READY = {"type": "Ready", "status": "True", "message": "kubelet is posting ready status"}


def status(*conditions: dict[str, str], version: str = "1.30.3") -> dict[str, Any]:
    """Return the Node as the API has it."""
    return {"status": {"conditions": list(conditions), "nodeInfo": {"kubeletVersion": f"v{version}"}}}


@pytest.fixture(name="paths")
def _paths(tmp_path: Path) -> WorkerPaths:
    """A machine whose files are all as they should be."""
    found = WorkerPaths(
        environment=tmp_path / "node.env",
        certificate=tmp_path / "certificate.pem",
        authority=tmp_path / "ca.crt",
        dns_cache=tmp_path / "20-node-dns.conf",
    )
    found.environment.write_text("NODE_NAME=i-1\nNODE_ADDRESS=10.65.128.5\n")
    found.certificate.touch()
    return found


@pytest.fixture(name="answers")
def _answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Answers by address. At first they are those of a healthy node's programs and API server."""
    found: dict[str, Any] = {worker_checks.KUBELET: "ok", worker_checks.PROXY: "ok", NODE: status(READY)}

    def get(url: str, _context: object = None) -> str:
        answer = found[url]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer)

    class Context:
        def load_cert_chain(self, _path: Path) -> None:
            pass

    monkeypatch.setattr(worker_checks, "_get", get)
    monkeypatch.setattr("ssl.create_default_context", lambda **_: Context())
    monkeypatch.setattr(worker_checks, "CONTAINERD", tmp_path / "containerd.sock")
    return found


def failing(paths: WorkerPaths) -> dict[str, str]:
    with socket.socket(socket.AF_UNIX) as containerd:
        containerd.bind(str(worker_checks.CONTAINERD))
        containerd.listen()
        return {check.name: check.detail for check in worker_checks.checks(paths, WORKER) if not check.ok}


def test_a_well_node(paths: WorkerPaths, answers: dict[str, Any]) -> None:
    assert failing(paths) == {}


def test_a_dns_cache_that_pods_ask_has_to_answer(paths: WorkerPaths, answers: dict[str, Any]) -> None:
    """Without the setting that pods ask it, there is none, as in the test above."""
    answers[worker_checks.DNS_CACHE] = ConnectionRefusedError("refused")
    paths.dns_cache.touch()
    assert failing(paths) == {"DNS cache": f"{worker_checks.DNS_CACHE}: refused"}


@pytest.mark.parametrize(
    ("url", "answer", "says"),
    [
        (worker_checks.KUBELET, ConnectionRefusedError("refused"), {"kubelet": f"{worker_checks.KUBELET}: refused"}),
        (worker_checks.PROXY, ConnectionRefusedError("refused"), {"kube-proxy": f"{worker_checks.PROXY}: refused"}),
        (NODE, TimeoutError("timed out"), {"ready": "Node i-1: TimeoutError('timed out')"}),
        (
            NODE,
            urllib.error.HTTPError(NODE, 404, "Not Found", Message(), None),
            {"ready": "Node i-1: there is none: see longhaul-registered.timer"},
        ),
        (NODE, status({**READY, "status": "False", "message": "no network"}), {"ready": "no network"}),
        (NODE, status(), {"ready": "no condition Ready yet"}),
        (NODE, status(READY, version="1.31.0"), {"version": "runs v1.31.0, the environment wants v1.30.3"}),
    ],
    ids=["kubelet", "kube-proxy", "API server", "deleted", "not ready", "no condition", "another version"],
)
def test_what_fails_is_named(
    paths: WorkerPaths, answers: dict[str, Any], url: str, answer: object, says: dict[str, str]
) -> None:
    answers[url] = answer
    assert failing(paths) == says


def test_containerd_that_is_not_there(paths: WorkerPaths, answers: dict[str, Any]) -> None:
    assert [check.name for check in worker_checks.checks(paths, WORKER) if not check.ok] == ["containerd"]


def test_a_node_that_has_not_joined(paths: WorkerPaths, answers: dict[str, Any]) -> None:
    paths.certificate.unlink()
    assert list(failing(paths)) == ["joined"]


def test_a_node_that_does_not_know_its_place(paths: WorkerPaths, answers: dict[str, Any]) -> None:
    paths.environment.unlink()
    assert list(failing(paths)) == ["place"]
    assert worker_checks.name(paths) == ""


def test_the_command_knows_a_worker_by_its_role(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = tmp_path / "node.json"
    described.write_text(json.dumps({"role": "node"}))
    report = NodeReport(machine="i-1", role="node", ready=False, checks=())
    monkeypatch.setattr(node, "PATH", described)
    monkeypatch.setattr(node, "worker_report", lambda: report)
    monkeypatch.setattr("sys.argv", ["longhaul-node", "ready"])
    assert node.main() == 1
    monkeypatch.setattr("sys.argv", ["longhaul-node", "status"])
    assert node.main() == 0
    assert {json.loads(line)["machine"] for line in capsys.readouterr().out.splitlines()} == {"i-1"}
    monkeypatch.setattr("sys.argv", ["longhaul-node", "cluster", "--without", "x"])
    with pytest.raises(SystemExit):
        node.main()
