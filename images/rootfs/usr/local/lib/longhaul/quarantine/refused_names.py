"""The lists of refused clients: machines in quarantine, and people whose access was revoked."""

from __future__ import annotations

import json
from pathlib import Path

LIST = Path("/etc/longhaul/quarantine.json")
PEOPLE = Path("/etc/longhaul/revoked.json")
ENTRIES = {LIST.name: "machines", PEOPLE.name: "people"}
"""Key of the entries in each list, by the list's file name."""


def names(path: Path) -> tuple[str, ...]:
    """Return the names in a file; raise ``OSError`` or ``ValueError`` when it cannot be read."""
    try:
        return tuple(sorted(str(entry["name"]) for entry in json.loads(path.read_text())[ENTRIES[path.name]]))
    except (KeyError, TypeError):
        raise ValueError(f"{path} is no list of those who are refused") from None
