"""Ages in words."""

from __future__ import annotations

UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def age(seconds: float) -> str:
    """Return an age as one number: in the largest unit of which two have passed, so that it is never off by half."""
    whole = max(0, round(seconds))
    return next((f"{whole // unit} {name}" for unit, name in UNITS if whole >= 2 * unit), f"{whole} s")
