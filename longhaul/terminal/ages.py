"""Ages as text."""

from __future__ import annotations

UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def age(seconds: float) -> str:
    """Return an age as a whole number of a unit: the largest unit of which at least two have passed, so that the
    rounding error is less than half."""
    whole = max(0, round(seconds))
    return next((f"{whole // unit} {name}" for unit, name in UNITS if whole >= 2 * unit), f"{whole} s")
