"""Names the things that have a price."""

from __future__ import annotations

from clouds.base.prices import HostKey, Key
from clouds.registry import clouds


def name_of(key: Key) -> str:
    """Return a name such as ``NAT gateway, AWS us-east-1``."""
    return f"host, {key.site}" if isinstance(key, HostKey) else key.named(clouds()[key.cloud].title)
