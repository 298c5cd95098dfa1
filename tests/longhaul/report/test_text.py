"""Tables, wrapped lines and counts, as every command prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from clouds.base.findings import Severity
from clouds.base.phrases import counted, names
from longhaul.report.text import COLOURS, PLAIN, WIDTH, Marked, seen_from, table, wrapped
from longhaul.terminal.printable import one_line, printable
from longhaul.terminal.say import say


def test_columns_are_aligned_and_numbers_end_alike() -> None:
    lines = table(("NAME", "COST"), [("a", "5.00"), ("longer", "1,234.00")], right=(1,), indent="")
    assert lines == ["NAME        COST", "a           5.00", "longer  1,234.00"]


def test_a_table_needs_no_head_and_no_rows() -> None:
    assert table((), [("a", "b")]) == ["  a  b"]
    assert table((), []) == []


def test_the_last_column_is_wrapped_below_itself() -> None:
    lines = table(("A", "B"), [("x", " ".join(["word"] * 30))])
    assert len(lines) == 3
    assert all(len(line) <= WIDTH for line in lines)
    assert lines[2].index("word") == lines[1].index("word")


def test_other_columns_are_wrapped_where_that_is_not_enough() -> None:
    lines = table(("A", "B", "C"), [("one " * 20, "two " * 20, "x" * 30), ("-", "-", "-")])
    assert all(len(line) <= WIDTH for line in lines)
    assert " ".join(lines).split().count("one") == " ".join(lines).split().count("two") == 20


def test_without_a_width_nothing_is_wrapped() -> None:
    assert len(table(("A", "B"), [("x", "word " * 30)], width=None)) == 2


@pytest.mark.parametrize("severity", Severity)
def test_a_marked_cell_has_its_colour_where_that_is_wanted(severity: Severity) -> None:
    rows = [("a", Marked("well", severity), "b")]
    assert table((), rows, indent="", colour=True) == [f"a  {COLOURS[severity]}well{PLAIN}  b"]
    assert table((), rows, indent="") == ["a  well  b"]


def test_names_are_few() -> None:
    assert names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_things_are_counted_in_words() -> None:
    assert [counted(number, "node") for number in (0, 1, 7500)] == ["0 nodes", "1 node", "7,500 nodes"]
    assert counted(0, "problem", none="no") == "no problems"


def test_a_path_is_seen_from_a_folder_above_it() -> None:
    assert seen_from(Path("/a"), Path("/a/b/c")) == Path("b/c")
    assert seen_from(Path("/a"), Path("/b/c")) == Path("/b/c")


def test_a_file_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[31mb\nc\x07", unicode=True) == "a?[31mb\nc?"
    assert printable("é × ┌", unicode=False) == "? x +"


FORGED = "Ready\x1b[2J\x9b1m\r\nnode-9\tok\u202e\u2028"
"""Words of a hostile node: control sequences, a row of its own, and a turn of what follows."""
SHOWN = "Ready?[2J?1m  node-9 ok? "


@pytest.mark.parametrize("width", [None, WIDTH])
def test_what_is_said_elsewhere_forges_no_row_and_steers_no_terminal(
    width: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert one_line(FORGED) == SHOWN
    (line,) = table((), [("a", Marked(FORGED, Severity.OK), FORGED)], indent="", width=width, colour=True)
    assert line.removeprefix(f"a  {COLOURS[Severity.OK]}").replace(PLAIN, "").split() == SHOWN.split() * 2
    assert " ".join(wrapped(FORGED)).split() == SHOWN.split()
    say(f"refused: {FORGED}")
    assert capsys.readouterr().err.split() == ["longhaul:", "refused:", *SHOWN.split()]
