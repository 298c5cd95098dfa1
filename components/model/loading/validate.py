"""Validation of one section's fields, each by itself, with pydantic's errors in Longhaul's words.

Checks across sections need whole sections. So a sample replaces each wrong value, and errors elsewhere are found in the
same run. ``broken`` lists the places of samples, so that no conclusion is drawn from one.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from clouds.base.faults import Fault, Location
from clouds.base.section import Section
from components.model.loading.messages import describe
from components.model.loading.schema import Schema, sample, schema_of, walk

SectionT = TypeVar("SectionT", bound=Section)

_ROUNDS = 3
"""Number of attempts to repair a section. A sample may reveal another wrong value beside it; more attempts have never
been needed."""


@dataclass(frozen=True, kw_only=True)
class Validated(Generic[SectionT]):
    """Result of validating a section."""

    value: SectionT | None
    """The section, with samples where it is broken; ``None`` when it is invalid even with them."""
    findings: tuple[Fault, ...] = ()
    broken: frozenset[Location] = frozenset()
    """Locations that hold a sample; ``[key]`` below a mapping from which a wrong key was removed."""


def validate(model: type[SectionT], raw: dict[str, Any]) -> Validated[SectionT]:
    """Check ``raw`` against ``model``, with JSON's strict types: ``"3"`` is not a number, ``1`` is not true."""
    try:
        return Validated(value=_read(model, raw))
    except ValidationError as error:
        errors = _errors(error)
    schema = schema_of(model)
    findings = tuple(describe(_as_given(item, raw, schema), schema) for item in errors if not _echoes(item, errors))
    broken: set[Location] = set()
    for _ in range(_ROUNDS):
        raw = _mend(raw, errors, schema=schema, broken=broken)
        try:
            return Validated(value=_read(model, raw), findings=findings, broken=frozenset(broken))
        except ValidationError as error:
            errors = _errors(error)
    return Validated(value=None, findings=findings, broken=frozenset(broken))


def _errors(error: ValidationError) -> list[ErrorDetails]:
    """Return pydantic's errors without those of defaults that depend on a wrong value beside them."""
    return [item for item in error.errors(include_url=False) if item["type"] != "default_factory_not_called"]


def _as_given(item: ErrorDetails, raw: dict[str, Any], schema: Schema) -> ErrorDetails:
    """Return ``item`` with its number from the document, which remembers how it was written. Pydantic's number comes
    from JSON."""
    if item["type"] != "string_type" or not isinstance(item["input"], int | float):
        return item
    location, _ = walk(schema, item["loc"])
    return {**item, "input": _container(raw, location)[location[-1]]}


def _echoes(item: ErrorDetails, errors: Sequence[ErrorDetails]) -> bool:
    """Return whether a list is too short only because its entries are wrong."""
    path = item["loc"]
    return item["type"] == "too_short" and any(e["loc"] != path and e["loc"][: len(path)] == path for e in errors)


def _read(model: type[SectionT], raw: dict[str, Any]) -> SectionT:
    # YAML's data is JSON's. Any other value in a caller's mapping becomes text, and is refused as text.
    return model.model_validate_json(json.dumps(raw, default=str), strict=True)


def _mend(
    raw: dict[str, Any], errors: Sequence[ErrorDetails], *, schema: Schema, broken: set[Location]
) -> dict[str, Any]:
    """Return a copy of ``raw`` with a sample for each wrong value, and without unknown keys; add the samples' locations
    to ``broken``."""
    raw = copy.deepcopy(raw)
    superfluous: list[Location] = []
    # The innermost first: the values around them may be replaced too.
    for item in sorted(errors, key=lambda item: -len(item["loc"])):
        location, node = walk(schema, item["loc"])
        if item["type"] == "extra_forbidden":
            superfluous.append(location)
        elif location[-1:] == ("[key]",):
            superfluous.append(location[:-1])
            broken.add((*location[:-2], location[-1]))
        elif location and node is not None:
            _put(_container(raw, location), location[-1], sample(schema, node))
            broken.add(location)
    for location in sorted(superfluous, key=len, reverse=True):
        # The value around it may have been replaced by a sample.
        with suppress(LookupError, TypeError, AttributeError):
            _container(raw, location).pop(location[-1], None)
    return raw


def _container(raw: dict[str, Any], location: Location) -> Any:
    value: Any = raw
    for part in location[:-1]:
        value = value[part]
    return value


def _put(container: Any, part: str | int, value: Any) -> None:
    if isinstance(container, list) and part == len(container):
        container.append(value)
    else:
        container[part] = value
