"""Output of a long command about its steps."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from lab.steps import LabSteps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_step_is_one_plain_line_where_there_is_no_terminal(tmp_path: Path) -> None:
    out = io.StringIO()
    with LabSteps(log_dir=tmp_path, out=out).step("base image"):
        pass
    assert re.fullmatch(r"\[ +\d+\.\d s\] base image\n", out.getvalue())


def test_progress_is_shown_and_kept_in_the_steps_own_log(tmp_path: Path) -> None:
    out = io.StringIO()
    with LabSteps(log_dir=tmp_path, out=out).step("Pinned tools (all)") as step:
        step.say("etcd: built")
        step.write("only for the log")
        step.note = "7 tools"
    assert step.log == tmp_path / "pinned-tools-all.log"
    assert step.log.read_text() == "etcd: built\nonly for the log\n"
    first, second = out.getvalue().splitlines()
    assert first.endswith("s]   etcd: built")
    assert second.endswith("s] Pinned tools (all) (7 tools)")


def test_a_failed_step_says_so_and_its_error_goes_on(tmp_path: Path) -> None:
    out = io.StringIO()
    steps = LabSteps(log_dir=tmp_path, out=out)
    with pytest.raises(ValueError, match="why"), steps.step("packages"):
        raise ValueError("why")
    assert out.getvalue().endswith("s] packages: failed\n")
    assert steps.done[0].failed


def test_a_log_begins_afresh(tmp_path: Path) -> None:
    for line in ("first", "second"):
        with LabSteps(log_dir=tmp_path, out=io.StringIO()).step("x") as step:
            step.write(line)
    assert (tmp_path / "x.log").read_text() == "second\n"


def test_a_terminal_shows_the_running_step_and_keeps_one_line_of_it(tmp_path: Path) -> None:
    out = Terminal()
    with LabSteps(log_dir=tmp_path, out=out).step("base image"):
        pass
    *ticks, last = out.getvalue().split("\r\x1b[K")
    assert ticks[-1].endswith("base image …")
    assert last.endswith("base image\n")


def test_the_table_has_every_step_and_the_whole(tmp_path: Path) -> None:
    steps = LabSteps(log_dir=tmp_path, out=io.StringIO())
    for title in ("packages", "pinned tools"):
        with steps.step(title):
            pass
    rows = [re.sub(r" +\d+\.\d s$", "", line) for line in steps.table().splitlines()]
    assert rows == ["packages", "pinned tools", "in all"]
