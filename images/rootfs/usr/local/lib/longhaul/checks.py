"""One check of a machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """What was looked at, whether it is good, and what was seen."""

    name: str
    ok: bool
    detail: str
