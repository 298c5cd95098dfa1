"""A review for a terminal."""

from __future__ import annotations

import textwrap

from longhaul.review.outcome import Entry, Review

WIDTH = 100


def to_text(review: Review) -> str:
    """A line for each environment, and below it what is wrong with it; plans are what ``longhaul plan`` shows."""
    if not review.environments:
        return f"no environment is affected (against {review.base})\n"
    lines = [f"{review.commit} against {review.base}" + (", from a fork: nothing is planned" if review.fork else "")]
    for entry in review.environments:
        lines += _entry(entry)
    return "\n".join(lines) + "\n"


def _entry(entry: Entry) -> list[str]:
    first = f"  {entry.outcome:<18} {entry.name}: "
    said = textwrap.wrap(first + entry.said, WIDTH, subsequent_indent=" " * 21, break_long_words=False)
    return [*said, *textwrap.indent(entry.report, " " * 6).splitlines()]
