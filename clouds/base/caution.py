"""Doubts about an environment's file: no reason to refuse it, and a reason to look."""

from __future__ import annotations

from dataclasses import dataclass

from clouds.base.fault import Fault


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
