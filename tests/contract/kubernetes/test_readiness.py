"""The condition Ready of a Node or a Pod."""

from __future__ import annotations

from typing import Any

import pytest

from contract.kubernetes.readiness import ReadyCondition, is_ready, ready_condition
from contract.kubernetes.times import parse_time

SINCE = "2026-11-01T12:00:00Z"


def test_it_is_read_among_others() -> None:
    others = [{"type": "MemoryPressure", "status": "True"}, {"type": "DiskPressure"}]
    silent = {"type": "Ready", "status": "Unknown", "message": "no word", "lastTransitionTime": SINCE}
    item = {"status": {"conditions": [*others, silent]}}
    assert ready_condition(item) == ReadyCondition(status="Unknown", message="no word", since=parse_time(SINCE))
    assert not is_ready(item)
    assert is_ready({"status": {"conditions": [{**silent, "status": "True"}]}})


@pytest.mark.parametrize("item", [{}, {"status": {}}, {"status": {"conditions": None}}])
def test_an_object_without_it_is_not_ready(item: dict[str, Any]) -> None:
    assert ready_condition(item) == ReadyCondition()
