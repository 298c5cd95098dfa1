"""Refusals: machines that a group was asked for and that its cloud did not make, in the same terms for all clouds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Cause(StrEnum):
    """Cause of a refusal, as far as it decides what helps."""

    CAPACITY = "capacity"
    """The cloud has no such machine there now."""
    QUOTA = "quota"
    """The account may have no more of them."""
    SPOT = "spot"
    """The cloud has no spare machine, or not at the price."""
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One attempt to make a machine that was refused."""

    cause: Cause
    at: datetime
    words: str
    """The cloud's own words."""
    machine: str = ""
    """Id of the machine that its group counts all the same, until somebody deletes it; empty where the group counts
    none."""


def cause_of(words: str, signs: Mapping[Cause, tuple[str, ...]]) -> Cause:
    """Return the first cause of which a sign, in lower case, is among a cloud's words."""
    text = words.lower()
    return next((cause for cause, some in signs.items() if any(sign in text for sign in some)), Cause.OTHER)
