"""Groups of like machines, which a cloud scales: scale sets and auto scaling groups."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PoolGroup:
    """One group of a pool."""

    name: str
    """Name of the group in the cloud. On Azure, the names of its machines begin with it."""
    resource: str
    """Name of the group's resource in the program."""
    min: int
    """Number of machines that the group starts with."""
    max: int
    """Largest number of machines in the group."""
