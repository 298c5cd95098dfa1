"""docs/policy.md agrees with the rules."""

from __future__ import annotations

from pathlib import Path

from clouds.base.policy_rules import RULES
from components.model.policy.judging import WHY, rules_tables


def test_every_rule_is_in_the_tables_once(root: Path) -> None:
    rows = [line for line in rules_tables().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [rule.id for rule in RULES]
    assert rules_tables() in (root / "docs" / "policy.md").read_text(encoding="utf-8")


def test_findings_about_waivers_are_on_the_page(root: Path) -> None:
    page = (root / "docs" / "policy.md").read_text(encoding="utf-8")
    assert all(f"`{rule}`" in page for rule in WHY)
