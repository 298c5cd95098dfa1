"""Renders JSON for programs: the output of every command with ``--json``."""

from __future__ import annotations

import json


def document(content: object, *, unicode: bool = False) -> str:
    """Return ``content`` as JSON in several lines, with its keys in their order. Ranges, addresses, days and amounts of
    money are text, so that nothing is rounded. With ``unicode``, characters beyond ASCII are left as they are."""
    return json.dumps(content, indent=2, default=str, ensure_ascii=not unicode)


def line(content: object) -> str:
    """Return ``content`` as JSON in one line, for programs that read line by line."""
    return json.dumps(content, default=str)
