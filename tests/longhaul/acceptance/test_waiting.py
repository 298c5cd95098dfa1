"""Every long wait is announced: what for, why, and how much longer."""

from __future__ import annotations

import pytest

from longhaul.acceptance.time_limit import TELL_S, Deadline, LateError
from tests.longhaul.acceptance.fake_api import NODES, FakeApi
from tests.longhaul.acceptance.stand_ins import Time

WHAT = "all pods are ready"
LINES = [
    f"{WHAT}: awaited for 30 s, at most 70 s more: one is not",
    f"{WHAT}: awaited for 60 s, at most 40 s more: one is not",
    f"{WHAT}: awaited for 90 s, at most 10 s more: one is not",
]


@pytest.fixture(name="told")
def _told() -> list[str]:
    return []


@pytest.fixture(name="limit")
def _limit(time: Time, told: list[str]) -> Deadline:
    return Deadline(1000, clock=time.clock, wait=time.wait, tell=told.append).within(100)


def test_what_is_asked_again_and_again_is_told_now_and_then(limit: Deadline, told: list[str]) -> None:
    with pytest.raises(LateError, match=f"{WHAT}: not in time: one is not"):
        limit.eventually(lambda: "one is not", what=WHAT)
    assert told == LINES


def test_so_is_what_is_listed(limit: Deadline, told: list[str], api: FakeApi) -> None:
    with pytest.raises(LateError):
        limit.await_items(api, NODES, lambda items: "one is not", what=WHAT)
    assert told == LINES


def test_what_comes_soon_needs_no_words(limit: Deadline, time: Time, told: list[str]) -> None:
    limit.eventually(lambda: "not yet" if time.now < TELL_S - 1 else "", what=WHAT)
    assert told == []
