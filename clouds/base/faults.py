"""Faults in a file that the user wrote, and cautions about it."""

from __future__ import annotations

from dataclasses import dataclass

from contract.reasons.plan import FileReason

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
        """Return the location in dotted form."""
        return ".".join(map(str, self.at))

    def holds(self, broken: frozenset[Location]) -> bool:
        """Return whether everything that the fault is based on could be read. ``broken`` holds the locations that could
        not."""
        return not any(place[: len(part)] == part for place in (self.at, *self.basis) for part in broken)


@dataclass(frozen=True, kw_only=True)
class Caution(Fault):
    """A warning about a valid file. Files with it keep working; ``validate`` and ``plan`` show it."""

    reason: FileReason
    pool: str = ""
    """Pool that it is about; empty for one about the site or the environment."""
    site: str = ""
    """Site that it is about; empty for one about the environment."""
    about: str = ""
    """Other subject, which distinguishes cautions of equal reason, site and pool."""
    never_safe: bool = False
    """True when every plan of the file is unsafe, whatever changes."""
    refused: bool = False
    """True when a plan that introduces it is refused. A caution that existed before needs care and blocks no other
    change."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the values by which two files of an environment are compared."""
        return (self.reason, self.site, self.pool, self.about)
