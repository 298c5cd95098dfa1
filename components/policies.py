"""No resource is made or changed into what a policy forbids, whoever runs the engine (docs/policy.md).

A hook judges a resource's inputs as the engine has them, with all that is known by then, before it is made or changed;
what stays as it is, is not asked. A preview asks, too, and ends there with nothing touched.
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
from clouds.base.rules import RULES
from components.control_plane.turn import RefusedError
from components.model import Environment
from components.model.policy import PREVIEW_JUDGED, Policies, policies


def enforcing(environment: Environment) -> ResourceTransformation:
    """Have every resource judged that the program declares from now on. Needs a stack."""
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
    """``RefusedError`` when something stands against a resource."""
    found = judge.against(resource)
    if found:
        raise RefusedError("\n".join(_said(resource, found)))


def _said(resource: Resource, found: Sequence[Finding]) -> list[str]:
    broken = list(dict.fromkeys(finding.check for finding in found))
    waivable = [rule.id for rule in RULES if rule.id in broken and rule.waivable]
    # The first line alone is shown beside the resource, all of it at the end.
    lines = [f"{resource.name} may not be so: it breaks the policy {', '.join(broken)}."]
    lines += [f"  {finding.check}: {finding.what}. Write {finding.do}. {finding.why}" for finding in found]
    waiver = (f"{{rule: {rule}, resource: {resource.name}, why: …, until: …, approved_by: …}}" for rule in waivable)
    instead = f", or waive it in the environment file: `waivers: [{', '.join(waiver)}]`" if waivable else ""
    return [*lines, f"Mend it{instead}. See docs/policy.md."]


async def _written(value: Any) -> Any:
    """``value`` as the engine writes it into a preview, where what is unknown and what is secret have their marks."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, Output):
        return {SIGNATURE: "", "value": await _written(await value.future(with_unknowns=True))}
    if isinstance(value, Mapping):
        return {key: await _written(inside) for key, inside in value.items()}
    return [await _written(inside) for inside in value] if isinstance(value, list) else value
