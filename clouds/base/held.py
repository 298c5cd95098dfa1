"""Facts that stay as they are while an environment is in use."""

from __future__ import annotations

MADE = "made by Longhaul"
"""Of what a site could have had already."""
