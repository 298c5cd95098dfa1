"""Files with the names of refused clients: machines in quarantine, and people whose access was revoked."""

from __future__ import annotations

from pathlib import Path

from contract.documents import quarantine, revoked

LIST, PEOPLE = Path(quarantine.PATH), Path(revoked.PATH)
_READERS = {LIST.name: quarantine.names_of, PEOPLE.name: revoked.names_of}
"""Reader of each list, by the list's file name."""


def names(path: Path) -> tuple[str, ...]:
    """Return the names in a file. Raise ``OSError`` or ``ValueError`` if the file cannot be read."""
    try:
        return _READERS[path.name](path.read_text())
    except (KeyError, TypeError):
        raise ValueError(f"{path} is no list of those who are refused") from None
