"""Conditions of policies (docs.aws.amazon.com, IAM user guide, "IAM JSON policy elements: Condition operators")."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any


def holds(conditions: Mapping[str, Mapping[str, Any]], values: Mapping[str, Any]) -> bool | None:
    """Return whether all conditions hold; None when the lab cannot evaluate one of the conditions."""
    verdicts = [
        _meets(operator, listed(wanted), listed(values.get(key)))
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    ]
    if None in verdicts:
        return None
    return all(verdicts)


def _meets(operator: str, wanted: list[Any], given: list[Any]) -> bool | None:
    """Return whether one condition holds: any wanted value may match any given value. Return None for an unknown
    operator, and for a claim with several values without ``ForAnyValue:``."""
    bare = operator.removeprefix("ForAnyValue:")
    if bare == operator and len(given) > 1:
        return None
    match bare:
        case "StringEquals":
            return any(str(value) in [str(want) for want in wanted] for value in given)
        case "StringLike":
            return any(fnmatchcase(str(value), str(want)) for value in given for want in wanted)
    return None


def listed(value: Any) -> list[Any]:
    """Return a policy's value as a list; policies may write a single value without a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
