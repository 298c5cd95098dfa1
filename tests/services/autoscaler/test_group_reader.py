"""Answers about groups: which are kept, and what a cloud that does not answer costs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from clouds.aws import live_groups as aws
from clouds.azure import live_groups as azure
from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupState, WholeObservation
from clouds.base.place import Place
from clouds.base.refusals import Refusal
from longhaul.cli.examples import example
from services.autoscaler.group_reader import GroupReader

NOBODY: frozenset[str] = frozenset()


@dataclass
class Empty(WholeObservation):
    """A group of no machine, which may be slow or refuse."""

    looks: int = 0
    wanted: int = 0
    slow: threading.Event | None = None
    refuses: CloudError | None = None
    sizes: dict[str, int] = field(default_factory=dict)

    def look(self) -> GroupState:
        self.looks += 1
        if self.slow:
            self.slow.wait()
        if self.refuses:
            raise self.refuses
        return GroupState(target="v1", wanted=self.wanted, machines=())

    def refusals(self) -> tuple[Refusal, ...]:
        return ()


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(name="groups")
def _groups(monkeypatch: pytest.MonkeyPatch) -> dict[str, Empty]:
    groups: dict[str, Empty] = {}

    def of_pool(place: Place[Any], name: str) -> dict[str, Empty]:
        return {place.cloud_name(place.pool_resource(name)): groups.setdefault(name, Empty())}

    for cloud in (aws, azure):
        monkeypatch.setattr(cloud, "live_groups", of_pool)
    return groups


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock()


@pytest.fixture(name="reader")
def _reader(groups: dict[str, Empty], clock: Clock) -> Iterator[GroupReader]:
    reader = GroupReader(example("prod"), clock=clock)
    yield reader
    reader.close()


def errors(reader: GroupReader, **more: Any) -> dict[str, str]:
    return {pool: one.error for pool, groups in reader.read(NOBODY, **more).items() for one in groups if one.error}


def test_an_answer_is_good_for_a_while(reader: GroupReader, groups: dict[str, Empty], clock: Clock) -> None:
    for at, forgotten, looks in ((100.0, "", 1), (105.0, "", 1), (105.0, "prod-cpu", 2), (115.0, "", 3)):
        clock.now = at
        reader.forget(forgotten)
        assert errors(reader, keeps_s=lambda _name: 9.0) == {}
        assert groups["cpu"].looks == looks


def test_a_cloud_that_is_late_is_left_alone_until_it_answers(
    reader: GroupReader, groups: dict[str, Empty], clock: Clock
) -> None:
    slow = groups["h100-azure"].slow = threading.Event()
    late = "azure westeurope has not answered within 0.2 s"
    assert errors(reader, limit_s=0.2) == {"h100-azure": late}
    assert errors(reader, limit_s=None) == {"h100-azure": "azure westeurope has not answered yet"}
    slow.set()
    reader._late["prod-h100-azure"].result()
    assert errors(reader, limit_s=None) == {"h100-azure": f"{late}; it is asked again in 5 s"}
    clock.now += 5
    assert errors(reader, limit_s=None) == {}


def test_a_region_that_throttles_is_asked_for_none_of_its_groups(
    reader: GroupReader, groups: dict[str, Empty], clock: Clock
) -> None:
    groups["a100"].refuses = CloudError("too many requests", passing=True)
    assert errors(reader)["a100"] == "too many requests"
    paused = "too many requests; it is asked again in 5 s"
    assert errors(reader) == dict.fromkeys(("h100-west", "a100", "a10g-spot"), paused)
    groups["a100"].refuses = CloudError("you may not do that")
    clock.now += 5
    assert errors(reader) == {"a100": "you may not do that"}
    assert errors(reader) == {"a100": "you may not do that"}, "a refusal is about one group"


def test_a_group_with_too_many_requests_of_its_own_is_left_alone_and_no_other(
    reader: GroupReader, groups: dict[str, Empty], clock: Clock
) -> None:
    groups["a100"].refuses = CloudError("too many requests", passing=True, busy=True, alone=True, retry_s=40.0)
    assert errors(reader) == {"a100": "too many requests"}
    groups["a100"].refuses = None
    for seconds, left in ((0, 40), (39, 1)):
        clock.now += seconds
        assert errors(reader) == {"a100": f"too many requests; it is asked again in {left} s"}
    clock.now += 1
    assert errors(reader) == {}
    groups["a100"].refuses = CloudError("too many requests", passing=True, busy=True, retry_s=40.0)
    assert errors(reader)["a100"] == "too many requests"
    clock.now += 39
    assert set(errors(reader)) == {"h100-west", "a100", "a10g-spot"}, "the subscription's limit, in its region"


def test_a_group_is_observed_no_more_often_than_its_cloud_allows(
    reader: GroupReader, groups: dict[str, Empty], clock: Clock
) -> None:
    errors(reader)
    groups["cpu"].apart_s = 5.0
    for seconds, looks in ((0.0, 1), (4.9, 1), (5.0, 2)):
        clock.now = 100.0 + seconds
        errors(reader)
        assert groups["cpu"].looks == looks


def test_what_a_cloud_told_last_is_known_while_it_does_not_tell(
    reader: GroupReader, groups: dict[str, Empty], clock: Clock
) -> None:
    """Machines that it was asked for would be asked for again, elsewhere or there."""

    def known() -> tuple[int | None, bool]:
        (one,) = reader.read(NOBODY)["a100"]
        return one.group and one.group.wanted, bool(one.error)

    groups["a100"].refuses = CloudError("too many requests", passing=True)
    assert known() == (None, True)
    clock.now += 5
    groups["a100"].refuses, groups["a100"].wanted = None, 12
    assert known() == (12, False)
    groups["a100"].refuses = CloudError("too many requests", passing=True)
    assert known() == (12, True)
    assert known() == (12, True), "in the pause, too"
