"""docs/symptoms.md: its rows are those that ``status`` takes its commands from, and there is a row for each reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.reasons.status import StatusReason
from longhaul.status.symptoms import NO_FAULTS, SYMPTOMS, table


@pytest.fixture(name="page")
def _page(root: Path) -> str:
    return (root / "docs" / "symptoms.md").read_text(encoding="utf-8")


def test_the_rows_are_those_of_status(page: str) -> None:
    shown = page.partition("<!-- symptoms -->\n")[2].partition("\n<!-- end of symptoms -->")[0]
    assert shown == table()


def test_each_reason_has_a_row_or_is_no_fault(page: str) -> None:
    with_row = {reason for symptom in SYMPTOMS for reason in symptom.reasons}
    assert with_row.isdisjoint(NO_FAULTS)
    assert with_row | NO_FAULTS.keys() == {*StatusReason}
    beside = page.partition("<!-- end of symptoms -->")[2]
    assert [reason for reason in NO_FAULTS if f"`{reason}`" not in beside] == []
