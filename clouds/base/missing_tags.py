"""Checks that a resource's tags name its environment and its site. Bills, inventories and searches for leftover
resources use these tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clouds.base.inputs import is_unknown, shown
from clouds.base.policy import Breach, Declared
from clouds.base.tags import environment_tags
from contract.tag_keys import SITE


def missing_tags(place: str, tags: Any, wanted: tuple[str, ...], declared: Declared) -> Iterator[Breach]:
    """Yield a breach for each tag that is missing or wrong in ``tags``: tags of the whole environment, and tags in
    ``wanted``."""
    tags = tags if isinstance(tags, Mapping) else {}
    for key, value in environment_tags(declared).items():
        if tags.get(key) != value:
            yield Breach(what=f"{place}: {key} is {shown(tags.get(key))}", write=f"{key}: {value}")
    for key in wanted:
        value = tags.get(key)
        is_set = isinstance(value, str) and not is_unknown(value) and (key != SITE or value in declared.sites)
        if not is_set:
            yield Breach(what=f"{place}: {key} is {shown(value)}", write=f"{key}: the name of what it belongs to")
