"""Writes SSH host keys into an environment's files. It only inserts text: order, comments and style stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from components.model.loading.schema import CONFIG_KEY
from longhaul.terminal.exits import CommandError


@dataclass(frozen=True, kw_only=True)
class _Insertion:
    at: int
    """Index of a character in the text."""
    text: str


def pin_hosts(text: str, keys: Mapping[str, str]) -> str:
    """Return the text of a hosts file with the host keys in ``keys``, by host name."""
    return _pinned(text, _items(_value(_root(text), "hosts")), keys)


def pin_gateways(text: str, keys: Mapping[str, str]) -> str:
    """Return the text of a stack file with the host keys in ``keys``, by gateway name."""
    sites = _value(_value(_value(_root(text), "config"), CONFIG_KEY), "sites")
    gateways = [gateway for _, site in sites.value for gateway in _items(_value(site, "gateways"))]
    return _pinned(text, gateways, keys)


def _pinned(text: str, entries: Iterable[Any], keys: Mapping[str, str]) -> str:
    insertions = []
    for entry in entries:
        name = _value(entry, "name").value
        if name not in keys:
            continue
        if _value(entry, "host_key") is not None:
            raise CommandError(f"line {entry.start_mark.line + 1}: {name} has a host_key: change it by hand")
        insertions.append(_insertion(text, entry, f"host_key: {keys[name]}"))
    for insertion in sorted(insertions, key=lambda insertion: insertion.at, reverse=True):
        text = text[: insertion.at] + insertion.text + text[insertion.at :]
    return text


def _insertion(text: str, entry: Any, added: str) -> _Insertion:
    """Return the insertion that adds a key to a mapping: before the mapping's closing brace, or below its first key."""
    if entry.flow_style:
        end = entry.end_mark.index - 1
        return _Insertion(at=len(text[:end].rstrip()), text=f", {added}")
    _, value = entry.value[0]
    line = text.find("\n", value.end_mark.index)
    at, before = (len(text), "\n") if line < 0 else (line + 1, "")
    return _Insertion(at=at, text=f"{before}{' ' * entry.start_mark.column}{added}\n")


def _root(text: str) -> Any:
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _value(node: Any, key: str) -> Any:
    """Return the node of a mapping's value; None without it."""
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _items(node: Any) -> list[Any]:
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
