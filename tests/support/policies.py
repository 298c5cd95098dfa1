"""Admission policies at an API server, without the engine that makes an environment's objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

GROUP = "admissionregistration.k8s.io/v1"


def post_policy(
    post: Callable[[str, dict[str, Any]], Any], name: str, spec: Mapping[str, Any], *, kind: str, **binding: Any
) -> None:
    """Make a policy of a kind, ``Validating`` or ``Mutating``, and its binding. ``binding``: more fields of that."""
    more = {"validationActions": ["Deny"]} if kind == "Validating" else {}
    for suffix, parts in (
        ("", as_written(spec)),
        ("Binding", {"policyName": name, **more, **binding}),
    ):
        document = {
            "apiVersion": GROUP,
            "kind": f"{kind}AdmissionPolicy{suffix}",
            "metadata": {"name": name},
            "spec": parts,
        }
        plural = "policybindings" if suffix else "policies"
        post(f"/apis/{GROUP}/{kind.lower()}admission{plural}", document)


def as_written(value: Any) -> Any:
    """Return a part of an object with the API's own keys."""
    if isinstance(value, Mapping):
        return {
            re.sub("_([a-z])", lambda match: match[1].upper(), key): as_written(part) for key, part in value.items()
        }
    return [as_written(part) for part in value] if isinstance(value, list) else value
