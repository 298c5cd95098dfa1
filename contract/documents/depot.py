"""Depot of a machine's site: where its images come from, and who signs for them (docs/depot.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass

PATH = "/etc/longhaul/depot.json"
"""The file; a machine whose depot nobody signs for has none."""


@dataclass(frozen=True, kw_only=True)
class SignedDepot:
    """A depot whose builder signs its lists."""

    url: str
    key: str
    """Public keys of the builder, base64."""
    authority: str | None = None
    """File with the certificates of those who sign for its server; None for the system's store."""

    def to_text(self) -> str:
        """Return the file's content."""
        return json.dumps({key: value for key, value in vars(self).items() if value is not None}, indent=1) + "\n"


def of_text(text: str | bytes) -> SignedDepot:
    """Read the file's content; ``KeyError``, ``TypeError`` or ``ValueError`` when it is not one."""
    raw = json.loads(text)
    return SignedDepot(url=raw["url"], key=raw["key"], authority=raw.get("authority"))
