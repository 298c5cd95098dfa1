"""Admission policies that refuse, with the binding that puts each in force in the whole cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulumi import Resource, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding

from components.objects.labels import meta

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict


def refuse(
    name: str,
    spec: ValidatingAdmissionPolicySpecArgsDict,
    *,
    part: str,
    parent: Resource,
    after: Sequence[Resource] = (),
) -> ValidatingAdmissionPolicyBinding:
    """Make a policy and return its binding, which is made once all of ``after`` are there."""
    made = ValidatingAdmissionPolicy(
        name, metadata=meta(name, part=part), spec=spec, opts=ResourceOptions(parent=parent)
    )
    return ValidatingAdmissionPolicyBinding(
        f"{name}-everywhere",
        metadata=meta(name, part=part),
        spec={"policy_name": name, "validation_actions": ["Deny"]},
        opts=ResourceOptions(parent=parent, depends_on=[made, *after]),
    )
