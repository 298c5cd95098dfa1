"""The daemon's control: an answer that breaks off, and the switch of the policies."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import cast

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


@pytest.mark.parametrize(("action", "status"), [("on", 200), ("remediate", 200), ("perhaps", 400), (None, 400)])
def test_policies_are_switched(action: str | None, status: int) -> None:
    ordered: list[str] = []

    async def refresh() -> None:
        raise AssertionError

    async def order() -> int:
        hypervisor = cast("LabHypervisor", None)
        app = control.application(hypervisor, env="x", refresh=refresh, govern=ordered.append)
        async with TestClient(TestServer(app)) as client:
            answer = await client.post("/policy", json={"action": action})
            return answer.status

    assert asyncio.run(order()) == status
    assert ordered == ([action] if status == 200 else [])
