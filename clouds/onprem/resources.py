"""Types of the program's resources on-premises: none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.kinds import Kind, Lasting


def kinds() -> Mapping[str, Kind]:
    """Return an empty mapping."""
    return {}


def ranges() -> Mapping[str, tuple[str, ...]]:
    """Return an empty mapping."""
    return {}


def sealed() -> tuple[str, ...]:
    """None."""
    return ()


def lasting() -> Mapping[str, Lasting]:
    """None."""
    return {}


def rules(_type: str, _inputs: Mapping[str, Any], /) -> tuple[str, ...]:
    """None."""
    return ()
