"""The verifier on a real API server: it finds what is lost behind its back, and how long nothing answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from lab import tools
from lab.drill.journal import DrillJournal, read
from lab.drill.verdict import DrillVerdict, judge
from lab.drill.verifier import INTERVAL_S, LoadVerifier
from tests.support.api_server import ApiServer, api_server, eventually

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    binaries = tools.ensure(
        ["etcd", "kube-apiserver", "kubectl"], log_dir=tmp_path_factory.mktemp("tools"), progress=print
    )
    folder = tmp_path_factory.mktemp("cluster")
    with api_server(folder, tools=binaries, services=IPv4Network("10.79.0.0/17")) as server:
        yield server


def _verdict(server: ApiServer, folder: Path, meanwhile: Callable[[DrillJournal], object]) -> DrillVerdict:
    journal = DrillJournal(folder / "journal.jsonl")
    verifier = LoadVerifier(lambda: server.client(timeout_s=10.0), journal)
    verifier.make()
    verifier.run(lambda: meanwhile(journal))
    journal.close()
    try:
        return judge(read(folder / "journal.jsonl"), verifier.read_back(), interval_s=INTERVAL_S)
    finally:
        verifier.remove()


def _await_writes(journal: DrillJournal, number: int = 40) -> None:
    wanted = journal.acknowledged + number
    eventually(lambda: journal.acknowledged >= wanted, what="writes are acknowledged")


def test_a_quiet_cluster_is_safe(server: ApiServer, tmp_path: Path) -> None:
    verdict = _verdict(server, tmp_path, _await_writes)
    assert verdict.safe, verdict
    assert verdict.acknowledged > 0


def test_a_write_that_vanishes_is_told(server: ApiServer, tmp_path: Path) -> None:
    def lose_one(journal: DrillJournal) -> None:
        _await_writes(journal)
        found = server.get("configmaps", "--all-namespaces")["items"]
        # No controller here empties the namespaces of the tests before.
        same = [one["metadata"] for one in found if one["metadata"]["name"] == "w0-0"]
        victim = max(same, key=lambda one: int(one["resourceVersion"]))
        server.kubectl("delete", "configmap", victim["name"], f"--namespace={victim['namespace']}")

    verdict = _verdict(server, tmp_path, lose_one)
    assert verdict.lost == ("w0-0",)
    assert not verdict.safe


def test_a_server_that_stands_still_is_a_gap_and_nothing_is_lost(server: ApiServer, tmp_path: Path) -> None:
    stood: list[float] = []

    def pause(journal: DrillJournal) -> None:
        _await_writes(journal)
        began = time.monotonic()
        server.pause()
        # The fault has to last; there is no condition to wait for.
        time.sleep(2.0)
        stood.append(time.monotonic() - began)
        server.resume()
        _await_writes(journal)

    verdict = _verdict(server, tmp_path, pause)
    assert verdict.safe, verdict
    assert verdict.longest_gap_s >= stood[0] - INTERVAL_S
