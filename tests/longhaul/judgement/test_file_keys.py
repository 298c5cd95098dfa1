"""Keys that the file's findings cover when there is no state."""

from __future__ import annotations

from typing import Any

from longhaul.judgement.file_keys import file_consequences, interrupts_nothing
from longhaul.judgement.without_state import file_changes
from tests.longhaul.judgement.steps import lab


def vpn(raw: dict[str, Any]) -> None:
    raw["vpn"] = {"machine_type": "Standard_D2s_v5"}


def larger_vpn(raw: dict[str, Any]) -> None:
    raw["vpn"] = {"machine_type": "Standard_D4s_v5"}


def test_a_key_of_machines_that_go_is_not_covered_without_a_finding() -> None:
    before, after = lab(vpn), lab()
    changed = file_changes(before, after)
    known = file_consequences(before, after, changed)
    assert "vpn.machine_type" in {key.path for key in changed}
    assert (known.findings, known.paths) == ((), frozenset())
    assert not any(interrupts_nothing(key, before) for key in changed)


def test_a_key_of_machines_that_are_replaced_is_covered() -> None:
    before, after = lab(vpn), lab(larger_vpn)
    known = file_consequences(before, after, file_changes(before, after))
    assert [finding.lines for finding in known.findings] == [("vpn.machine_type: Standard_D2s_v5 -> Standard_D4s_v5",)]
    assert known.paths == {"vpn.machine_type"}
