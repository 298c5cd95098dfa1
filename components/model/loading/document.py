"""YAML files as plain data with line numbers.

YAML 1.2's core schema: ``no`` and ``2024-01-01`` are text. A key given twice is an error, as it is for the engine (Go's
yaml.v3); PyYAML would silently use the last. Building the data from PyYAML's events is also five times faster than
PyYAML's own constructor, which matters for a hosts file with thousands of hosts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clouds.base.faults import Location
from components.model.loading.document_error import DocumentError
from components.model.loading.errors import ConfigurationError, Problem
from components.model.loading.text_file import read_text

_TAGS = "tag:yaml.org,2002:"
_TEXT_TAG = f"{_TAGS}str"
_CONSTANTS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_START = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?")

DEEPEST = 64
"""Largest nesting depth of lists and mappings. The environment's format needs 8."""
MOST_REPEATED = 100_000
"""Largest number of values that the aliases of a document may stand for together. Aliases of aliases multiply: 9 lines
can stand for a thousand million values, which no memory holds."""
LONGEST_NUMBER = 64
"""Number of characters of the longest number. No key needs more than 20."""

AS_YAML = 'indentation by spaces only, brackets and quotes closed, and quotes around a text that has ": " or " #" in it'
"""Advice for a file that is not YAML. The parser reports where it failed, not what was meant."""


class _Integer(int):
    """An integer that was not written as Python writes it, such as ``012``."""

    text: str

    def __repr__(self) -> str:
        return self.text


class _Decimal(float):
    """A number that was not written as Python writes it, such as ``1.10``."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class Document:
    """Data of a file, with the line of each value."""

    data: dict[str, Any]
    lines: Mapping[int, Mapping[str | int, int]]
    """Line of each key or item, by the ``id()`` of its mapping or list in ``data``."""

    def line(self, location: Location) -> int | None:
        """Return the line of the value at ``location``, counted from 1. When there is no such value, return the line of
        the nearest value above it, or ``None``."""
        value: Any = self.data
        lineno: int | None = None
        for part in location:
            inside = self.lines.get(id(value), {})
            if part not in inside:
                break
            lineno = inside[part]
            value = value[part]
        return lineno


def read_document(path: Path) -> Document:
    """Read the YAML mapping in ``path``; raise ``ConfigurationError`` with one problem when it cannot be read."""
    with _as_problem(path):
        return parse_document(read_text(path))


def read_source(path: Path) -> str:
    """Return the text of a file that may hold YAML, with the limits and the errors of :func:`read_document`."""
    with _as_problem(path):
        return read_text(path)


@contextmanager
def _as_problem(path: Path) -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        problem = Problem(file=str(path), line=error.line, key="", wrong=error.wrong, write=error.write)
        raise ConfigurationError([problem]) from None


def document_text(data: Mapping[str, Any]) -> str:
    """Return ``data`` as YAML. A number that was read from a file keeps its original text."""
    return yaml.dump(data, Dumper=_NumberDumper, sort_keys=False)


class _NumberDumper(yaml.SafeDumper):
    """YAML dumper that writes the numbers of this reader."""

    def represent_data(self, data: Any) -> yaml.Node:
        if isinstance(data, _Integer):
            return self.represent_scalar(f"{_TAGS}int", data.text)
        if isinstance(data, _Decimal):
            return self.represent_scalar(f"{_TAGS}float", data.text)
        return super().represent_data(data)

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: tuple[bool, bool]) -> str:
        """Return the tag that ``value`` has without quotes; for numbers, this reader's tag."""
        if kind is yaml.ScalarNode and implicit[0]:
            if _INTEGER.fullmatch(value):
                return f"{_TAGS}int"
            if _FLOAT.fullmatch(value):
                return f"{_TAGS}float"
        tag: str = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        return tag


def parse_document(text: str) -> Document:
    """Return the mapping that ``text`` holds; raise ``DocumentError`` when it holds anything else."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        builder = _Builder(iter(yaml.parse(text, Loader=loader)))
        data = builder.document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        parts = [getattr(error, part, None) for part in ("context", "problem")]
        wrong = "is not YAML: " + (", ".join(part for part in parts if part) or " ".join(str(error).split()))
        raise DocumentError(f"{wrong}{_place(error)}", AS_YAML, None if mark is None else mark.line + 1) from None
    if not isinstance(data, dict):
        raise DocumentError("is not a mapping", "keys and values")
    return Document(data=data, lines=builder.lines)


def _place(error: yaml.YAMLError) -> str:
    """Return the column at which the parser failed, and the line on which the part that it was reading begins, as
    words."""
    mark, begun = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if mark is None:
        return ""
    since = f", in what began on line {begun.line + 1}" if begun is not None and begun.line < mark.line else ""
    return f", at column {mark.column + 1}{since}"


@dataclass
class _Builder:
    """Turns parser events into plain data."""

    events: Iterator[Any]
    lines: dict[int, Mapping[str | int, int]] = field(default_factory=dict)
    anchors: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """Number of values in each anchor's value, including those that aliases inside it stand for."""
    depth: int = 0
    count: int = 0
    """Number of values so far, counted as ``sizes`` counts."""
    repeated: int = 0
    """Number of values so far that aliases stand for."""

    def document(self) -> Any:
        """Return the only document in the stream; ``None`` when there is none."""
        data: Any = None
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise DocumentError("holds more than one document", "one document", _line(event))
                data = self._value(next(self.events))
        return data

    def _value(self, event: Any) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._repeated(event)
        before = self.count
        self.count += 1
        value = _scalar(event) if isinstance(event, yaml.ScalarEvent) else self._inside(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = value
            self.sizes[event.anchor] = self.count - before
        return value

    def _repeated(self, event: Any) -> Any:
        """Return the value that an alias stands for."""
        name = event.anchor
        if name not in self.anchors:
            raise DocumentError(f"*{name} has no anchor &{name} above it", f"&{name} first", _line(event))
        self.count += self.sizes[name]
        self.repeated += self.sizes[name]
        if self.repeated > MOST_REPEATED:
            wrong = f"repeats more than {MOST_REPEATED:,} values by aliases, here by *{name}"
            raise DocumentError(wrong, "the values themselves, or fewer aliases", _line(event))
        return self.anchors[name]

    def _inside(self, event: Any) -> Any:
        """Return the list or mapping that begins with ``event``."""
        self.depth += 1
        if self.depth > DEEPEST:
            wrong = f"nests more than {DEEPEST} lists and mappings"
            raise DocumentError(wrong, "fewer", _line(event))
        value = self._mapping() if isinstance(event, yaml.MappingStartEvent) else self._sequence()
        self.depth -= 1
        return value

    def _sequence(self) -> list[Any]:
        items: list[Any] = []
        where: dict[str | int, int] = {}
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            where[len(items)] = _line(event)
            items.append(self._value(event))
        self.lines[id(items)] = where
        return items

    def _mapping(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        where: dict[str | int, int] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            line = _line(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise DocumentError("holds a key that is not text", "text as key", line)
            key = event.value
            value = self._value(next(self.events))
            if key == "<<" and event.implicit[0]:
                _merge(merged, value, line)
                continue
            if key in given:
                raise DocumentError(f"holds {key!r} twice, first on line {where[key]}", "each key once", line)
            given[key], where[key] = value, line
        mapping = {**merged, **given}
        self.lines[id(mapping)] = where
        return mapping


def _merge(into: dict[str, Any], value: Any, line: int) -> None:
    """Merge the mappings that ``<<`` names. Earlier mappings take precedence, in a list too."""
    for mapping in value if isinstance(value, list) else [value]:
        if not isinstance(mapping, dict):
            raise DocumentError("merges something that is not a mapping", "`<<: *name` of a mapping", line)
        for key, inner in mapping.items():
            into.setdefault(key, inner)


def _line(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else event.start_mark.line + 1


def _scalar(event: Any) -> Any:
    text: str = event.value
    if event.tag not in (None, "!", _TEXT_TAG):
        raise DocumentError(f"holds the tag {event.tag!r}", "the value without a tag", _line(event))
    if not event.implicit[0] or event.tag is not None:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] in _NUMBER_START:
        is_integer = _INTEGER.fullmatch(text)
        if len(text) > LONGEST_NUMBER and (is_integer or _FLOAT.fullmatch(text)):
            wrong = f"holds a number of {len(text):,} characters, {text[:8]}…"
            raise DocumentError(wrong, f"at most {LONGEST_NUMBER}, or quotes around what is text", _line(event))
        if is_integer:
            return _as_written(_Integer(text, 0) if text[:2] in ("0o", "0x") else _Integer(text), text)
        if _FLOAT.fullmatch(text):
            return _as_written(_Decimal(text), text)
    return text


def _as_written(number: _Integer | _Decimal, text: str) -> int | float:
    """Return ``number`` with its original ``text`` for display. For an id without quotes, errors then show its leading
    zero."""
    plain = int(number) if isinstance(number, int) else float(number)
    number.text = text
    return plain if repr(plain) == text else number
