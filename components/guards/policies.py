"""Enforcement of policies: no resource is made or changed against a policy, regardless of who runs the engine
(docs/policy.md).

A hook judges a resource's inputs as the engine has them, with all values known by then, before the resource is made or
changed. Unchanged resources are not judged. A preview is judged too, and a refusal ends it with nothing touched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pulumi import (
    ComponentResource,
    Output,
    ResourceHook,
    ResourceHookArgs,
    ResourceHookBinding,
    ResourceHookOptions,
    ResourceOptions,
    ResourceTransformation,
    ResourceTransformationArgs,
    ResourceTransformationResult,
)
from pulumi.output import Unknown

from clouds.base.findings import Finding
from clouds.base.inputs import SIGNATURE, UNKNOWN
from clouds.base.policy import Resource
from clouds.base.policy_rules import RULES
from components.control_plane.replacement import GuardRefusedError
from components.model import Environment
from components.model.policy.judging import PREVIEW_JUDGED, Policies, policies


def enforcing(environment: Environment) -> ResourceTransformation:
    """Return a transformation that attaches the judging hook to every resource that the program declares once the
    transformation is registered. Needs a stack."""
    judge = policies(environment)
    options = ResourceHookOptions(on_dry_run=not os.environ.get(PREVIEW_JUDGED))

    async def look(args: ResourceHookArgs) -> None:
        inputs = await _written(args.new_inputs or {})
        check(judge, Resource(urn=args.urn, type=args.type, name=args.name, inputs=inputs))

    hook = ResourceHook("policies", look, options)
    judged = ResourceOptions(hooks=ResourceHookBinding(before_create=[hook], before_update=[hook]))

    def transformation(args: ResourceTransformationArgs) -> ResourceTransformationResult | None:
        if isinstance(args.resource, ComponentResource):
            return None
        return ResourceTransformationResult(args.props, ResourceOptions.merge(args.opts, judged))

    return transformation


def check(judge: Policies, resource: Resource) -> None:
    """Raise ``GuardRefusedError`` when a resource violates a policy without a waiver."""
    findings = judge.against(resource)
    if findings:
        raise GuardRefusedError("\n".join(_message(resource, findings)))


def _message(resource: Resource, findings: Sequence[Finding]) -> list[str]:
    broken = list(dict.fromkeys(finding.check for finding in findings))
    waivable = [rule.id for rule in RULES if rule.id in broken and rule.waivable]
    # Beside the resource only the first line is shown; the whole text is shown at the end.
    lines = [f"{resource.name} violates the policy {', '.join(broken)}."]
    lines += [f"  {finding.check}: {finding.what}. Write {finding.do}. {finding.why}" for finding in findings]
    waiver = (f"{{rule: {rule}, resource: {resource.name}, why: …, until: …, approved_by: …}}" for rule in waivable)
    instead = f", or waive it in the environment file: `waivers: [{', '.join(waiver)}]`" if waivable else ""
    return [*lines, f"Fix it{instead}. See docs/policy.md."]


async def _written(value: Any) -> Any:
    """Return ``value`` as the engine writes it into a preview, with the engine's marks for unknown and for secret
    values."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, Output):
        return {SIGNATURE: "", "value": await _written(await value.future(with_unknowns=True))}
    if isinstance(value, Mapping):
        return {key: await _written(inside) for key, inside in value.items()}
    return [await _written(inside) for inside in value] if isinstance(value, list) else value
