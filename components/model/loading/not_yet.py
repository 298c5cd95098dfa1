"""Keys that have their place in the file's format, and on which nothing acts yet: they are refused, with what they will
be."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.faults import Location

ANY = "*"
"""Stands for any name or index in a key."""

NOT_YET: Mapping[tuple[str, ...], str] = {
    ("pools", ANY, "spot_share"): "the share of a pool's machines that are spare capacity, under its one `max`",
    ("boxes",): "researchers' own machines: who has one, of which type, in which site",
    ("storage",): "storage for data and checkpoints: file systems and buckets by site",
}
"""Meaning of each key, once something acts on it. A key goes from here into the model then."""


def not_yet(location: Location) -> str:
    """Return what the key at ``location`` will be; empty when it is no such key."""
    path = tuple(map(str, location))
    for key, meaning in NOT_YET.items():
        if len(key) == len(path) and all(part in (ANY, step) for part, step in zip(key, path, strict=True)):
            return meaning
    return ""
