"""The end of the wait for a machine that will not become ready."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.control_plane import readiness


class Answers:
    """A cloud whose machine gives one answer after the other, the last one for ever."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(answers)

    def run_command(self, *_names: str, timeout_s: float) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return type("Output", (), {"stdout": json.dumps(answer), "stderr": ""})


def check(name: str, *, final: bool) -> dict[str, Any]:
    return {
        "machine": "m-0",
        "role": "etcd",
        "ready": False,
        "checks": [{"name": name, "ok": False, "detail": "it says why", "final": final}],
    }


def test_what_no_waiting_changes_ends_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("components.control_plane.readiness.time.sleep", pauses.append)
    cloud = Answers(check("started", final=False), check("disk", final=True))
    with pytest.raises(readiness.NotReadyError, match="m-0 will not be ready: disk: it says why"):
        readiness.await_ready(cloud, machine="m-0", deadline_s=900)
    assert pauses == [readiness.PAUSE_S]
    assert len(cloud.answers) == 1
