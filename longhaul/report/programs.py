"""JSON for programs: what ``--json`` of every command writes."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any


def document(content: object, *, unicode: bool = False) -> str:
    """``content`` in lines, its keys in their order. Ranges, addresses, days and amounts of money are text, so that
    nothing is rounded. With ``unicode``, characters beyond ASCII are left as they are."""
    return json.dumps(content, indent=2, default=_plain, ensure_ascii=not unicode)


def line(content: object) -> str:
    """``content`` in one line, for programs that read line by line."""
    return json.dumps(content, default=_plain)


def _plain(value: Any) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
