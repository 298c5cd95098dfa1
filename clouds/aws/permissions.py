"""Checks that the credentials allow what `longhaul up` does on AWS. IAM simulates the actions and executes none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clouds.aws import session
from clouds.aws.reader import AwsReader, Caller, reader_errors
from clouds.aws.site import AwsSite
from clouds.base.doctor import PAGE, CloudShare
from clouds.base.findings import Finding, NotAllowedError, NotAskedError, ok, problem, unknown, warning

POLICY = Path(__file__).with_name("operator-policy.json")
"""The policy for the person who runs `longhaul up`, in IAM's format. Every statement has the effect ``Allow``."""

BOUNDARY = Path(__file__).with_name("boundary-policy.json")
"""The permissions boundary of the roles that `up` makes: all that the node controller and the autoscaler do. Without
it, whoever may make roles and their policies could make one that may do everything, and use it (IAM user guide,
"Permissions boundaries for IAM entities", "Delegating responsibility to others using permissions boundaries"; the
Service Authorization Reference has ``iam:PermissionsBoundary`` for the four actions of the statement)."""

REGION_KEY, BOUNDARY_KEY = "aws:RequestedRegion", "iam:PermissionsBoundary"

EXAMPLES = {
    "ec2:Describe*": ("ec2:DescribeVpcs", "ec2:DescribeInstances", "ec2:DescribeImages"),
    "autoscaling:Describe*": ("autoscaling:DescribeAutoScalingGroups",),
}
"""Actions that represent a pattern, because IAM simulates single actions only."""

ONCE = "iam:CreateServiceLinkedRole"
"""Action that is needed only when the account has never had an auto scaling group or spot capacity."""

SERVICE_ROLE = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of the policy."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: dict[str, tuple[str, ...]]
    """Required values by context key (``StringEquals``)."""


def statements() -> tuple[Statement, ...]:
    """Return the statements of the policy."""
    return tuple(
        Statement(
            actions=_several(entry["Action"]),
            resources=_several(entry["Resource"]),
            conditions={
                key: _several(values) for key, values in entry.get("Condition", {}).get("StringEquals", {}).items()
            },
        )
        for entry in json.loads(POLICY.read_text(encoding="utf-8"))["Statement"]
    )


def _several(value: str | list[str]) -> tuple[str, ...]:
    """Return the values of a key that has either one value or a list."""
    return (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True, kw_only=True)
class _Who:
    """Principal whose permissions are simulated, with the data for resource names."""

    client: Any
    principal: str
    caller: Caller
    names: str
    """First part of the environment's names in the cloud."""
    boundary: str
    """Permissions boundary that the file names; may be empty."""


def permissions(share: CloudShare[AwsSite], reader: AwsReader) -> Iterator[Finding]:
    """Check the policy's actions by IAM's ``SimulatePrincipalPolicy``. If the simulation is not allowed, check only
    ``ec2:CreateVpc``, by EC2's ``DryRun``, which "checks whether you have the required permissions for the action,
    without actually making the request, and provides an error response" (EC2 API, ``CreateVpc``)."""
    regions, sites = list(share.regions()), share.sites(*share.places)
    caller = reader.caller(regions[0])
    if caller.arn.endswith(":root"):
        yield ok("AWS: an account's root may do everything", *sites)
        return
    try:
        iam = reader.client("iam", regions[0])
        begin = next(iter(share.places.values())).cloud_name(share.environment)
        who = _Who(
            client=iam,
            principal=_principal(iam, caller),
            caller=caller,
            names=begin,
            boundary=share.permissions_boundary,
        )
        missing = _missing(who, regions)
    except NotAllowedError as error:
        yield unknown(f"most permissions on AWS: {error}", *sites, do=error.do)
        for region, names in share.regions().items():
            yield _dry_run(reader, region, share.sites(*names))
        return
    bounded = _bounded()
    if who.boundary or bounded.isdisjoint(missing):
        yield from _findings(missing, sites)
        return
    what = "the file names no access.aws_permissions_boundary, and the operator's policy makes no role without it"
    yield problem(f"AWS: {what}", share.at("access", "aws_permissions_boundary"), do=f"make it, and name it ({PAGE})")
    others = {action: where for action, where in missing.items() if action not in bounded}
    yield from _findings(others, sites) if others else ()


def _bounded() -> set[str]:
    """Return the actions that the policy allows only on roles with a permissions boundary."""
    return {
        action for statement in statements() if BOUNDARY_KEY in statement.conditions for action in statement.actions
    }


def _findings(missing: dict[str, list[str]], sites: tuple[str, ...]) -> Iterator[Finding]:
    needed = {action: where for action, where in missing.items() if action != ONCE}
    for places in sorted({tuple(where) for where in needed.values()}):
        actions = ", ".join(action for action, where in needed.items() if tuple(where) == places)
        yield problem(f"AWS, {', '.join(places)}: not allowed: {actions}", *sites, do=f"the policy of {PAGE}")
    if ONCE in missing:
        do = f"allow it, or use the account's Auto Scaling once before ({PAGE})"
        yield warning(f"AWS: {ONCE} is not allowed, which an account's first use of Auto Scaling needs", *sites, do=do)
    if not missing:
        yield ok(f"AWS: everything that {PAGE} lists is allowed", *sites)


def _principal(iam: Any, caller: Caller) -> str:
    """Return the ARN of the user or role to simulate. A session's ARN lacks the role's path, so IAM is asked for the
    role. If that is not allowed, the role is assumed to have no path."""
    kind, _, rest = caller.arn.split(":", 5)[5].partition("/")
    if kind == "user":
        return caller.arn
    if kind != "assumed-role":
        raise NotAskedError(f"the permissions of {caller.arn}: IAM simulates only users and roles")
    name = rest.split("/")[0]
    try:
        with reader_errors("the role's ARN", needs="iam:GetRole"):
            return str(iam.get_role(RoleName=name)["Role"]["Arn"])
    except NotAllowedError:
        partition = caller.arn.split(":")[1]
        return f"arn:{partition}:iam::{caller.account}:role/{name}"


def _missing(who: _Who, regions: list[str]) -> dict[str, list[str]]:
    """Return the actions that are not allowed, each with the regions in which it is not."""
    missing: dict[str, list[str]] = {}
    for statement in statements():
        everywhere = REGION_KEY not in statement.conditions
        for region in regions[:1] if everywhere else regions:
            for action in _denied(who, statement, region):
                missing.setdefault(action, []).append("every region" if everywhere else region)
    return missing


def _denied(who: _Who, statement: Statement, region: str) -> Iterator[str]:
    """Yield the actions of a statement that are not allowed. An action counts as allowed when it is allowed on one of
    the statement's resources, because each action applies to another kind of resource."""
    actions = [single for action in statement.actions for single in EXAMPLES.get(action, (action,))]
    values = {
        key: [value] for key, given in statement.conditions.items() if (value := _value(key, given[0], who, region))
    }
    request: dict[str, Any] = {"PolicySourceArn": who.principal, "ActionNames": actions}
    if values:
        request["ContextEntries"] = [
            {"ContextKeyName": key, "ContextKeyValues": given, "ContextKeyType": "string"}
            for key, given in values.items()
        ]
    if statement.resources != ("*",):
        request["ResourceArns"] = [_arn(resource, who, region) for resource in statement.resources]
    allowed: set[str] = set()
    with reader_errors("which actions are allowed", needs="iam:SimulatePrincipalPolicy"):
        for page in who.client.get_paginator("simulate_principal_policy").paginate(**request):
            for result in page["EvaluationResults"]:
                decisions = [result["EvalDecision"]]
                decisions += [
                    resource_specific_result["EvalResourceDecision"]
                    for resource_specific_result in result.get("ResourceSpecificResults", [])
                ]
                if "allowed" in decisions:
                    allowed.add(result["EvalActionName"])
    yield from (action for action in actions if action not in allowed)


def _value(key: str, example: str, who: _Who, region: str) -> str:
    """Return the value of a context key in the simulated request; empty when the request would not have the key."""
    return {REGION_KEY: region, BOUNDARY_KEY: who.boundary}.get(key, example)


def _arn(pattern: str, who: _Who, region: str) -> str:
    """Return the ARN of a resource that fits the pattern. `E` in the pattern stands for the environment's name with its
    prefix."""
    _, _, service, in_region, account, resource = pattern.split(":", 5)
    resource = resource.replace("aws-service-role/*", SERVICE_ROLE).replace("E-*", f"{who.names}-node")
    parts = (
        "arn",
        who.caller.arn.split(":")[1],
        service,
        in_region.replace("*", region),
        account.replace("*", who.caller.account),
        resource.replace("*", "longhaul"),
    )
    return ":".join(parts)


def _dry_run(reader: AwsReader, region: str, sites: tuple[str, ...]) -> Finding:
    """Check by a dry run whether the caller may make a VPC. With ``DryRun`` EC2 makes none and always answers with an
    error, whose code is the result."""
    ec2, what = reader.client("ec2", region), "a dry run of ec2:CreateVpc"
    with reader_errors(what, needs="ec2:CreateVpc"):
        try:
            with session.aws_errors(what):
                ec2.create_vpc(CidrBlock="10.0.0.0/28", DryRun=True)
        except session.AwsError as error:
            if error.code == "DryRunOperation":
                return ok(f"AWS {region}: ec2:CreateVpc is allowed, by a dry run", *sites)
            if error.code == "UnauthorizedOperation":
                return problem(f"AWS {region}: ec2:CreateVpc is not allowed", *sites, do=f"the policy of {PAGE}")
            raise
    raise NotAskedError(f"AWS {region} executed a dry run: look for a VPC with the range 10.0.0.0/28")
