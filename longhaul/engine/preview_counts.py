"""The engine's preview, reduced to counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GROUPS = {
    "create": ("create", "import"),
    "update": ("update",),
    "replace": ("replace", "import-replacement"),
    "delete": ("delete", "discard"),
    "same": ("same",),
}
"""Operations of the engine (pulumi, ``sdk/go/common/apitype/events.go``) by the count that includes them. A replacement
counts once."""


@dataclass(frozen=True, kw_only=True)
class Digest:
    """Numbers of resources that a run would create, update and so on."""

    create: int
    update: int
    replace: int
    delete: int
    same: int
    resources: int
    """Number of resources afterwards, including the stack's own."""
    seconds: float
    """Duration of the whole command, including the engine's start."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Output of the engine's ``preview --json``."""

    counts: Mapping[str, int]
    errors: tuple[str, ...]

    def digest(self, *, seconds: float) -> Digest:
        """Return the counts, grouped."""
        groups = {group: sum(self.counts.get(name, 0) for name in names) for group, names in GROUPS.items()}
        remaining = sum(count for group, count in groups.items() if group != "delete")
        return Digest(**groups, resources=remaining, seconds=round(seconds, 2))


def parse_preview(text: str) -> Preview | None:
    """Parse the engine's JSON; None when there is none."""
    try:
        content: dict[str, Any] = json.loads(text)
    except ValueError:
        return None
    summary = content.get("changeSummary") or {}
    diagnostics = content.get("diagnostics") or []
    errors = tuple(
        str(diagnostic.get("message", "")).strip()
        for diagnostic in diagnostics
        if diagnostic.get("severity") == "error"
    )
    return Preview(counts={str(name): int(count) for name, count in summary.items()}, errors=errors)
