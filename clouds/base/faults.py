"""Faults and doubts about a file that the user wrote."""

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


@dataclass(frozen=True, kw_only=True)
class Caution(Fault):
    """One doubt about a file that is valid. Files with it keep working: it is shown by ``validate`` and ``plan``."""

    name: str
    """Name, unique for its place, by which two files of an environment are compared."""
    pool: str = ""
    """Pool that it is about; empty for a site's or the environment's own."""
    site: str = ""
    """Site that it is about; empty for the environment's own."""
    never_safe: bool = False
    """True when no plan of the file is safe, whatever changes."""
    refused: bool = False
    """True when a plan is refused that brings it. Where it was before, it needs care and blocks no other change."""
