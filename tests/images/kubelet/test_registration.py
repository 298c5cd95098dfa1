"""A node whose Node was deleted has its kubelet restarted; any other node has not."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
from email.message import Message
from pathlib import Path

import pytest
from kubelet import registration as node_registered
from kubelet.registration import CACHED
from node import checks as worker_checks

from contract.documents.node import Worker
from tests.images.node.test_checks import WORKER


def answered(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("https://10.64.3.5:6443", code, "so it says", Message(), None)


@pytest.mark.parametrize(
    ("answers", "asked", "gone"),
    [
        ([None], [CACHED], False),
        ([answered(404), answered(404)], [CACHED, ""], True),
        ([answered(404), None], [CACHED, ""], False),
        ([answered(401)], [CACHED], False),
        ([answered(403)], [CACHED], False),
        ([answered(503)], [CACHED], False),
        ([TimeoutError("timed out")], [CACHED], False),
        ([answered(404), ConnectionRefusedError("refused")], [CACHED, ""], False),
    ],
    ids=["there", "deleted", "back by itself", "unknown", "forbidden", "unwell", "silent", "silent later"],
)
def test_only_a_404_that_lasts_counts(
    monkeypatch: pytest.MonkeyPatch, answers: list[Exception | None], asked: list[str], gone: bool
) -> None:
    queries: list[str] = []

    def read(_paths: object, _worker: Worker, name: str, *, query: str) -> dict[str, object]:
        assert name == "i-1"
        queries.append(query)
        answer = answers[len(queries) - 1]
        if answer is not None:
            raise answer
        return {}

    monkeypatch.setattr(worker_checks, "read_node", read)
    paths, pauses = worker_checks.WorkerPaths(), list[float]()
    found = node_registered.stays_gone(
        lambda query: node_registered.is_gone(paths, WORKER, "i-1", query=query), grace_s=100.0, sleep=pauses.append
    )
    assert (found, queries) == (gone, asked)
    assert all(75 <= pause <= 125 for pause in pauses)
    assert len(pauses) == len(asked) - 1


@pytest.mark.parametrize("state", ["deleted", "there", "has no certificate", "has no place"])
def test_the_kubelet_is_restarted_only_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: str) -> None:
    paths = worker_checks.WorkerPaths(environment=tmp_path / "node.env", certificate=tmp_path / "certificate.pem")
    if state != "has no place":
        paths.environment.write_text("NODE_NAME=i-1\n")
    if state != "has no certificate":
        paths.certificate.touch()
    ran: list[list[str]] = []

    def run(argv: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        ran.append(argv)
        return subprocess.CompletedProcess(argv, int(check))

    monkeypatch.setattr(worker_checks, "WorkerPaths", lambda: paths)
    monkeypatch.setattr(Worker, "read", lambda: WORKER)
    monkeypatch.setattr(node_registered, "stays_gone", lambda _gone, *, grace_s: state == "deleted" and grace_s == 120)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["kubelet.registration"])
    assert node_registered.main() == 0
    restarted = [["systemctl", "try-restart", "--no-block", "kubelet.service"]]
    assert ran == (restarted if state == "deleted" else [])
