"""Only one roll of a pool runs at a time."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest

from contract.kubernetes.connection import ApiError
from contract.kubernetes.lease import LEASES
from longhaul.cluster import locks as module
from longhaul.cluster.locks import pool_lock
from longhaul.engine.processes import hostname, namespace
from longhaul.terminal.exits import CommandError
from tests.support.pool import FakeCluster
from tests.support.project import eventually


@pytest.fixture(name="cluster")
def _cluster() -> FakeCluster:
    return FakeCluster()


@pytest.mark.parametrize("holder", ["elsewhere/pid:[1]/1", "elsewhere"])
def test_the_turn_of_a_run_that_was_killed_elsewhere_ends_in_time(cluster: FakeCluster, holder: str) -> None:
    _held_by(cluster, holder, renewed=cluster.now())
    with pytest.raises(CommandError, match="pool cpu is being rolled by elsewhere"), pool_lock(cluster, "cpu"):
        pass
    _held_by(cluster, holder, renewed=cluster.now() - timedelta(minutes=2))
    with pool_lock(cluster, "cpu") as held:
        assert held()


def test_the_turn_of_a_run_that_was_killed_here_ends_with_it(cluster: FakeCluster) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    _held_by(cluster, f"{hostname()}/{namespace()}/{gone.pid}", renewed=cluster.now())
    with pool_lock(cluster, "cpu") as held:
        assert held()
    _held_by(cluster, f"{hostname()}/{namespace()}/{os.getpid()}", renewed=cluster.now())
    with pytest.raises(CommandError, match=f"process {os.getpid()}:"), pool_lock(cluster, "cpu"):
        pass
    _held_by(cluster, "", renewed=cluster.now())


def _held_by(cluster: FakeCluster, holder: str, *, renewed: datetime) -> None:
    with suppress(ApiError):
        metadata = {"name": "longhaul-roll-cpu", "namespace": "kube-system"}
        cluster.post(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})
    at = renewed.isoformat(timespec="microseconds")
    cluster.patch(
        f"{LEASES}/longhaul-roll-cpu",
        {"spec": {"holderIdentity": holder, "renewTime": at, "leaseDurationSeconds": 60}},
    )


def test_the_hosts_turn_has_the_name_that_it_always_had(cluster: FakeCluster) -> None:
    with pool_lock(cluster, "hosts"):
        assert set(cluster.leases) == {"longhaul-roll-bare-metal"}


def test_a_turn_that_somebody_else_took_is_lost(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.01)
    with pool_lock(cluster, "cpu") as held:
        _held_by(cluster, "elsewhere/pid:[1]/1", renewed=cluster.now())
        eventually(lambda: not held())
    assert cluster.leases["longhaul-roll-cpu"]["spec"]["holderIdentity"] == "elsewhere/pid:[1]/1"


def test_silence_loses_no_turn(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_S", 0.01)
    with pool_lock(cluster, "cpu") as held:
        asked = threading.Semaphore(0)
        renew = cluster.patch

        def counted(path: str, body: dict[str, Any]) -> dict[str, Any]:
            try:
                return renew(path, body)
            finally:
                asked.release()

        monkeypatch.setattr(cluster, "patch", counted)
        cluster.down = ApiError("no answer")
        assert all(asked.acquire(timeout=30) for _ in range(3))
        assert held()
        cluster.down = None
        assert all(asked.acquire(timeout=30) for _ in range(3))
        assert held()
