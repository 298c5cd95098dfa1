"""Times as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from contract.kubernetes.times import epoch_s, parse_time

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-01T12:00:00", "12:00", "0001-01-01T00:00:00+01:00"])
def test_a_time_without_a_zone_is_none(text: str) -> None:
    assert parse_time(text) is None
    with pytest.raises(ValueError, match="is no time"):
        epoch_s(text)


def test_times_are_compared_whatever_their_zone() -> None:
    assert parse_time("2026-11-01T12:00:00Z") == parse_time("2026-11-01T13:00:00+01:00") == NOON
    assert epoch_s("2026-11-01T12:00:00Z") == NOON.timestamp()
