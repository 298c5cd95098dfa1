"""Faults in a file that the user wrote, and cautions about it."""

from __future__ import annotations

from dataclasses import dataclass

from contract.reasons.plan import FileReason

Location = tuple[str | int, ...]
"""Place of a value in a document: keys and list indices from the top."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault at a location. The location does not name the file."""

    at: Location
    """Location below ``longhaul:environment``. ``hosts`` and everything below it is in the hosts file."""
    wrong: str
    write: str
    basis: tuple[Location, ...] = ()
    """Other locations from which the fault was concluded. If one of them cannot be read, the fault is dropped."""

    @property
    def key(self) -> str:
        """Return the location in dotted form."""
        return ".".join(map(str, self.at))

    def holds(self, broken: frozenset[Location]) -> bool:
        """Return whether the fault's own location and its ``basis`` could be read. ``broken`` holds the locations that
        could not be read."""
        return not any(place[: len(part)] == part for place in (self.at, *self.basis) for part in broken)


@dataclass(frozen=True, kw_only=True)
class Caution(Fault):
    """A warning about a valid file. Files with it keep working; ``validate`` and ``plan`` show it."""

    reason: FileReason
    pool: str = ""
    """Pool that the caution is about; empty when the caution is about the site or the environment."""
    site: str = ""
    """Site that the caution is about; empty when the caution is about the environment."""
    about: str = ""
    """Further subject, which distinguishes cautions with the same reason, site and pool."""
    never_safe: bool = False
    """True when the caution makes every plan of the file unsafe, whatever the plan changes."""
    refused: bool = False
    """True when a plan that introduces the caution is refused. If the file had the caution before, plans need care but
    are not refused."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the values that identify the same caution in two versions of a file."""
        return (self.reason, self.site, self.pool, self.about)
