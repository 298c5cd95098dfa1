"""Pauses between requests to a cloud."""

from __future__ import annotations

from collections.abc import Iterator


def growing_pauses(first_s: float, most_s: float) -> Iterator[float]:
    """Yield pauses in seconds, without end: each is twice as long as the previous one, up to ``most_s``. The end of a
    short operation is noticed soon, and a long operation does not use up the cloud's request limits."""
    pause_s = min(first_s, most_s)
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, most_s)
