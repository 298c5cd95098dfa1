"""Before anything is made: is what an environment needs there, and may we have it. Reads, and never writes.

Each check is a function that yields findings; :mod:`longhaul.doctor.checks` lists them, those of each cloud by its own
doctor (``clouds/X/doctor.py``).
"""

NAMES = (
    "state",
    "racks",
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
"""Every check by its name, in the order of the report."""

LIMIT_S = 60.0
"""How long one check may take, seconds."""
