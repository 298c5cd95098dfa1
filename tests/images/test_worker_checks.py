"""A worker's checks of itself."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import node
import pytest
import worker_checks
from node_place import Worker
from worker_checks import Paths

READY = {"type": "Ready", "status": "True", "message": "kubelet is posting ready status"}


@pytest.fixture(name="paths")
def _paths(tmp_path: Path) -> Paths:
    """A machine whose files are all as they should be."""
    found = Paths(
        environment=tmp_path / "node.env",
        certificate=tmp_path / "certificate.pem",
        authority=tmp_path / "ca.crt",
    )
    found.environment.write_text("NODE_NAME=i-1\nNODE_ADDRESS=10.65.128.5\n")
    found.certificate.touch()
    return found


@pytest.fixture(name="answers")
def _answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Answers by address. At first they are those of a healthy node's programs and API server."""
    status = {"conditions": [READY], "nodeInfo": {"kubeletVersion": "v1.30.3"}}
    found: dict[str, Any] = {
        worker_checks.KUBELET: "ok",
        worker_checks.PROXY: "ok",
        "https://10.64.3.5:6443/api/v1/nodes/i-1": {"status": status},
    }

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


def worker(version: str = "1.30.3") -> Worker:
    return Worker(
        role="node",
        kind="aws",
        version=version,
        api="https://10.64.3.5:6443",
        labels={},
        supernet="10.64.0.0/12",
        pod_mtu=1400,
    )


def failing(paths: Paths, *, version: str = "1.30.3") -> dict[str, str]:
    with socket.socket(socket.AF_UNIX) as containerd:
        worker_checks.CONTAINERD.unlink(missing_ok=True)
        containerd.bind(str(worker_checks.CONTAINERD))
        containerd.listen()
        return {check.name: check.detail for check in worker_checks.checks(paths, worker(version)) if not check.ok}


def test_a_well_node(paths: Paths, answers: dict[str, Any]) -> None:
    assert failing(paths) == {}


@pytest.mark.parametrize(("url", "name"), [(worker_checks.KUBELET, "kubelet"), (worker_checks.PROXY, "kube-proxy")])
def test_a_program_that_does_not_answer(paths: Paths, answers: dict[str, Any], url: str, name: str) -> None:
    answers[url] = ConnectionRefusedError("refused")
    assert list(failing(paths)) == [name]


def test_containerd_that_is_not_there(paths: Paths, answers: dict[str, Any]) -> None:
    assert [check.name for check in worker_checks.checks(paths, worker()) if not check.ok] == ["containerd"]


def test_a_node_that_is_not_ready(paths: Paths, answers: dict[str, Any]) -> None:
    status = answers["https://10.64.3.5:6443/api/v1/nodes/i-1"]["status"]
    status["conditions"] = [{"type": "Ready", "status": "False", "message": "no network"}]
    assert failing(paths) == {"ready": "no network"}
    status["conditions"] = []
    assert failing(paths) == {"ready": "no condition Ready yet"}


def test_another_version(paths: Paths, answers: dict[str, Any]) -> None:
    assert failing(paths, version="1.31.0") == {"version": "runs v1.30.3, the environment wants v1.31.0"}


def test_an_api_server_that_does_not_answer(paths: Paths, answers: dict[str, Any]) -> None:
    answers["https://10.64.3.5:6443/api/v1/nodes/i-1"] = TimeoutError("timed out")
    assert "timed out" in failing(paths)["ready"]


def test_a_node_that_has_not_joined(paths: Paths, answers: dict[str, Any]) -> None:
    paths.certificate.unlink()
    assert list(failing(paths)) == ["joined"]


def test_a_node_that_does_not_know_its_place(paths: Paths, answers: dict[str, Any]) -> None:
    paths.environment.unlink()
    assert list(failing(paths)) == ["place"]
    assert worker_checks.name(paths) == ""


def test_the_command_knows_a_worker_by_its_role(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = tmp_path / "node.json"
    described.write_text(json.dumps({"role": "node"}))
    report = node.Report(machine="i-1", role="node", ready=False, checks=())
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
