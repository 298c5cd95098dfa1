"""Checks parameters against AWS's own models, which come with botocore."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from tests.contracts.aws_limits import AWS_LIMITS
from tests.contracts.limits import Limit

Finding = tuple[str, Any, str]
"""Path in the parameters, value, allowed values in words."""

Limits = Mapping[tuple[str, str], Limit]

_CLASSES = {
    # Letters and digits. No pattern has one class without the other and the underscore.
    r"\p{L}\p{Z}\p{N}_": r"\w\s",
    r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010FFFF",
}
"""Java's character classes, as Python's."""


@cache
def service(name: str) -> ServiceModel:
    """Return the model of a service; ``botocore.exceptions.UnknownServiceError`` when there is none."""
    model: ServiceModel = botocore.session.get_session().get_service_model(name)
    return model


def documentation(service_name: str, shape: str, member: str) -> str:
    """Return the model's documentation of a member, on one line and without markup."""
    found = service(service_name).shape_for(shape)
    if not isinstance(found, StructureShape):
        raise LookupError(f"{service_name} has no structure {shape}")
    text = re.sub("<[^>]+>", " ", found.members[member].documentation)
    return " ".join(html.unescape(text).split())


def check(service_name: str, operation: str, parameters: dict[str, Any]) -> Iterator[Finding]:
    """Yield everything about ``parameters`` that the operation's model does not allow."""
    shape = service(service_name).operation_model(operation).input_shape
    if shape is None:
        raise LookupError(f"{service_name}'s {operation} takes nothing")
    report = ParamValidator().validate(parameters, shape)
    for line in report.generate_report().splitlines():
        yield _place(line), None, line
    # The checks below rely on correct types.
    if not report.has_errors():
        # Only EC2 gives limits in prose; the models of other services declare theirs.
        yield from _shape(parameters, shape, "", AWS_LIMITS if service_name == "ec2" else {})


def _place(line: str) -> str:
    """Return the parameter that a line of botocore's report is about."""
    within = re.search(r'parameter in ([\w.\[\]]+): "(\w+)"', line)
    if within:
        return within[2] if within[1] == "input" else f"{within[1]}.{within[2]}"
    named = re.search(r"parameter ([\w.\[\]]+)", line)
    return named[1] if named else ""


def _shape(value: Any, shape: Shape, at: str, limits: Limits) -> Iterator[Finding]:
    metadata = shape.metadata
    choices, pattern = metadata.get("enum"), metadata.get("pattern")
    if choices and value not in choices:
        yield at, value, f"one of {', '.join(map(repr, choices))}"
    if pattern and not re.fullmatch(translated(pattern), value):
        yield at, value, f"it has to match {pattern}"
    number = isinstance(value, int | float)
    size = value if number else len(value) if isinstance(value, str | list) else 0
    low, high = metadata.get("min", size), metadata.get("max", size)
    if not low <= size <= high:
        what = "" if number else " characters" if isinstance(value, str) else " elements"
        yield at, value, f"{metadata.get('min', 0)} to {metadata.get('max', 'any number of')}{what}"
    yield from _inside(value, shape, at, limits)


def _inside(value: Any, shape: Shape, at: str, limits: Limits) -> Iterator[Finding]:
    if isinstance(shape, StructureShape):
        for name, item in value.items():
            path = f"{at}.{name}" if at else name
            limit = limits.get((shape.name, name))
            if limit and not limit.allows(item):
                yield path, item, limit.words
            yield from _shape(item, shape.members[name], path, limits)
    elif isinstance(shape, ListShape):
        for index, item in enumerate(value):
            yield from _shape(item, shape.member, f"{at}[{index}]", limits)
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from _shape(item, shape.value, f"{at}.{key}", limits)


@cache
def translated(pattern: str) -> str:
    """Translate a model's pattern from Java to Python; ``ValueError`` when it has a class that is not known here."""
    found = pattern
    for java, python in _CLASSES.items():
        found = found.replace(java, python)
    if r"\p" in found:
        raise ValueError(f"no Python for the pattern {pattern}: add its classes to _CLASSES")
    return found
