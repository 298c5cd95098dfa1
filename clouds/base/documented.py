"""Reads the permissions that docs/getting-started.md lists. The page is their only source, for readers and for
``doctor``.

A test of that page keeps its lists equal to what the program makes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from clouds.base.findings import NotAskedError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "getting-started.md"
NAME = "docs/getting-started.md"


def document(marker: str) -> Any:
    """Return the JSON below a marker of the page. Raise ``NotAskedError`` when the page has no such marker."""
    found = re.search(rf"<!-- {marker} -->\n+```json\n(.*?)\n```", text(), re.DOTALL)
    if found is None:
        raise NotAskedError(f"{NAME} has no list {marker!r}")
    return json.loads(found[1])


def text() -> str:
    """Return the text of the page. Raise ``NotAskedError`` when it cannot be read."""
    try:
        return PAGE.read_text(encoding="utf-8")
    except OSError as error:
        raise NotAskedError(f"{NAME} cannot be read: {error.strerror}") from None


def several(value: str | list[str]) -> tuple[str, ...]:
    """Return the values of a key that has either one value or a list."""
    return (value,) if isinstance(value, str) else tuple(value)
