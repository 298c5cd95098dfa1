"""Access of the autoscaler to AWS: a role that only the autoscaler's identities on the API servers' machines may
assume."""

from __future__ import annotations

import json

from pulumi import ComponentResource, Output, ResourceOptions

from clouds.aws.live_groups import SCALES
from components.aws.web_identity import RoleArgs, role
from components.model import Environment
from components.model.sites.cloud_names import pool_groups
from contract.tag_keys import ENVIRONMENT


class AutoscalerRole(ComponentResource):
    """Role and policy. Its options must contain the account's provider."""

    role_arn: Output[str]
    """ARN of the role that the autoscaler assumes."""

    def __init__(self, name: str, args: RoleArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:AutoscalerRole", name, None, opts)
        self.role_arn = role(
            name,
            args,
            description="Longhaul's autoscaler; sizes the auto scaling groups of one environment.",
            policy=policy(args.environment),
            parent=self,
        )
        self.register_outputs({"role_arn": self.role_arn})


def policy(environment: Environment) -> str:
    """Return the role's policy. The policy names the groups and requires the environment's tag, because another
    environment in the account could have a group of the same name in another region."""
    statements: list[dict[str, object]] = [
        {"Effect": "Allow", "Action": [action for action in SCALES if ":Describe" in action], "Resource": "*"}
    ]
    groups = _groups(environment)
    if groups and environment.scales:
        statements.append(
            {
                "Effect": "Allow",
                "Action": [action for action in SCALES if ":Describe" not in action],
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
