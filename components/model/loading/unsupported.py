"""Keys that are reserved in the file's format but have no effect yet: they are refused, with their future meaning."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.faults import Location

ANY = "*"
"""Stands for any name or index in a key."""

UNSUPPORTED: Mapping[tuple[str, ...], str] = {
    ("pools", ANY, "spot_share"): "the share of a pool's machines that are spare capacity, under its one `max`",
    ("boxes",): "researchers' own machines: who has one, of which type, in which site",
    ("storage",): "storage for data and checkpoints: file systems and buckets by site",
}
"""Future meaning of each reserved key. When a key takes effect, it moves from here into the model."""


def unsupported(location: Location) -> str:
    """Return the future meaning of the key at ``location``; empty when it is not reserved."""
    path = tuple(map(str, location))
    for key, meaning in UNSUPPORTED.items():
        if len(key) == len(path) and all(part in (ANY, step) for part, step in zip(key, path, strict=True)):
            return meaning
    return ""
