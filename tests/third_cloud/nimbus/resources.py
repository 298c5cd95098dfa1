"""Types of the program's resources in Nimbus, to whoever judges a change."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.kinds import Kind
from nimbus.groups import FLOCK
from nimbus.policy import ADDRESS, BRIDGE, FABRIC, TUNNEL


def kinds() -> Mapping[str, Kind]:
    """All of them."""
    return {
        ADDRESS: Kind.ADDRESS,
        BRIDGE: Kind.PEERING,
        FABRIC: Kind.NETWORK,
        FLOCK: Kind.POOL,
        TUNNEL: Kind.TUNNEL,
    }


def ranges() -> Mapping[str, tuple[str, ...]]:
    """Where ranges are."""
    return {FABRIC: ("range",), BRIDGE: ("ranges",), TUNNEL: ("local", "remote")}
