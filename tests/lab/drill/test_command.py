"""The choice of drills, and what is told of one."""

from __future__ import annotations

import json

import pytest

from lab.drill.catalogue import DRILLS
from lab.drill.command import select_drills
from lab.drill.observer import Figure
from lab.drill.report import to_json, to_markdown
from lab.drill.run import DrillResult
from lab.drill.timing import Timing

LONG = "site-cut-off-20-min"


def test_all_leaves_long_ones_out_unless_they_are_asked_for() -> None:
    assert set(DRILLS) - set(select_drills(["all"], long=False)) == {LONG}
    assert set(select_drills(["all"], long=True)) == set(DRILLS)


def test_a_long_one_that_is_named_is_done_and_each_once() -> None:
    assert select_drills([LONG, "leader-killed", LONG], long=False) == [LONG, "leader-killed"]


def _result(seconds: float) -> DrillResult:
    return DrillResult(
        drill="site-cut-off",
        date="2026-01-31",
        summary="cut",
        where="gw-0",
        goal_s=1.0,
        longest_gap_s=0.5,
        recovery_s=3.0,
        terms=0,
        timing=Timing(errors_s=0.0, quiet_p99_ms=20.0, fault_p99_ms=900.0),
        verdict={"acknowledged": 1, "lost": [], "unknown": 0},
        figures=(Figure(what="traffic back after", seconds=seconds, goal_s=15.0),),
        moved=("team/usual is gone",),
        failures=(),
    )


@pytest.mark.parametrize(("seconds", "slow"), [(14.0, False), (16.0, True)])
def test_a_late_return_of_traffic_is_slow_and_no_failure(seconds: float, slow: bool) -> None:
    result = _result(seconds)
    (told,) = json.loads(to_json([result]))["drills"]
    assert (told["passed"], told["slow"]) == (True, slow)
    assert told["figures"] == [{"what": "traffic back after", "seconds": seconds, "goal_s": 15.0}]


def test_the_page_has_what_was_measured_besides_and_which_pods_were_moved() -> None:
    page = to_markdown([_result(16.0)])
    assert "- site-cut-off: traffic back after 16.0 s (goal 15 s)" in page
    assert "- site-cut-off: team/usual is gone, as it tolerates" in page
    assert "must hold and did not" not in page
