"""Resources of an environment that a cloud itself lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PublicAddress:
    """One public address of the environment."""

    address: str
    holder: str
    """Resource that the cloud reports as its holder, or ``nobody``."""
    allowed: bool
    """True when its holder may have a public address, as a gateway may, or when no resource holds it."""
