"""Depot of a machine's site: the source of the machine's images, and the keys that sign for them (docs/depot.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass

PATH = "/etc/longhaul/depot.json"
"""The file. A machine has the file only if its site's depot is signed."""


@dataclass(frozen=True, kw_only=True)
class SignedDepot:
    """A depot whose builder signs its lists."""

    url: str
    key: str
    """Public keys of the depot's builder, base64."""
    authority: str | None = None
    """File with the certificate authorities that sign for the depot's server; None for the system's store."""

    def to_text(self) -> str:
        """Return the file's content."""
        return json.dumps({key: value for key, value in vars(self).items() if value is not None}, indent=1) + "\n"


def of_text(text: str | bytes) -> SignedDepot:
    """Read the file's content. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the content is malformed."""
    raw = json.loads(text)
    return SignedDepot(url=raw["url"], key=raw["key"], authority=raw.get("authority"))
