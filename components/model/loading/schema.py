"""JSON Schemas of the files that people write, and navigation in them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from clouds.base.faults import Location
from clouds.base.section import Section
from components.model.environment import Environment
from components.model.hosts.section import Hosts

CONFIG_KEY = "longhaul:environment"
"""Key of the environment in a stack file's ``config``."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]
Node = Mapping[str, Any]


@cache
def schema_of(model: type[Section]) -> Schema:
    """Return the schema of one section, without its internal fields and the definitions that only they use. It is
    computed once and must not be changed."""
    schema = model.model_json_schema()
    internal = [key for key, node in schema["properties"].items() if node.get("internal")]
    for key in internal:
        del schema["properties"][key]
    definitions = schema.pop("$defs", {})
    used = set(_references(schema, definitions))
    return {**schema, "$defs": {name: node for name, node in definitions.items() if name in used}}


def stack_schema() -> Schema:
    """Return the schema of a whole stack file, ``Pulumi.<env>.yaml``: the environment under its key; Pulumi's own keys
    beside it are not restricted."""
    environment = dict(schema_of(Environment))
    definitions = environment.pop("$defs")
    return {
        "$schema": DIALECT,
        "title": "Longhaul stack file",
        "description": "Pulumi.<env>.yaml: one environment of Longhaul.",
        "type": "object",
        "properties": {
            "config": {
                "description": "The stack's configuration.",
                "type": "object",
                "properties": {CONFIG_KEY: {"$ref": "#/$defs/Environment"}},
                "required": [CONFIG_KEY],
            }
        },
        "required": ["config"],
        "$defs": {"Environment": environment, **definitions},
    }


def hosts_schema() -> Schema:
    """Return the schema of a hosts file."""
    return {"$schema": DIALECT, **schema_of(Hosts), "title": "Longhaul hosts file"}


def _references(node: object, definitions: Mapping[str, Node], visited: frozenset[str] = frozenset()) -> Iterator[str]:
    if isinstance(node, dict):
        name = str(node.get("$ref", "")).removeprefix("#/$defs/")
        if name and name not in visited:
            yield name
            yield from _references(definitions[name], definitions, visited | {name})
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _references(value, definitions, visited)


def resolve(schema: Schema, node: Node) -> Node:
    """Return ``node`` with references resolved, and with the alternative that is not null where there are several. Keys
    beside a reference take precedence over those of its target."""
    while True:
        beside = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
        if "$ref" in node:
            node = {**schema["$defs"][node["$ref"].removeprefix("#/$defs/")], **beside}
        elif "anyOf" in node:
            node = {**next(option for option in node["anyOf"] if option.get("type") != "null"), **beside}
        else:
            return node


def walk(schema: Schema, path: Location) -> tuple[Location, Node | None]:
    """Follow pydantic's ``path``. Return the location in the document (without the names of union members, which
    pydantic adds) and the schema there, ``None`` where the schema has none."""
    node: Node | None = resolve(schema, schema)
    location: list[str | int] = []
    for part in path:
        if node is not None and "discriminator" in node and part in node["discriminator"]["mapping"]:
            node = resolve(schema, {"$ref": node["discriminator"]["mapping"][part]})
            continue
        location.append(part)
        node = None if node is None else _inside(schema, node, part)
    return tuple(location), node


def _inside(schema: Schema, node: Node, part: str | int) -> Node | None:
    if isinstance(part, int):
        items = node.get("prefixItems", [])
        child = items[part] if part < len(items) else node.get("items")
    else:
        child = node.get("properties", {}).get(part) or values_of(node)
    return None if child is None else resolve(schema, child)


def values_of(node: Node) -> Node | None:
    """Return the schema of a mapping's values where its keys are free; ``None`` otherwise."""
    values = (*node.get("patternProperties", {}).values(), node.get("additionalProperties"))
    return next((value for value in values if isinstance(value, dict)), None)


def paths_to(schema: Schema, key: str) -> Iterator[str]:
    """Yield each place in a file that may have a key called ``key``, in dotted form. Names that the user chooses are
    ``NAME`` in it."""
    yield from _paths(schema, resolve(schema, schema), key, "")


def _paths(schema: Schema, node: Node, key: str, at: str) -> Iterator[str]:
    if key in node.get("properties", {}):
        yield at + key
    inside = {f"{at}{name}.": child for name, child in node.get("properties", {}).items()}
    values = values_of(node) or node.get("items")
    choices = [{"$ref": target} for target in node.get("discriminator", {}).get("mapping", {}).values()]
    children = [
        *inside.items(),
        *((f"{at}NAME.", child) for child in ([values] if isinstance(values, dict) else [])),
        *((at, child) for child in choices),
    ]
    for place, child in children:
        yield from _paths(schema, resolve(schema, child), key, place)


def sample(schema: Schema, node: Node) -> Any:
    """Return a value that ``node`` accepts: an example, a fixed or default value, or the smallest one that it
    accepts."""
    return copy.deepcopy(_sample(schema, node, first=()))


def suggestion(schema: Schema, node: Node) -> Any:
    """Return a value as a person should write it: a sample, with a placeholder for what only that person knows.
    Validation refuses placeholders, so that none is copied unchanged."""
    return _sample(schema, node, first=("placeholder",))


def _sample(schema: Schema, node: Node, *, first: tuple[str, ...]) -> Any:
    node = resolve(schema, node)
    for key in first:
        if key in node:
            return node[key]
    for key in ("examples", "enum"):
        if key in node:
            return node[key][0]
    for key in ("const", "default"):
        if node.get(key) is not None:
            return node[key]
    if "oneOf" in node:
        return _sample(schema, node["oneOf"][0], first=first)
    return _least(schema, node, first)


def _least(schema: Schema, node: Node, first: tuple[str, ...]) -> Any:
    kind = node.get("type")
    if kind == "object":
        required = {key: _sample(schema, node["properties"][key], first=first) for key in node.get("required", ())}
        values = values_of(node)
        if values is not None and node.get("minProperties"):
            return {**required, "example": _sample(schema, values, first=first)}
        return required
    if kind == "array":
        items = node.get("prefixItems") or [node.get("items", {})] * node.get("minItems", 0)
        return [_sample(schema, item, first=first) for item in items]
    return {"integer": node.get("minimum", 0), "boolean": False}.get(str(kind), "text")
