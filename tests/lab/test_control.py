"""The daemon's control socket: answers that break off, and notices to spot instances."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from lab import control
from lab.__main__ import status
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


def test_a_notice_to_a_spot_instance_reaches_the_cloud(tmp_path: Path) -> None:
    given: list[tuple[str, str]] = []

    def warn(machine: str, notice: str) -> None:
        if machine != "i-1":
            raise LookupError(f"there is no spot instance {machine}")
        given.append((machine, notice))

    async def nothing() -> None:
        return None

    async def ask() -> list[tuple[int, dict[str, Any]]]:
        hypervisor: Any = None
        app = control.application(hypervisor, env="x", refresh=nothing, warn_spot=warn)
        async with TestClient(TestServer(app)) as client:
            bodies = [{"machine": name, "notice": "interruption"} for name in ("i-1", "i-2")]
            answers = [await client.post("/spot", json=body) for body in bodies]
            return [(answer.status, await answer.json()) for answer in answers]

    assert asyncio.run(ask()) == [(200, {}), (404, {"error": "there is no spot instance i-2"})]
    assert given == [("i-1", "interruption")]
