"""Checks an AWS resource against the models of the operations that make it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tests.contracts import aws_model
from tests.contracts.aws_calls import CALLS, ELSEWHERE
from tests.contracts.aws_policies import check_policy
from tests.contracts.faults import Fault
from tests.support.declared import Declared

POLICIES = frozenset({"policy", "assumeRolePolicy"})
"""Inputs that are policy documents."""


def check(resource: Declared) -> Iterator[Fault]:
    """Yield everything about ``resource`` that AWS's model does not allow."""
    about = f"{resource.type} {resource.name}"
    given = {name: item for name, item in resource.inputs.items() if not name.startswith("__")}
    calls = CALLS[resource.type]
    taken = {name for call in calls for name in call.members} | ELSEWHERE.keys()
    for name in sorted(given.keys() - taken):
        allowed = "no operation is known to take it: add where it goes to tests/contracts/aws_calls.py"
        yield Fault(resource=about, at=name, value=given[name], allowed=allowed, source="the table of calls")
    for call in calls:
        parameters, origins = call.parameters(given)
        if not parameters and call is not calls[0]:
            continue
        source = f"botocore's model of {call.service} {call.name}"
        for path, value, allowed in aws_model.check(call.service, call.name, parameters):
            at = _origin(path, origins)
            shown = given.get(at) if value is None else value
            yield Fault(resource=about, at=at, value=shown, allowed=f"{path}: {allowed}", source=source)
    for name in POLICIES & given.keys():
        for value, allowed in check_policy(given[name]):
            yield Fault(resource=about, at=name, value=value, allowed=allowed, source="IAM's policy grammar")


def _origin(path: str, origins: Mapping[str, str]) -> str:
    """Return the input that went to ``path`` or above it; the path itself when there is none."""
    return next((name for where, name in origins.items() if re.match(rf"{re.escape(where)}(\W|$)", path)), path)
