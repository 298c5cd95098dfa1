"""Risks that an environment's file shows: what works, and has nothing that takes over when it fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Risk:
    """One risk of a site."""

    name: str
    """Name, unique in the site, by which two files of an environment are compared."""
    what: str
    """The risk, in one sentence."""
    where: str
    """Key of the file that decides about it."""
    why: str
    """Consequence, how long it lasts, and the source."""
    do: str
    pool: str = ""
    """Pool that has the risk; empty when it is the site's own."""
    refused: bool = False
    """True when it must not be made, because the cloud does not document that it works."""
