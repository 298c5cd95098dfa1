"""An API server stops only when another one serves."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from kube_apiserver import leave as api_leave

from contract.documents.node import NodeConfig
from contract.documents.node_answers import Departure, MachineCheck

FRONTEND = "10.0.3.5:6443"


class Surroundings:
    """Surroundings of the server: the load balancer, other servers and systemd."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.healthy, self.other_answers_after = True, 0
        self.asked: list[str] = []
        self.stopped = 0
        self.returns = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        monkeypatch.setattr(api_leave.api_checks, "server", self._server)
        monkeypatch.setattr(api_leave.api_checks, "answers", self._answers)
        monkeypatch.setattr(api_leave.subprocess, "run", self._run)
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(api_leave, "RETRY_S", 0.01)

    def hurry(self, name: str) -> None:
        """Shorten a wait whose event never comes; events that come are waited for in full."""
        self._monkeypatch.setattr(api_leave, name, 0.2)

    @property
    def node(self) -> NodeConfig:
        port = self._listener.getsockname()[1]
        return NodeConfig(
            machine="e-api-0", role="api", index=0, address="10.0.3.10", version="1.30.3", stores={}, port=port
        )

    def leave(self) -> Departure:
        return api_leave.leave(self._node, frontend=FRONTEND, pki=Path("/nowhere"))

    def __enter__(self) -> Surroundings:
        self._node = self.node
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _server(self, _node: NodeConfig, *, pki: Path) -> MachineCheck:
        return MachineCheck(name="kube-apiserver", ok=self.healthy, detail="")

    def _answers(self, frontend: str, *, pki: Path) -> bool:
        self.asked.append(frontend)
        return len(self.asked) > self.other_answers_after

    def _run(self, command: list[str], *, check: bool) -> None:
        assert check
        if command == ["systemctl", "restart", "kube-apiserver-return.timer"]:
            self.returns = True
            return
        assert command == ["systemctl", "--no-block", "stop", "kube-apiserver.service"]
        assert self.returns, "it would not come back where the stop is the last that happens"
        self.stopped += 1
        if self.stopped == 1:
            self._listener.close()


def test_it_waits_for_another_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    with Surroundings(monkeypatch) as surroundings:
        surroundings.other_answers_after = 3
        assert surroundings.leave().left
        assert (surroundings.asked, surroundings.stopped) == ([FRONTEND] * 4, 1)
        assert surroundings.returns


def test_it_stays_when_no_other_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    with Surroundings(monkeypatch) as surroundings:
        surroundings.other_answers_after = 10**6
        surroundings.hurry("WAIT_S")
        departure = surroundings.leave()
        assert not departure.left
        assert departure.reason == f"no other API server answers at {FRONTEND}"
        assert surroundings.stopped == 0
        assert not surroundings.returns


def test_one_that_serves_nobody_has_nothing_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    with Surroundings(monkeypatch) as surroundings:
        surroundings.healthy = False
        assert surroundings.leave().left
        assert (surroundings.asked, surroundings.stopped) == ([], 0)


def test_one_that_does_not_stop_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with Surroundings(monkeypatch) as surroundings:
        surroundings.stopped = 1  # The listener stays.
        surroundings.hurry("STOP_S")
        departure = surroundings.leave()
        assert not departure.left
        assert "still accepts connections" in departure.reason
