"""Groups of like machines, which a cloud makes more or fewer of: scale sets, auto scaling groups."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PoolGroup:
    """One group of a pool."""

    name: str
    """What the cloud calls it, and what its machines' names begin with on Azure."""
    resource: str
    """What the program calls it."""
    min: int
    """Machines that it begins with."""
    max: int
    """Machines that it may have."""
