"""Type of a machine's health check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MachineCheck:
    """Name of a check, its result, and the observation behind it."""

    name: str
    ok: bool
    detail: str
    final: bool = False
    """True when waiting cannot change the result."""
