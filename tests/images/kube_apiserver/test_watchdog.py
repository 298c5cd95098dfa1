"""The watchdog of kube-apiserver: what it takes for hung, and what not."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kube_apiserver import checks as api_checks
from kube_apiserver import watchdog as api_watchdog

from contract.documents.node import NodeConfig

HUNG, WELL = "timed out", ""


def at(server: socket.socket) -> NodeConfig:
    return NodeConfig(
        machine="m", role="api", index=0, address="127.0.0.1", version="1", stores={}, port=server.getsockname()[1]
    )


@pytest.mark.parametrize(
    ("answers", "asked"),
    [((HUNG,) * 8, 8), ((*(HUNG,) * 7, WELL, *(HUNG,) * 8), 16)],
    ids=["eight in a row", "one answer begins anew"],
)
def test_it_is_hung_after_eight_in_a_row(answers: Sequence[str], asked: int) -> None:
    left = list(answers)
    pauses: list[float] = []
    assert api_watchdog.await_hung(lambda: left.pop(0), sleep=pauses.append) == HUNG
    assert (left, pauses) == ([], [api_watchdog.PERIOD_S] * (asked - 1))


@pytest.mark.parametrize("said", [b"HTTP/1.1 500 Internal Server Error\r\n\r\n", b""], ids=["no TLS", "closed"])
def test_a_server_that_says_anything_or_ends_the_connection_is_not_silent(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with ThreadPoolExecutor(max_workers=1) as pool:
            asked = pool.submit(api_checks.why_silent, at(server))
            connection, _ = server.accept()
            with connection:
                connection.sendall(said)
            assert asked.result() == ""
        node = at(server)
    assert api_checks.why_silent(node) == "", "one that does not run is systemd's affair"


def test_after_a_kill_it_is_left_alone_for_a_while(tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    assert api_watchdog.spared_s(killed, 1000.0) == 0
    killed.touch()
    os.utime(killed, (1000.0, 1000.0))
    ages = (0.0, 100.0, api_watchdog.APART_S, -5000.0)
    assert [api_watchdog.spared_s(killed, 1000.0 + age) for age in ages] == [900, 800, 0, 900]


def test_a_server_that_takes_connections_and_says_nothing_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_checks, "ALIVE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "timed out" in api_checks.why_silent(at(silent))
