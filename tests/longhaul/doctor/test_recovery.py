"""The check of all that an environment needs to rise again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from clouds.base.findings import NotAskedError, Severity
from longhaul.doctor import recovery
from longhaul.doctor.target import DoctorTarget
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.doctor.world import raw_environment, target

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


def environment(**changes: Any) -> DoctorTarget:
    raw = raw_environment() | {"backups": {"recipients": [KEY]}, "destroyable": False, **changes}
    return target({key: value for key, value in raw.items() if value is not None})


def test_an_environment_without_backups_is_warned_of() -> None:
    found = list(recovery.declared(environment(backups=None)))
    assert [one.severity for one in found] == [Severity.WARNING, Severity.OK, Severity.UNKNOWN]
    assert "an etcd cluster whose quorum is lost for good is lost" in found[0].what
    assert "the backups' private keys" not in found[2].what
    assert list(recovery.newest(environment(backups=None))) == []


def test_a_vault_that_can_be_purged_is_warned_of() -> None:
    found = list(recovery.declared(environment(destroyable=True)))
    assert [one.severity for one in found] == [Severity.WARNING, Severity.UNKNOWN]
    assert "no protection from purging" in found[0].what
    assert "the backups' private keys" in found[1].what
    assert "Who keeps which key" in found[1].do


@dataclass(frozen=True)
class Listed:
    etcd: str
    age_s: int
    flaw: str = ""


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([Listed("etcd", 240), Listed("events", 60)], ["etcd: the newest backup is 4 min old"]),
        ([Listed("etcd", 60, "it is empty"), Listed("etcd", 1000)], ["etcd: the newest backup is 16 min old"]),
        ([Listed("etcd", 60, "it is empty")], ["etcd: no backup can be restored", "events: no backup"]),
    ],
)
def test_the_newest_backup_of_each_etcd_cluster_is_judged(
    monkeypatch: pytest.MonkeyPatch, listed: Sequence[Listed], said: list[str]
) -> None:
    monkeypatch.setattr(recovery, "backups", lambda *_, **__: listed)
    found = list(recovery.newest(environment()))
    assert len(found) == 2
    late = any(one.age_s >= 900 or one.flaw for one in listed)
    assert found[0].severity is (Severity.WARNING if late else Severity.OK)
    for one, words in zip(found, said, strict=False):
        assert one.what.startswith(words)


def test_a_storage_that_does_not_answer_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise CommandError("the storage lh does not list the daily backups", code=Exit.UNREACHABLE)

    monkeypatch.setattr(recovery, "backups", away)
    with pytest.raises(NotAskedError, match="does not list") as raised:
        list(recovery.newest(environment()))
    assert "before the first `longhaul up`" in raised.value.do
