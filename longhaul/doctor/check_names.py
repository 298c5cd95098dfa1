"""Names of the checks."""

from __future__ import annotations

NAMES = (
    "state",
    "plugins",
    "hosts",
    "size",
    "recovery",
    "dns",
    "clock",
    "credentials",
    "permissions",
    "registrations",
    "quotas",
    "machine-types",
    "images",
    "addresses",
    "existing",
    "durations",
)
"""Names of all checks, in the order of the report."""
