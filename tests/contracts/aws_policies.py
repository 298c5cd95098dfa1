"""Checks IAM's policy documents: their elements, and that the services have the allowed actions.

botocore contains no list of actions. An action is assumed to be named like an operation, which is true for EC2 and STS.
Where it is not true, such as S3's ``ListAllMyBuckets``, the action has to be added to :data:`OTHERWISE`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import UnknownServiceError

from tests.contracts import aws_model

DOCUMENT = frozenset({"Version", "Id", "Statement"})
STATEMENT = frozenset(
    {"Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"}
)
"""Elements of a statement; docs.aws.amazon.com, "Grammar of the IAM JSON policy language"."""
VERSIONS = ("2012-10-17", "2008-10-17")
OTHERWISE: frozenset[str] = frozenset()
"""Actions that are not named like an operation."""

Finding = tuple[Any, str]
"""Value that is wrong, and what is allowed."""


def check_policy(text: str) -> Iterator[Finding]:
    """Yield everything that is wrong with one document."""
    document = json.loads(text)
    for name in document.keys() - DOCUMENT:
        yield name, f"elements of a policy are {', '.join(sorted(DOCUMENT))}"
    if document.get("Version") not in VERSIONS:
        yield document.get("Version"), f"Version is one of {', '.join(VERSIONS)}"
    for statement in document.get("Statement", []):
        for name in statement.keys() - STATEMENT:
            yield name, f"elements of a statement are {', '.join(sorted(STATEMENT))}"
        if statement.get("Effect") not in ("Allow", "Deny"):
            yield statement.get("Effect"), "Effect is Allow or Deny"
        yield from _actions(statement.get("Action", []))
        yield from _principals(statement.get("Principal", {}))


def _actions(given: str | list[str]) -> Iterator[Finding]:
    for action in [given] if isinstance(given, str) else given:
        service, _, operation = action.partition(":")
        try:
            known = aws_model.service(service).operation_names
        except UnknownServiceError:
            yield action, f"{service} is no service of AWS"
            continue
        if operation not in known and action not in OTHERWISE:
            yield action, f"{service} has no operation {operation}; OTHERWISE lists actions that no operation is called"


def _principals(given: str | dict[str, Any]) -> Iterator[Finding]:
    kinds = ("AWS", "Federated", "Service", "CanonicalUser")
    if given == "*" or not isinstance(given, dict):
        return
    for kind, value in given.items():
        if kind not in kinds:
            yield kind, f"a principal is one of {', '.join(kinds)}"
        if not value:
            yield {kind: value}, "a principal that is named"
