"""Journal, repeats and pauses of the autoscaler."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from contract.reasons.autoscaler import GrowthReason
from services.autoscaler.decision_log import DecisionLog
from services.autoscaler.repeated_lines import AGAIN_S, RepeatedLines
from services.autoscaler.request_pauses import GroupPauses
from services.autoscaler.scaling_actions import ScalingAction, Verb

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_time_in_words_makes_them_no_news() -> None:
    clock = Clock()
    repeats = RepeatedLines(clock=clock)
    assert repeats.is_new("pod", "asked west for 4 p5 40 s ago")
    assert not repeats.is_new("pod", "asked west for 4 p5 2 min ago")
    assert repeats.is_new("pod", "asked west for 5 p5 2 min ago")
    assert repeats.is_new("other", "asked west for 5 p5 2 min ago")
    clock.now = AGAIN_S
    repeats.forget()
    assert repeats.is_new("pod", "asked west for 5 p5 2 min ago")


def test_pauses_double_and_end_with_an_answer() -> None:
    clock = Clock()
    patience = GroupPauses(clock=clock)
    patience.failed("west", "throttled")
    patience.failed("west", "throttled too")
    assert patience.closed("west") == "throttled; it is asked again in 5 s"
    assert patience.closed("east") == ""
    clock.now = 5.0
    assert patience.closed("west") == ""
    patience.failed("west", "silent")
    assert patience.closed("west") == "silent; it is asked again in 10 s"
    patience.answered("west")
    assert patience.closed("west").endswith(" in 10 s"), "what is answered in a pause was asked before it"
    clock.now = 15.0
    patience.answered("west")
    patience.failed("west", "silent")
    assert patience.closed("west").endswith(" in 5 s")
    for _ in range(20):
        clock.now += 300
        patience.failed("west", "silent")
    assert patience.closed("west").endswith(" in 300 s")


def test_a_line_for_people_and_one_for_programs() -> None:
    grow = ScalingAction(
        verb=Verb.GROW,
        target="prod-h100",
        pool="h100",
        was=0,
        size=2,
        reason=GrowthReason.PODS_WAIT,
        message="for team/a",
    )
    plain: list[str] = []
    decision_log = DecisionLog(plain.append, as_json=False, now=lambda: NOW)
    for _ in range(2):
        decision_log.decided(grow)
    decision_log.not_done(grow, "its size is 1 and no longer 0")
    assert plain == [
        "grow prod-h100 from 0 to 2: for team/a",
        "not done: grow prod-h100 from 0 to 2: its size is 1 and no longer 0",
    ]
    assert (decision_log.failures(), decision_log.failures()) == (1, 0)
    lines: list[str] = []
    DecisionLog(lines.append, as_json=True, now=lambda: NOW).done(grow)
    assert json.loads(lines[0]) == {
        "time": "2026-03-01T12:00:00.000+00:00",
        "action": "grow",
        "target": "prod-h100",
        "reason": "PodsWait",
        "message": "for team/a",
        "pool": "h100",
        "was": 0,
        "size": 2,
        "done": True,
    }
