"""Access of the node controller to AWS: the tenant as the account's identity provider, and a role that may list
instances."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from components.aws.web_identity import AUDIENCES, RoleArgs, role, tenant_issuer
from components.model import Environment

ACTIONS = ("ec2:DescribeInstances",)
"""Actions that the controller calls. Describe actions cannot be limited to resources (docs.aws.amazon.com, "Actions,
resources, and condition keys for Amazon EC2")."""


@dataclass(frozen=True, kw_only=True)
class NodeControllerAccessArgs:
    """Arguments of the access."""

    environment: Environment
    principal_ids: Mapping[str, pulumi.Input[str]]
    """Object id of each API server machine's identity in the directory, by machine. The identity's tokens have this id
    as their subject."""
    tags: Mapping[str, str]


class NodeControllerAccess(ComponentResource):
    """Identity provider, role and policy. Its options must contain the account's provider. An account has one identity
    provider for each tenant, so the file of a second environment in the account names the first environment's
    provider."""

    role_arn: Output[str]
    """ARN of the role that the controller assumes."""
    provider_arn: pulumi.Input[str]
    """ARN of the account's identity provider for the tenant."""

    def __init__(self, name: str, args: NodeControllerAccessArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:NodeControllerAccess", name, None, opts)
        self.provider_arn = args.environment.access.aws_identity_provider or self._identity_provider(name, args)
        self.role_arn = role(
            name,
            RoleArgs(
                environment=args.environment,
                principal_ids=args.principal_ids,
                provider_arn=self.provider_arn,
                tags=args.tags,
            ),
            description="Longhaul's node controller; may look at instances.",
            policy=_policy(),
            parent=self,
        )
        self.register_outputs({"role_arn": self.role_arn})

    def _identity_provider(self, name: str, args: NodeControllerAccessArgs) -> Output[str]:
        """Make an identity provider for the tenant and return its ARN."""
        provider = aws.iam.OpenIdConnectProvider(
            f"{name}-tenant",
            url=f"https://{tenant_issuer(args.environment)}",
            client_id_lists=list(AUDIENCES),
            tags=args.tags,
            opts=ResourceOptions(parent=self),
        )
        return provider.arn


def _policy() -> str:
    statement = {"Effect": "Allow", "Action": list(ACTIONS), "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
