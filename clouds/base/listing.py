"""What a cloud itself lists of an environment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PublicAddress:
    """A public address of the environment's."""

    address: str
    holder: str
    """Whom the cloud says it belongs to, or nobody."""
    allowed: bool
    """Whether its holder may have one: a gateway may."""
