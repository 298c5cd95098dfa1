"""The daemon's control socket: answers that break off, notices to spot instances, and the switch of the policies."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp.test_utils import TestClient, TestServer

from lab import control
from lab.__main__ import status
from lab.hypervisor import LabHypervisor
from lab.state import InitRecord, LabState

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", HEAD, HEAD + b'{"re'])
def test_an_answer_that_breaks_off_is_none(tmp_path: Path, answer: bytes) -> None:
    state = LabState.of("x", root=tmp_path)
    state.create()
    InitRecord.of(os.getpid(), port=1).write(state)
    listener = control.listener(state)
    listener.setblocking(True)

    def die() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    daemon = threading.Thread(target=die)
    daemon.start()
    found = status(state)
    daemon.join()
    listener.close()
    assert found["daemon"]["running"] is False
    assert found["daemon"]["error"]


class Ordered:
    """Switches that remember how they were turned. There is one spot instance, ``i-1``."""

    def __init__(self) -> None:
        self.turned: list[tuple[str, ...]] = []

    def warn_spot(self, instance_id: str, notice: str) -> None:
        if instance_id != "i-1":
            raise LookupError(f"there is no spot instance {instance_id}")
        self.turned.append((instance_id, notice))

    def limit_machines(self, kind: str, zone: str, count: int | None, error: str) -> None:
        if error == "NoSuchError":
            raise ValueError("choose another")
        self.turned.append((kind, zone, str(count), error))

    def govern(self, action: str) -> None:
        self.turned.append((action,))


async def order(switches: Ordered, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    async def refresh() -> None:
        raise AssertionError

    app = control.application(cast("LabHypervisor", None), env="x", refresh=refresh, switches=switches)
    async with TestClient(TestServer(app)) as client:
        answer = await client.post(path, json=body)
        return answer.status, await answer.json()


def test_a_notice_to_a_spot_instance_reaches_the_cloud() -> None:
    switches = Ordered()
    assert asyncio.run(order(switches, "/spot", {"machine": "i-1", "notice": "interruption"})) == (200, {})
    answer = asyncio.run(order(switches, "/spot", {"machine": "i-2", "notice": "interruption"}))
    assert answer == (404, {"error": "there is no spot instance i-2"})
    assert switches.turned == [("i-1", "interruption")]


@pytest.mark.parametrize(("action", "status"), [("on", 200), ("remediate", 200), ("perhaps", 400), (None, 400)])
def test_policies_are_switched(action: str | None, status: int) -> None:
    switches = Ordered()
    assert asyncio.run(order(switches, "/policy", {"action": action}))[0] == status
    assert switches.turned == ([(action,)] if status == 200 else [])


def test_a_cloud_runs_out_of_machines() -> None:
    switches = Ordered()
    none = {"type": "m7i.large", "zone": "us-east-1a", "count": 0, "error": "VcpuLimitExceeded"}
    assert asyncio.run(order(switches, "/capacity", none)) == (200, {})
    assert asyncio.run(order(switches, "/capacity", {"type": "Standard_D8s_v5"})) == (200, {})
    assert switches.turned == [
        ("m7i.large", "us-east-1a", "0", "VcpuLimitExceeded"),
        ("Standard_D8s_v5", "", "None", ""),
    ]
    for wrong in ({**none, "error": "NoSuchError"}, {**none, "count": "many"}, {**none, "count": -1}):
        assert asyncio.run(order(switches, "/capacity", wrong))[0] == 400
