"""The reference page, generated from the schema: one table for each section, examples from the stack files."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clouds.base.faults import Location
from components.model.environment import Environment
from components.model.hosts.section import Hosts
from components.model.loading.document import Document, parse_document
from components.model.loading.messages import between, entries
from components.model.loading.schema import CONFIG_KEY, Node, Schema, resolve, schema_of, values_of
from components.model.loading.unsupported import ANY, UNSUPPORTED
from components.model.pools.machine_types import known_machine_types

NAME = "<name>"
"""Stands for a key that the reader chooses."""

ITEM = "[]"
"""Stands for any entry of a list."""

INTRODUCTION = f"""\
# The environment file

<!-- Written by `python -m components.reference.generate`. Change the model's docstrings instead. -->

`stacks/Pulumi.<env>.yaml` holds every value that a human chooses for one environment, below `config` and
`{CONFIG_KEY}`. Everything else follows from it. Each key that Longhaul knows is listed here; another one is an error.

An editor with the YAML language server checks a file and completes its keys when the file begins with

    # yaml-language-server: $schema=../docs/reference/environment.schema.json

and a hosts file with `hosts.schema.json` in its place. YAML is read as version 1.2: `no` and `on` are text. One
report lists all faults: file, line, key, what is wrong, what to write. A check that needs a value which is itself wrong
waits until that value is right: the machine types of an unknown site, or the room for pools in ranges that overlap. For
a file that is not YAML, only the first fault is reported.

What the ranges become is in [the address plan](../address-plan.md).
"""


@dataclass(frozen=True, kw_only=True)
class SectionPlace:
    """A place in a file where a section can be written."""

    path: tuple[str, ...]
    kind: str | None = None
    """Value of the section's ``kind``, where it decides which keys the section has."""

    def __str__(self) -> str:
        path = ".".join(self.path).replace(f".{ITEM}", ITEM)
        return f"`{path}`" if self.kind is None else f"`{path}` of kind `{self.kind}`"


@dataclass(frozen=True, kw_only=True)
class PageSection:
    """A section and every place where it can be written."""

    node: Node
    places: list[SectionPlace] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """Return the anchor that links to the section use."""
        return str(self.node["title"]).lower()


def environment_page(stacks: Mapping[str, str], hosts_files: Mapping[str, str]) -> str:
    """Render the page. Examples come from ``stacks`` and ``hosts_files``, which hold texts by their files' paths."""
    schema = schema_of(Environment)
    parts = [INTRODUCTION]
    for section in sections(schema).values():
        example = next(filter(None, (_example(name, text, section.places) for name, text in stacks.items())), "")
        parts.append(_section(schema, section, example))
        if section.node["title"] == "MachineType":
            parts.append(_machine_types())
    parts.append(_reserved())
    parts.append(_hosts_part(hosts_files))
    return "\n".join(parts)


def _reserved() -> str:
    rows = "".join(f"| `{'.'.join(key).replace(ANY, NAME)}` | {meaning} |\n" for key, meaning in UNSUPPORTED.items())
    return (
        "## Reserved keys\n\n"
        "These keys are reserved for later releases and have no effect yet: a file that has one is refused.\n\n"
        f"| Key | It will be |\n|---|---|\n{rows}"
    )


def sections(schema: Schema) -> dict[str, PageSection]:
    """Return every section that can be reached, by its title, from the top down."""
    by_title: dict[str, PageSection] = {}
    _visit(schema, schema, SectionPlace(path=()), by_title)
    return by_title


def _visit(schema: Schema, node: Node, place: SectionPlace, by_title: dict[str, PageSection]) -> None:
    node = resolve(schema, node)
    values = values_of(node)
    if "oneOf" in node:
        for kind, reference in node["discriminator"]["mapping"].items():
            _visit(schema, {"$ref": reference}, SectionPlace(path=place.path, kind=kind), by_title)
    elif "properties" in node:
        known = node["title"] in by_title
        definition = schema.get("$defs", {}).get(node["title"], node)
        by_title.setdefault(node["title"], PageSection(node=definition)).places.append(place)
        for key, child in () if known else node["properties"].items():
            _visit(schema, child, SectionPlace(path=(*place.path, key)), by_title)
    elif "items" in node:
        _visit(schema, node["items"], SectionPlace(path=(*place.path, ITEM)), by_title)
    elif values is not None:
        _visit(schema, values, SectionPlace(path=(*place.path, NAME)), by_title)


def _section(schema: Schema, section: PageSection, example: str) -> str:
    node = section.node
    title = " and ".join(str(place) for place in section.places if place.path) or f"`{CONFIG_KEY}`"
    table = _table(schema, node)
    shown = f"\n{example}" if example else ""
    return f'<a id="{section.anchor}"></a>\n\n## {title}\n\n{_prose(node)}\n\n{table}{shown}'


def _table(schema: Schema, node: Node) -> str:
    required = node.get("required", ())
    rows = ["| Key | Type | Default | Bounds | What it is |", "| --- | --- | --- | --- | --- |"]
    for key in sorted(node["properties"], key=lambda key: (key != "kind", key not in required)):
        child = resolve(schema, node["properties"][key])
        default = "**required**" if key in required else _default(child)
        described = _prose(node["properties"][key]) or _prose(child)
        rows.append(f"| `{key}` | {_type(schema, child)} | {default} | {bounds(schema, child)} | {described} |")
    return "\n".join(rows) + "\n"


def _prose(node: Node) -> str:
    return " ".join(str(node.get("description", "")).split()).replace("|", "\\|").replace("``", "`")


def _default(node: Node) -> str:
    if "default_in_words" in node:
        return str(node["default_in_words"])
    if "properties" in node:
        return "each key's own"
    value = node.get("default", {} if values_of(node) is not None else None)
    if value is None:
        return "none"
    empty = {"[]": "empty", "{}": "empty", '""': "empty"}
    return empty.get(json.dumps(value), f"`{json.dumps(value)}`")


def _type(schema: Schema, node: Node) -> str:
    """Render the type in words, with a link where it is a section."""
    node = resolve(schema, node)
    values = values_of(node)
    if "oneOf" in node:
        members = node["discriminator"]["mapping"].values()
        return ", ".join(_type(schema, {"$ref": reference}) for reference in members)
    if "properties" in node:
        return f"[{node['title']}](#{node['title'].lower()})"
    if "items" in node or "prefixItems" in node:
        return f"list of: {_type(schema, node.get('items') or node['prefixItems'][0])}"
    if values is not None:
        return f"mapping of names to: {_type(schema, values)}"
    if node.get("format") in _FORMATS:
        return _FORMATS[node["format"]]
    return _TYPES[node["type"]]


_FORMATS = {"ipv4": "IPv4 address", "ipv4network": "IPv4 range"}
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def bounds(schema: Schema, node: Node) -> str:
    """Return the bounds of a value in words; empty when the type alone shows them."""
    node = resolve(schema, node)
    inner = node.get("items") or next(iter(node.get("prefixItems", ())), None) or values_of(node)
    texts = [*_own_bounds(node)]
    if inner is not None and "oneOf" not in inner and "properties" not in resolve(schema, inner):
        texts += (f"each: {inside}" for inside in [bounds(schema, inner)] if inside)
    return "; ".join(texts)


def _own_bounds(node: Node) -> Iterator[str]:
    if "enum" in node:
        yield ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        yield f"`{node['const']}`"
    if "minimum" in node or "maximum" in node:
        yield between(node.get("minimum"), node.get("maximum"))
    if "minItems" in node or "minProperties" in node:
        yield entries(node)
    if "patternErrorMessage" in node:
        yield str(node["patternErrorMessage"])
    elif "pattern" in node:
        yield f"`{node['pattern']}`".replace("|", "\\|")


def _machine_types() -> str:
    rows = ["| Type | Cloud | Cores | Memory, GiB | GPUs | Local SSD, GB |", "| --- | --- | --- | --- | --- | --- |"]
    for name, kind in known_machine_types().items():
        gpus = f"{kind.gpus} {kind.gpu_model}".strip() if kind.gpus else ""
        cells = (f"`{name}`", kind.cloud, kind.vcpus, kind.memory_gib, gpus, kind.local_ssd_gb or "")
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "The types that need no declaration:\n\n" + "\n".join(rows) + "\n"


def _hosts_part(hosts_files: Mapping[str, str]) -> str:
    schema = schema_of(Hosts)
    top, host = sections(schema).values()
    name, text = next(iter(hosts_files.items()))
    lines = text.splitlines()
    shown = "\n".join(lines[: next(i for i, line in enumerate(lines) if line.startswith("hosts:")) + 3])
    example = f"From `{name}`:\n\n```yaml\n{shown}\n```\n"
    parts = ("# The hosts file\n", f"{_prose(top.node)}\n", _table(schema, top.node), _section(schema, host, example))
    return "\n".join(parts)


def _example(name: str, text: str, places: list[SectionPlace]) -> str:
    """Return, as an example, the first of ``places`` that the stack file has; empty when it has none."""
    document = parse_document(text)
    for place in places:
        location = next(_locations(document, place), ())
        if location:
            return f"From `{name}`:\n\n```yaml\n{_excerpt(text, document, location)}```\n"
    return ""


def _locations(document: Document, place: SectionPlace) -> Iterator[Location]:
    """Yield the locations of ``place`` in the document. Lists and the whole environment are left out, because they are
    poor examples."""
    if ITEM in place.path or not place.path:
        return
    top: tuple[Location, object] = (("config", CONFIG_KEY), document.data["config"][CONFIG_KEY])
    level = [top]
    for part in place.path:
        level = [
            ((*location, key), inside)
            for location, value in level
            if isinstance(value, dict)
            for key, inside in value.items()
            if part in (NAME, key)
        ]
    for location, value in level:
        if place.kind is None or (isinstance(value, dict) and value.get("kind") == place.kind):
            yield location


def _excerpt(text: str, document: Document, location: Location) -> str:
    lines = text.splitlines(keepends=True)
    start = (document.line(location) or 1) - 1
    margin = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines) and lines[end][: margin + 1].isspace():
        end += 1
    return textwrap.dedent("".join(lines[start:end]))
