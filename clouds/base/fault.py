"""Describes a fault in a file that the user wrote."""

from __future__ import annotations

from dataclasses import dataclass

Location = tuple[str | int, ...]
"""Place of a value in a document: keys and list indices from the top."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault at a place that is not yet tied to a file."""

    at: Location
    """Location below ``longhaul:environment``. ``hosts`` and everything below it is in the hosts file."""
    wrong: str
    write: str
    basis: tuple[Location, ...] = ()
    """Other locations that the fault was concluded from. If one of them cannot be read, the fault is dropped."""

    @property
    def key(self) -> str:
        """The location as one writes it, with dots."""
        return ".".join(map(str, self.at))

    def holds(self, broken: frozenset[Location]) -> bool:
        """Return whether everything that the fault is based on could be read. ``broken`` holds the locations that could
        not."""
        return not any(place[: len(part)] == part for place in (self.at, *self.basis) for part in broken)
