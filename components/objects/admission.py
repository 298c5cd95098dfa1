"""Admission policies, each with the binding that enforces it in the whole cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulumi import Resource, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)

from components.objects.object_metadata import meta

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        MutatingAdmissionPolicySpecArgsDict,
        ParamRefArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )


OLD_LABELS, NEW_LABELS = "oldObject.metadata.?labels.orValue({})", "object.metadata.?labels.orValue({})"
"""Labels (CEL) of an object before and after a request."""


def refuse(
    name: str,
    spec: ValidatingAdmissionPolicySpecArgsDict,
    *,
    part: str,
    parent: Resource,
    after: Sequence[Resource] = (),
) -> ValidatingAdmissionPolicyBinding:
    """Make a policy that refuses requests, and return its binding. The binding is made once all of ``after`` exist."""
    return _bound(name, spec, "Deny", part=part, parent=parent, after=after)


def warn(name: str, spec: ValidatingAdmissionPolicySpecArgsDict, *, part: str, parent: Resource) -> None:
    """Make a policy that allows requests, and sends a warning with its message to whoever made them."""
    _bound(name, spec, "Warn", part=part, parent=parent)


def _bound(
    name: str,
    spec: ValidatingAdmissionPolicySpecArgsDict,
    action: str,
    *,
    part: str,
    parent: Resource,
    after: Sequence[Resource] = (),
) -> ValidatingAdmissionPolicyBinding:
    made = ValidatingAdmissionPolicy(
        name, metadata=meta(name, part=part), spec=spec, opts=ResourceOptions(parent=parent)
    )
    return ValidatingAdmissionPolicyBinding(
        f"{name}-everywhere",
        metadata=meta(name, part=part),
        spec={"policy_name": name, "validation_actions": [action]},
        opts=ResourceOptions(parent=parent, depends_on=[made, *after]),
    )


def mutate(
    name: str,
    spec: MutatingAdmissionPolicySpecArgsDict,
    *,
    part: str,
    parent: Resource,
    param: ParamRefArgsDict | None = None,
) -> MutatingAdmissionPolicyBinding:
    """Make a policy that changes written objects, and return its binding. Without the object that ``param`` names, it
    changes nothing."""
    made = MutatingAdmissionPolicy(name, metadata=meta(name, part=part), spec=spec, opts=ResourceOptions(parent=parent))
    reference: ParamRefArgsDict | None = {**param, "parameter_not_found_action": "Allow"} if param else None
    return MutatingAdmissionPolicyBinding(
        f"{name}-everywhere",
        metadata=meta(name, part=part),
        spec={"policy_name": name, **({"param_ref": reference} if reference else {})},
        opts=ResourceOptions(parent=parent, depends_on=[made]),
    )
