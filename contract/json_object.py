"""JSON from another program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in ``text``. Raise ``ValueError`` if ``text`` is anything else."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("it is not a mapping")
    return document


def parse_dataclass(kind: type[T], document: Any) -> T:
    """Return the object of the dataclass ``kind`` that ``asdict`` and JSON turned into ``document``. Missing fields
    have their defaults, and unknown fields are ignored. Raise ``ValueError`` if a field without a default is missing,
    or a value has another type than its field."""
    if not isinstance(document, dict):
        raise ValueError(f"{kind.__name__} is no mapping")
    hints = _types(kind)  # type: ignore[arg-type]
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in document:
            values[field.name] = _parsed(hints[field.name], document[field.name], f"{kind.__name__}.{field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{kind.__name__} has no {field.name}")
    return kind(**values)


@cache
def _types(kind: type) -> dict[str, Any]:
    """Return the types of the fields, which to work out takes longer than to parse the document."""
    return get_type_hints(kind)


def _parsed(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, UnionType):
        (optional,) = (argument for argument in arguments if argument is not NoneType)
        return None if value is None else _parsed(optional, value, name)
    if is_dataclass(hint):
        return parse_dataclass(hint, value)  # type: ignore[arg-type]
    if origin is tuple and isinstance(value, list):
        parts = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(parts) == len(value):
            return tuple(_parsed(part, item, name) for part, item in zip(parts, value, strict=True))
    if origin is Mapping and isinstance(value, dict):
        return {key: _parsed(arguments[1], item, name) for key, item in value.items()}
    if hint is float and type(value) in (int, float):
        return float(value)
    if hint in (str, bool, int) and type(value) is hint:
        return value
    raise ValueError(f"{name} is {value!r:.40}")
