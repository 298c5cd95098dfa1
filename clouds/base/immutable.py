"""Immutable settings of an environment."""

from __future__ import annotations

MADE = "made by Longhaul"
"""Value of an immutable setting whose part Longhaul makes, instead of an existing part that the file names."""
