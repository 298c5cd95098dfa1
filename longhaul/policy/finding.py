"""What a check reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, order=True)
class Finding:
    """A rule that a resource breaks, or a waiver that does not stand."""

    urn: str
    """The resource's; ``waivers[N]`` for a waiver, counted from 0."""
    rule: str
    what: str
    """What is wrong and where in the resource; never a secret."""
    why: str
    write: str
    """What to write instead."""
