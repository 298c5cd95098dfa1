"""Types of the program's resources in Nimbus, for judging a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.kinds import Kind, Lasting
from nimbus.groups import FLOCK
from nimbus.policy import ADDRESS, BRIDGE, FABRIC, TUNNEL


def kinds() -> Mapping[str, Kind]:
    """Return the kind of each type."""
    return {
        ADDRESS: Kind.ADDRESS,
        BRIDGE: Kind.PEERING,
        FABRIC: Kind.NETWORK,
        FLOCK: Kind.POOL,
        TUNNEL: Kind.TUNNEL,
    }


def ranges() -> Mapping[str, tuple[str, ...]]:
    """Return the properties that hold ranges, by type."""
    return {FABRIC: ("range",), BRIDGE: ("ranges",), TUNNEL: ("local", "remote")}


def sealed() -> tuple[str, ...]:
    """Tunnels."""
    return (TUNNEL,)


def lasting() -> Mapping[str, Lasting]:
    """Fabrics, which everything of a site is in."""
    return {FABRIC: Lasting(why="everything in it would have to go first", with_site=True)}


def rules(_type: str, _inputs: Mapping[str, Any], /) -> tuple[str, ...]:
    """None: Nimbus filters nothing."""
    return ()
