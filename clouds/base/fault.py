"""A thing that is wrong with what somebody wrote, whoever finds it."""

from __future__ import annotations

from dataclasses import dataclass

Location = tuple[str | int, ...]
"""Where a value is in a document: keys and list indices from the top."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something wrong at a place that is not yet tied to a file."""

    at: Location
    """Below ``longhaul:environment``; ``hosts`` and what is below it is in the hosts file."""
    wrong: str
    write: str
    basis: tuple[Location, ...] = ()
    """What else this was concluded from: where a part of it is broken itself, the conclusion is worth nothing."""

    def holds(self, broken: frozenset[Location]) -> bool:
        """Whether everything it rests on was readable."""
        return not any(place[: len(part)] == part for place in (self.at, *self.basis) for part in broken)
