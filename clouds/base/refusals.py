"""Refusals: machines that a group requested and its cloud did not make, in the same terms for all clouds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Cause(StrEnum):
    """Cause of a refusal, as far as it determines the remedy."""

    CAPACITY = "capacity"
    """The cloud has no such machine available now."""
    QUOTA = "quota"
    """The account's quota allows no more of these machines."""
    SPOT = "spot"
    """The cloud has no spare machine, or none at this price."""
    ADDRESSES = "addresses"
    """The subnet has no addresses left for more machines."""
    OTHER = "other"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One refused attempt to make a machine."""

    cause: Cause
    at: datetime
    words: str
    """The cloud's own words."""
    machine: str = ""
    """Id of a failed machine that its group counts until somebody deletes it; empty when the group counts none."""


def cause_of(words: str, signs: Mapping[Cause, tuple[str, ...]]) -> Cause:
    """Return the first cause in ``signs`` with a text that occurs in the cloud's words; ``OTHER`` when there is none.
    The texts in ``signs`` are in lower case."""
    text = words.lower()
    return next((cause for cause, some in signs.items() if any(sign in text for sign in some)), Cause.OTHER)
