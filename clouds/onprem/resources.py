"""Types of the program's resources in racks: none, since nothing of a rack is one."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.kinds import Kind


def kinds() -> Mapping[str, Kind]:
    """None."""
    return {}


def ranges() -> Mapping[str, tuple[str, ...]]:
    """None."""
    return {}
