"""Compares old and new inputs as the real provider plugins do: by property path, with the paths that force a
replacement."""

from __future__ import annotations

import re
from typing import Any, Literal

from clouds.base.inputs import UNKNOWN
from lab.providers.values import plain

Kind = Literal["add", "delete", "update"]


def differences(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Kind]:
    """Return the changes by property path (``tags["a.b"]``, ``rules[0].port``). An unknown counts as changed."""
    kinds: dict[str, Kind] = {}
    _compare_maps(_public(plain(old)), _public(plain(new)), "", kinds)
    return kinds


def replaces(path: str, forced: frozenset[str]) -> bool:
    """Return whether a change at ``path`` forces a replacement: ``forced`` (paths without indexes) has the path or a
    path above it."""
    bare = re.sub(r"\[\d+\]", "", path)
    return any(bare == path_ or bare.startswith((f"{path_}.", f"{path_}[")) for path_ in forced)


def _public(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if not key.startswith("__")}


def _compare_maps(old: dict[str, Any], new: dict[str, Any], base: str, kinds: dict[str, Kind]) -> None:
    for key in sorted(old.keys() | new.keys()):
        path = _join(base, key)
        if key not in old:
            kinds[path] = "add"
        elif key not in new:
            kinds[path] = "delete"
        else:
            _compare(old[key], new[key], path, kinds)


def _compare(old: Any, new: Any, path: str, kinds: dict[str, Kind]) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        _compare_maps(old, new, path, kinds)
    elif isinstance(old, list) and isinstance(new, list):
        _compare_lists(old, new, path, kinds)
    elif new == UNKNOWN or not _equal(path, old, new):
        kinds[path] = "update"


def _compare_lists(old: list[Any], new: list[Any], path: str, kinds: dict[str, Kind]) -> None:
    for index in range(max(len(old), len(new))):
        item = f"{path}[{index}]"
        if index >= len(old):
            kinds[item] = "add"
        elif index >= len(new):
            kinds[item] = "delete"
        else:
            _compare(old[index], new[index], item, kinds)


def _equal(path: str, old: Any, new: Any) -> bool:
    if path == "location" and isinstance(old, str) and isinstance(new, str):
        return old.replace(" ", "").lower() == new.replace(" ", "").lower()
    return bool(old == new)


def _join(base: str, key: str) -> str:
    if not re.fullmatch(r"[A-Za-z_$][\w$]*", key):
        return f'{base}["{key}"]'
    return f"{base}.{key}" if base else key
