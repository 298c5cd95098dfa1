"""Pydantic's errors in Longhaul's words: the fault of a value, and the value to write instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network
from typing import Any

from pydantic_core import ErrorDetails

from clouds.base.faults import Fault, Location
from clouds.base.inputs import PRIVATE_KEY
from components.model.loading.document import parse_document
from components.model.loading.document_error import DocumentError
from components.model.loading.schema import Node, Schema, paths_to, suggestion, walk
from components.model.loading.unsupported import INSTEAD, unsupported
from components.model.versions.section import nearest_offered

_KINDS: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "date_type": "a date",
    "date_parsing": "a date",
    "date_from_datetime_parsing": "a date",
    "date_from_datetime_inexact": "a date",
    "finite_number": "a number",
    "int_from_float": "a whole number",
}

_SYNONYMS: Mapping[str, str] = {
    "cidr": "supernet",
    "network": "supernet",
    "vpc": "supernet",
    "zone": "domain",
    "dns": "domain",
    "regions": "sites",
    "clouds": "sites",
    "masters": "control_plane",
    "cluster": "control_plane",
    "node_groups": "pools",
    "machine_pools": "pools",
    "workers": "pools",
    "nodes": "pools",
    "instance_types": "machine_types",
    "ssh_key": "access.administrator_key",
    "users": "identity",
    "oidc": "identity",
    "rbac": "identity.groups",
    "projects": "teams",
    "quotas": "teams",
    "registry": "images",
    "labels": "tags",
}
"""Words of other tools for keys at the top of the file."""
_MOST_PLACES = 3
"""Largest number of places of a key that are named."""


def describe(item: ErrorDetails, schema: Schema) -> Fault:
    """Translate one of pydantic's errors for the person who wrote the file."""
    location, node = walk(schema, item["loc"])
    kind = item["type"]
    if kind == "missing" and isinstance(location[-1], int):
        _, whole = walk(schema, item["loc"][:-1])
        return Fault(at=location[:-1], wrong=_count(len(item["input"])), write=entries(whole or {}))
    if kind == "missing":
        return Fault(at=location, wrong="is missing", write=f"{location[-1]}: {_flow(suggestion(schema, node or {}))}")
    if kind == "extra_forbidden":
        return _unknown_key(location, schema, item["loc"])
    if kind.startswith("union_tag"):
        return _wrong_kind(item, location, node)
    if location[-1:] == ("[key]",):
        wrong = f"{show(item['input'])} cannot be a key here"
        keys = _keys(schema, item["loc"][:-2])
        return Fault(at=location[:-1], wrong=wrong, write=_almost(item["input"], keys) or _hint(keys))
    wrong = _wrong(item, node or {})
    if kind == "string_pattern_mismatch" and (almost := _almost(item["input"], node or {})):
        return Fault(at=location, wrong=wrong, write=f'"{almost}", in quotes' if almost.isdigit() else almost)
    if location[:-1] == ("versions",) and isinstance(item["input"], str | int | float):
        return Fault(at=location, wrong=wrong, write=nearest_offered(str(location[-1]), show(item["input"])))
    return Fault(at=location, wrong=wrong, write=_write(item, schema, node or {}))


def show(value: object) -> str:
    """Return ``value`` as the person who wrote it would recognise it."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and PRIVATE_KEY.search(value):
        return "a private key"
    shown = repr(value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


_LONGEST = 400
"""Number of characters of the longest value that is shown in full."""


def _flow(value: Any) -> str:
    """Return ``value`` as YAML on one line: like JSON, but text is quoted only when necessary."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inside)}" for key, inside in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(inside) for inside in value) + "]"
    return value if isinstance(value, str) and _plain(value) else json.dumps(value)


def _plain(text: str) -> bool:
    try:
        return bool(parse_document(f"flow: [{text}]").data["flow"] == [text])
    except DocumentError:
        return False


def _unknown_key(location: Location, schema: Schema, path: Location) -> Fault:
    meaning = unsupported(location)
    if meaning:
        return Fault(at=location, wrong=f"is not supported yet: {meaning}", write="leave it out until a release has it")
    if instead := INSTEAD.get(str(location[-1])):
        return Fault(at=location, wrong="is not a key that Longhaul knows", write=instead)
    _, parent = walk(schema, path[:-1])
    known = list((parent or {}).get("properties", {}))
    guess = _guess(str(location[-1]), known, schema, is_top=len(location) == 1)
    write = f"{guess}, if that was meant" if guess else f"one of the known keys: {', '.join(known)}"
    return Fault(at=location, wrong="is not a key that Longhaul knows", write=write)


def _guess(key: str, known: list[str], schema: Schema, *, is_top: bool) -> str:
    """Return the key that was probably meant: one that is written almost alike, another tool's word for it, or the same
    key at another place; empty when there is none."""
    plain = {_letters(name): name for name in known}
    meanings = {_letters(name): meant for name, meant in _SYNONYMS.items() if meant.partition(".")[0] in known}
    others = meanings if is_top else {}
    if _letters(key) in others:
        return others[_letters(key)]
    for names in (plain, others):
        if close := get_close_matches(_letters(key), names, n=1, cutoff=0.7):
            return names[close[0]]
    parts = [name for letters, name in plain.items() if len(letters) >= _WORD and letters in _letters(key)]
    places = list(dict.fromkeys(paths_to(schema, key)))
    return parts[0] if parts else " or ".join(places) if len(places) <= _MOST_PLACES else ""


_WORD = 4
"""Number of letters of the shortest key that is recognised inside another."""


def _letters(key: str) -> str:
    return "".join(letter for letter in key.lower() if letter.isalnum())


def _wrong_kind(item: ErrorDetails, location: Location, node: Node | None) -> Fault:
    kinds = _either((node or {}).get("discriminator", {}).get("mapping", {}))
    if item["type"] == "union_tag_not_found":
        return Fault(at=(*location, "kind"), wrong="is missing", write=f"kind: {kinds}")
    return Fault(at=(*location, "kind"), wrong=f"{show(item['ctx']['tag'])} is not a kind of site", write=kinds)


def _keys(schema: Schema, path: Location) -> Node:
    """Return the schema of the keys of the mapping at ``path``."""
    _, node = walk(schema, path)
    pattern = next(iter((node or {}).get("patternProperties", {})), None)
    return {"pattern": pattern, **(node or {}).get("propertyNames", {})}


def _almost(given: object, node: Node) -> str:
    """Return the value that differs from the given one by capital letters, spaces or one more letter at the end alone,
    and that fits; empty when there is none."""
    plain = "".join(given.split()).lower() if isinstance(given, str) else ""
    pattern, most = node.get("pattern") or r"\b\B", node.get("maxLength", len(plain))
    fitting = (text for text in (plain, plain[:-1]) if len(text) <= most and re.search(pattern, text))
    return next(fitting, "") if plain else ""


def _hint(node: Node) -> str:
    if "patternErrorMessage" in node:
        return str(node["patternErrorMessage"])
    return f"text that matches {node['pattern']}" if "pattern" in node else "other text"


def _wrong(item: ErrorDetails, node: Node) -> str:
    kind, given, context = item["type"], show(item["input"]), item.get("ctx", {})
    if kind in _KINDS:
        return f"{given} is not {_KINDS[kind]}"
    if kind == "literal_error":
        return f"{given} is not among the choices"
    if kind in ("too_short", "too_long"):
        return _count(context["actual_length"])
    if kind in _BOUNDS:
        return f"{given} is {_BOUNDS[kind][0]} {context[_BOUNDS[kind][1]]}"
    if kind == "int_parsing_size":
        return f"{given} is too large"
    if kind == "string_too_short":
        length = len(item["input"])
        return f"{given} has {length} characters, and at least {context['min_length']} are needed" if length else _EMPTY
    if kind == "string_too_long":
        return f"{given} has {len(item['input'])} characters, at most {context['max_length']} fit"
    if kind == "value_error" and str(node.get("format", "")).startswith("ipv4"):
        return f"{given} is not {_FORMATS[node['format']]}: {_reason(context)}"
    if kind == "string_pattern_mismatch":
        return f"{given} is not {_hint(node)}" if "patternErrorMessage" in node else f"{given} does not fit"
    return f"{given} does not fit"


_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("less than", "ge"),
    "greater_than": ("not more than", "gt"),
    "less_than_equal": ("more than", "le"),
    "less_than": ("not less than", "lt"),
}
"""Words, and the key of the bound in pydantic's context, by kind of error."""
_EMPTY = "is empty"
_FORMATS: Mapping[str, str] = {"ipv4": "an IPv4 address", "ipv4network": "an IPv4 range"}


def _reason(context: Mapping[str, Any]) -> str:
    """Return the ipaddress module's reason without the value, which the line already shows."""
    reason = str(context.get("error", "")).split(" in ")[0]
    reason = "the address has bits beyond the prefix" if "host bits" in reason else reason
    return reason[:1].lower() + reason[1:]


def _write(item: ErrorDetails, schema: Schema, node: Node) -> str:
    kind, given = item["type"], item["input"]
    if kind == "string_type" and isinstance(given, int | float) and not isinstance(given, bool):
        fits = re.search(node.get("pattern", ""), str(given)) is not None
        return f'"{given}", in quotes' if fits else _hint(node)
    if kind == "literal_error" and "enum" in node:
        return _either(node["enum"])
    if kind == "literal_error":
        return _flow(node["const"])
    if kind == "value_error" and node.get("format") == "ipv4network" and "host bits" in item["msg"]:
        return str(IPv4Network(given, strict=False))
    if kind in ("too_short", "too_long"):
        return entries(node)
    if "minimum" in node or "maximum" in node:
        return _number(node)
    if kind == "bool_type":
        return "true or false"
    if "placeholder" in node or "examples" in node:
        return _flow(node["placeholder"]) if "placeholder" in node else f"for example {_flow(node['examples'][0])}"
    if kind == "string_too_long" or kind == "string_pattern_mismatch":
        return _hint(node)
    return f"for example {_flow(suggestion(schema, node))}"


def _number(node: Node) -> str:
    """Return in words which numbers a value may have."""
    if node["type"] == "integer":
        return f"a whole number, {between(node.get('minimum'), node.get('maximum'))}"
    least = f"more than {node['exclusiveMinimum']}" if "exclusiveMinimum" in node else f"{node['minimum']} or more"
    return f"a number, {least}, {between(None, node.get('maximum'))}"


def _count(count: int) -> str:
    return "has 1 entry" if count == 1 else f"has {count or 'no'} entries"


def entries(node: Node) -> str:
    """Return in words how many entries a list or mapping may have."""
    least, most = node.get("minItems", node.get("minProperties")), node.get("maxItems")
    return f"{between(least, most)} {'entry' if (most or least) == 1 else 'entries'}"


def between(least: int | None, most: int | None) -> str:
    """Return a range of numbers in words."""
    if least == most:
        return str(least)
    if most is None:
        return f"at least {least}"
    return f"at most {most}" if least is None else f"{least} to {most}"


def _either(values: Iterable[object]) -> str:
    *first, last = [str(value) for value in values]
    return f"{', '.join(first)} or {last}" if first else last
