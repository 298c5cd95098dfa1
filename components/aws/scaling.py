"""Access of the autoscaler to AWS: a role of its own, which the autoscaler's identities of the API servers' machines
alone may take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from clouds.aws.fleet import SCALES
from clouds.azure.machine_identity import issuer as issuer_of
from clouds.base.tagging import ENVIRONMENT
from components.aws.controller import trust_policy
from components.azure.account import azure_site
from components.model import Environment
from components.model.cloud_names import cloud_name, pool_groups


@dataclass(frozen=True, kw_only=True)
class AutoscalerRoleArgs:
    """Arguments of the role."""

    environment: Environment
    principal_ids: Mapping[str, pulumi.Input[str]]
    """Object id of each API server machine's identity for the autoscaler, by machine."""
    provider_arn: pulumi.Input[str]
    """ARN of the account's identity provider for the tenant."""
    tags: Mapping[str, str]


class AutoscalerRole(ComponentResource):
    """Role and policy. Its options must contain the account's provider."""

    role_arn: Output[str]
    """ARN of the role that the autoscaler takes."""

    def __init__(self, name: str, args: AutoscalerRoleArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:AutoscalerRole", name, None, opts)
        environment, child = args.environment, ResourceOptions(parent=self)
        issuer = issuer_of(azure_site(environment, environment.control_plane.site))
        own_name = cloud_name(environment, name)
        trusted = Output.all(provider=args.provider_arn, principals=list(args.principal_ids.values()))
        role = aws.iam.Role(
            f"{name}-role",
            name=own_name,
            description="Longhaul's autoscaler; sizes the auto scaling groups of one environment.",
            assume_role_policy=trusted.apply(lambda known: trust_policy(issuer=issuer, **known)),
            max_session_duration=3600,
            tags=args.tags,
            opts=child,
        )
        aws.iam.RolePolicy(f"{name}-policy", name=own_name, role=role.name, policy=policy(environment), opts=child)
        self.role_arn = role.arn
        self.register_outputs({"role_arn": self.role_arn})


def policy(environment: Environment) -> str:
    """Return the role's policy. Groups are named, and must have the environment's tag: another environment of the
    account could give one of its groups the same name in another region."""
    statements: list[dict[str, object]] = [
        {"Effect": "Allow", "Action": [one for one in SCALES if ":Describe" in one], "Resource": "*"}
    ]
    groups = _groups(environment)
    if groups and environment.scales:
        statements.append(
            {
                "Effect": "Allow",
                "Action": [one for one in SCALES if ":Describe" not in one],
                "Resource": groups,
                "Condition": {"StringEquals": {f"aws:ResourceTag/{ENVIRONMENT}": environment.name}},
            }
        )
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _groups(environment: Environment) -> list[str]:
    return sorted(
        f"arn:aws:autoscaling:{environment.sites[pool.site].region}:*:autoScalingGroup:*:autoScalingGroupName/{group.name}"
        for name, pool in environment.pools.items()
        if environment.sites[pool.site].kind == "aws"
        for group in pool_groups(environment, name)
    )
