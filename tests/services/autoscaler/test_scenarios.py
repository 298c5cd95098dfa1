"""Scenario files: pods, nodes and pools in; out come actions with reasons, why pods wait, and why idle nodes stay. Each
says in ``about`` what it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.autoscaler.decision_text import action_line
from services.autoscaler.scaling_decision import decide
from tests.services.autoscaler import scenario_format

FOLDER = Path(__file__).parent / "scenarios"


def scenarios() -> Iterator[Any]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield pytest.param(document, id=f"{path.stem}: {document['about']}")


@pytest.mark.parametrize("scenario", scenarios())
def test_scenario(scenario: dict[str, Any]) -> None:
    cluster, pools = scenario_format.snapshot(scenario)
    decision = decide(cluster, pools, scenario_format.memory(scenario.get("memory", {})), scenario_format.NOW)
    assert [action_line(action) for action in decision.actions] == scenario["actions"]
    assert [action.reason for action in decision.actions] == scenario.get("reasons", [])
    assert Counter(decision.kept.values()) == scenario.get("kept", {})
    assert decision.waits == scenario["waits"] if "waits" in scenario else {*decision.waits} <= {"MachinesRequested"}
    for group, expected in scenario.get("remembers", {}).items():
        found = getattr(decision.memory, group)
        assert (found == expected) if isinstance(expected, dict) else (sorted(found) == sorted(expected))
