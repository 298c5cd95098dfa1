"""docs/policy.md says what the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.policy import RULES
from longhaul.policy.reference import BEGIN, END, filled, main, tables
from longhaul.policy.waivers import WHY


def test_the_page_has_the_rules_as_they_are(root: Path) -> None:
    page = (root / "docs" / "policy.md").read_text(encoding="utf-8")
    assert page == filled(page), "run: python -m longhaul.policy.reference"
    assert main(["--check"]) == 0


def test_every_rule_is_in_the_tables_once() -> None:
    rows = [line for line in tables().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [rule.id for rule in RULES]


def test_findings_about_waivers_are_on_the_page(root: Path) -> None:
    page = (root / "docs" / "policy.md").read_text(encoding="utf-8")
    assert all(f"`{rule}`" in page for rule in WHY)


def test_what_is_between_the_marks_is_replaced_and_nothing_else() -> None:
    assert filled(f"before\n{BEGIN}old\n{END}after\n") == f"before\n{BEGIN}{tables()}{END}after\n"


@pytest.mark.parametrize("page", ["no marks\n", f"{BEGIN}no end\n", f"{END}{BEGIN}"])
def test_a_page_without_a_mark_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match=r"docs/policy\.md"):
        filled(page)
