"""The report of drills, from results with known figures."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from lab.drill import report
from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.observer import Figure
from lab.drill.run import ERRORS_END, DrillResult, broken_promises
from lab.drill.timing import Timing
from lab.drill.verdict import DrillVerdict
from lab.state import LabError


def _verdict(**more: object) -> dict[str, object]:
    none: tuple[str, ...] = ()
    sound = DrillVerdict(
        acknowledged=1234,
        refused=0,
        unknown=2,
        lost=none,
        ghosts=none,
        stale=0,
        fallen=0,
        unseen=none,
        disordered=0,
        relists=0,
        longest_gap_s=1.5,
        gap_began=0.0,
        longest_read_gap_s=0.5,
    )
    return asdict(sound) | more


def _result(name: str, *, errors_s: float = 0.0, failures: tuple[str, ...] = (), **more: object) -> DrillResult:
    return DrillResult(
        drill=name,
        date="2026-01-31",
        summary="a summary",
        where="e-etcd-0",
        goal_s=5.0,
        longest_gap_s=1.5,
        recovery_s=12.0,
        terms=1,
        timing=Timing(errors_s=errors_s, quiet_p99_ms=20.0, fault_p99_ms=900.0),
        figures=(Figure(what=ERRORS_END, seconds=errors_s, goal_s=5.0),),
        verdict=_verdict(**more),
        failures=failures,
    )


def test_a_row_has_the_figures_of_its_drill() -> None:
    page = report.to_markdown([_result("one"), _result("two", errors_s=7.0)])
    assert page.startswith("# Drill report\n\n2 drills on 2026-01-31, 2 safe, 0 acknowledged writes lost. Measured on ")
    assert report.machine() in page
    (one,) = [line for line in page.splitlines() if line.startswith("| one |")]
    assert one == (
        "| one | a summary (e-etcd-0) | safe | 1.5 s (5 s) | 0.0 s (5 s) | 12 s | 1,234 | 0 | 2 | 20 ms, 900 ms | 1 |"
    )
    assert "| two | a summary (e-etcd-0) | safe, slow |" in page
    columns = {line.count("|") for line in page.splitlines() if line.startswith("|")}
    assert len(columns) == 1


def test_what_was_lost_is_counted_and_told() -> None:
    page = report.to_markdown([_result("one", lost=("a", "b"), failures=("2 acknowledged writes are lost: a, b",))])
    assert "1 drills on 2026-01-31, 0 safe, 2 acknowledged writes lost." in page
    assert "- one: 2 acknowledged writes are lost: a, b" in page
    assert "| 2 | 2 | 20 ms" in page


def test_notes_of_a_fault_stand_below_the_table_and_last(tmp_path: Path) -> None:
    report.write(tmp_path, [replace(_result("events-storm"), notes=("10 Events were made",))])
    assert "Measured besides:\n\n- events-storm: 10 Events were made\n" in (tmp_path / report.PAGE).read_text(
        encoding="utf-8"
    )
    assert report.read_results(tmp_path)[0].notes == ("10 Events were made",)


def test_programs_get_the_machine_and_all_figures() -> None:
    told = json.loads(report.to_json([_result("one")]))
    assert told["machine"] == report.machine()
    (drill,) = told["drills"]
    assert (drill["passed"], drill["slow"], drill["timing"]["errors_s"]) == (True, False, 0.0)


def test_what_a_drill_promises_besides() -> None:
    drill = Drill(name="one", summary="", goal_s=1.0, fault=_never, says="words", reads_go_on=True, elections=2)
    assert list(broken_promises(drill, _verdict(), was_said=True, terms=2)) == []
    assert list(broken_promises(drill, _verdict(longest_read_gap_s=11.0), was_said=False, terms=3)) == [
        "`longhaul status` did not say 'words' within 90 s",
        "no read was answered for 11.0 s",
        "the term of the main etcd cluster rose by 3, more than 2",
    ]


def _never(_: DrillEnvironment) -> AbstractContextManager[str]:
    raise NotImplementedError


def test_a_report_keeps_the_drills_that_do_not_run_again(tmp_path: Path) -> None:
    known = [_result("leader-killed"), _result("follower-killed", errors_s=7.0)]
    report.write(tmp_path, known)
    again = report.merge(
        report.read_results(tmp_path), [_result("leader-killed", errors_s=1.0), _result("server-hung")]
    )
    assert [one.drill for one in again] == ["follower-killed", "leader-killed", "server-hung"]
    assert [one.timing.errors_s for one in again] == [7.0, 1.0, 0.0]
    assert report.to_json(again[:1]) == report.to_json(known[1:])


def test_figures_of_two_machines_do_not_stand_in_one_table(tmp_path: Path) -> None:
    assert report.read_results(tmp_path) == []
    report.write(tmp_path, [_result("leader-killed")])
    page = tmp_path / report.DATA
    page.write_text(page.read_text(encoding="utf-8").replace(report.machine(), "another machine"), encoding="utf-8")
    with pytest.raises(LabError, match="another machine"):
        report.read_results(tmp_path)
