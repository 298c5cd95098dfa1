"""Changes of plain data that bytes alone are slow to find: one value becomes another of another kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import reduce
from operator import getitem
from random import Random
from typing import Any

STRANGE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**400,
    1.5,
    float("inf"),
    float("nan"),
    "",
    "x" * 300,
    "\ud800",
    "\x00",
    "10.0.0.0/33",
    "../../etc",
    [],
    [None],
    {},
    {"": None},
    [[[[]]]],
)
DEEP = "[" * 100_000
"""Text that is deeper than any reader follows."""


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value inside ``value``."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*path, key)
        yield from places(one, (*path, key))


def with_value(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """Return a copy with another value at a place."""
    changed = deepcopy(value)
    _around(changed, path)[path[-1]] = new
    return changed


def without(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return a copy that lacks a place."""
    changed = deepcopy(value)
    del _around(changed, path)[path[-1]]
    return changed


def _around(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return the mapping or list in ``value`` that holds a place."""
    return reduce(getitem, path[:-1], value)


def single(value: Any) -> Iterator[bytes]:
    """Yield each change of one value, as JSON."""
    for path in places(value):
        yield json.dumps(without(value, path)).encode()
        yield from (json.dumps(with_value(value, path, new)).encode() for new in STRANGE)


def mutated(data: bytes, seed: int) -> bytes | None:
    """Return JSON with one value changed; None when the data is no JSON with values inside."""
    try:
        value = json.loads(data)
        found = list(places(value))
    except (ValueError, RecursionError):
        return None
    if not found:
        return None
    random = Random(seed)
    path = random.choice(found)
    if random.random() < 0.2:
        return json.dumps(without(value, path)).encode()
    return json.dumps(with_value(value, path, random.choice(STRANGE))).encode()
