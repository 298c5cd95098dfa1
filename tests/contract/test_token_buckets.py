"""Limits of the number in a second, separate for each key."""

from __future__ import annotations

import pytest

from contract import token_buckets as bucket
from contract.token_buckets import Buckets


def test_each_has_its_own() -> None:
    now = 0.0
    buckets = Buckets(rate=1.0, burst=2.0, clock=lambda: now)
    assert [buckets.take("a") for _ in range(3)] == [True, True, False]
    assert buckets.take("b")
    now = 1.0
    assert [buckets.take("a") for _ in range(2)] == [True, False]


def test_they_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket, "MANY", 10)
    buckets = Buckets(rate=1.0, burst=1.0, clock=lambda: 0.0)
    for index in range(100):
        assert buckets.take(index)
        assert len(buckets._buckets) <= 10
