"""The watchdog of kube-apiserver: what it takes for hung, and what not."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import api_checks
import api_watchdog
import pytest
from node_config import Node

HUNG, BUSY, WELL = "timed out", "answers 500", ""


@pytest.mark.parametrize(
    ("answers", "asked"),
    [((HUNG,) * 4, 4), ((HUNG, HUNG, HUNG, WELL, HUNG, BUSY, HUNG, HUNG), 8)],
    ids=["four in a row", "one answer begins anew"],
)
def test_it_is_hung_after_four_in_a_row(answers: Sequence[str], asked: int) -> None:
    left = list(answers)
    pauses: list[float] = []
    assert api_watchdog.await_hung(lambda: left.pop(0), sleep=pauses.append) == HUNG
    assert (left, pauses) == ([], [api_watchdog.PERIOD_S] * (asked - 1))


def test_a_server_that_takes_connections_and_is_silent_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_checks, "ALIVE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        node = Node(
            machine="m", role="api", index=0, address="127.0.0.1", version="1", stores={}, port=silent.getsockname()[1]
        )
        assert "timed out" in api_checks.why_not_alive(node)
