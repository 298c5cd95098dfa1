"""Times in the API's form, RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime


def parse_time(text: str) -> datetime | None:
    """Parse a time. Return None for anything else, including a time without a zone."""
    try:
        timestamp = datetime.fromisoformat(text)
        return timestamp.astimezone(UTC) if timestamp.tzinfo else None
    except (ValueError, OverflowError):
        return None


def epoch_s(text: str) -> float:
    """Return a time in seconds since the epoch. Raise ``ValueError`` for anything else, including a time without a
    zone."""
    timestamp = parse_time(text)
    if timestamp is None:
        raise ValueError(f"{text!r} is no time")
    return timestamp.timestamp()
