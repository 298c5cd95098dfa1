"""Pods before and after a drill."""

from __future__ import annotations

from typing import Any

from lab.drill.pods import disturbances, running


def _pod(name: str, *, uid: str = "1", phase: str = "Running", restarts: int = 0) -> dict[str, Any]:
    container = {"containerID": f"containerd://{name}", "restartCount": restarts}
    return {
        "metadata": {"namespace": "team", "name": name, "uid": uid},
        "status": {"phase": phase, "containerStatuses": [container]},
    }


def test_pods_that_run_on_are_not_told() -> None:
    before = running([_pod("a"), _pod("waits", phase="Pending")])
    assert set(before) == {"team/a"}
    assert disturbances(before, running([_pod("a"), _pod("waits"), _pod("new")])) == ()


def test_a_pod_that_is_gone_restarted_or_replaced_is_told() -> None:
    before = running([_pod("gone"), _pod("restarted"), _pod("replaced")])
    after = running([_pod("restarted", restarts=1), _pod("replaced", uid="2")])
    assert disturbances(before, after) == (
        "team/gone is gone",
        "team/replaced was restarted or replaced",
        "team/restarted was restarted or replaced",
    )
