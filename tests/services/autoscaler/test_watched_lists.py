"""Changes of nodes that make a decision due at once, and others."""

from __future__ import annotations

from typing import Any

import pytest

from contract.annotations import KEEP, ROLL, SCALE_IN
from services.autoscaler.watched_lists import makes_decision_due


def node(**given: Any) -> dict[str, Any]:
    """Return a node as it is kept."""
    return {
        "metadata": {"name": "n", "annotations": given.get("annotations", {})},
        "spec": given.get("spec", {}),
        "status": {
            "allocatable": given.get("allocatable", {"nvidia.com/gpu": "8"}),
            "conditions": [
                {"type": "Ready", "status": given.get("ready", "True"), "lastHeartbeatTime": given.get("at", "12:00")}
            ],
        },
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"annotations": {KEEP: "ada"}},
        {"annotations": {SCALE_IN: "2026-03-01T11:55:00Z"}},
        {"annotations": {ROLL: "v2"}},
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}},
        {"allocatable": {"nvidia.com/gpu": "7"}},
        {"ready": "Unknown"},
    ],
)
def test_what_a_decision_depends_on_is_news(changed: dict[str, Any]) -> None:
    assert makes_decision_due(node(), node(**changed))
    assert makes_decision_due(node(**changed), node())


@pytest.mark.parametrize("changed", [{"at": "12:05"}, {"annotations": {"node.alpha.kubernetes.io/ttl": "15"}}])
def test_reports_and_others_annotations_are_none(changed: dict[str, Any]) -> None:
    assert not makes_decision_due(node(), node(**changed))
