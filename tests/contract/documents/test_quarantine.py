"""The list of machines in quarantine."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from contract.documents.quarantine import CERTIFICATE, Quarantine, Quarantined, format_time
from contract.vault import LARGEST

NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)


def entry(name: str = "i-1", **more: object) -> Quarantined:
    return Quarantined(**{"name": name, "site": "use1", "since": format_time(NOW), **more})  # type: ignore[arg-type]


def test_it_is_read_as_it_was_written() -> None:
    held = Quarantine(machines=(entry(kept=("i-1", "vol-1"), done=True), entry("lab-node-0")))
    assert Quarantine.parse(held.text()) == held
    assert Quarantine.parse(Quarantine().text()) == Quarantine()


def test_its_users_are_a_list_that_kubernetes_expressions_read() -> None:
    users = json.loads(Quarantine(machines=(entry(), entry("lab-node-0"))).text())["users"]
    assert users == '["system:node:i-1", "system:node:lab-node-0"]'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "not a list"),
        ('{"machines": [{"name": "a"}]}', "not a list"),
        (Quarantine(machines=(entry(), entry())).text(), "occur twice"),
        (Quarantine(machines=(entry('a"]) || true'),)).text(), "the name of a node"),
        (Quarantine(machines=(entry(since="2030-05-04T10:30:00"),)).text(), "no zone"),
        (Quarantine(machines=(entry(since="never"),)).text(), "not a list"),
    ],
)
def test_what_is_no_list_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Quarantine.parse(text)


def test_a_released_machine_stays_until_its_certificates_have_ended() -> None:
    held = Quarantine(machines=(entry(), entry("i-2", released=format_time(NOW))))
    end = NOW + CERTIFICATE
    assert held.pruned(end - timedelta(seconds=1)) == held
    assert held.pruned(end).names == ("i-1",)
    assert [one.name for one in held.unreleased] == ["i-1"]


def test_a_machine_is_once_in_the_list() -> None:
    held = Quarantine().with_(entry()).with_(entry("i-2")).with_(entry(done=True))
    assert [(one.name, one.done) for one in held.machines] == [("i-1", True), ("i-2", False)]


def test_a_list_that_the_vault_does_not_hold_is_an_error() -> None:
    with pytest.raises(ValueError, match=f"holds at most {LARGEST} characters"):
        Quarantine(machines=tuple(entry(f"i-{number}") for number in range(200))).text()
