"""docs/symptoms.md: its rows are those that ``status`` takes its commands from."""

from __future__ import annotations

from pathlib import Path

from longhaul.status.symptoms import table


def test_the_rows_are_those_of_status(root: Path) -> None:
    page = (root / "docs" / "symptoms.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- symptoms -->\n")[2].partition("\n<!-- end of symptoms -->")[0]
    assert shown == table()
