"""Access of the node controller to AWS: a role that may list instances, taken without any key.

The API servers' machines are in Azure. Each proves its identity with the token of its managed identity; AWS checks that
token with the tenant's own keys (docs.aws.amazon.com, "Create an OpenID Connect (OIDC) identity provider in IAM").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from clouds.azure.machine_identity import issuer as issuer_of
from components.azure.account import azure_site
from components.model import Environment
from components.model.cloud_names import cloud_name

AUDIENCES = ("https://management.azure.com/", "https://management.azure.com")
"""Audience of the token: Azure's resource manager, because the directory has no application of our own. Entra writes
the name as requested (images/rootfs, cloud_token.py requests the first), or without the slash."""

ACTIONS = ("ec2:DescribeInstances",)
"""Actions that the controller calls. Describe actions cannot be limited to resources (docs.aws.amazon.com, "Actions,
resources, and condition keys for Amazon EC2")."""


@dataclass(frozen=True, kw_only=True)
class NodeControllerAccessArgs:
    """Arguments of the access."""

    environment: Environment
    principal_ids: Mapping[str, pulumi.Input[str]]
    """Object id of each API server machine's identity in the directory, by machine: the token's subject."""
    tags: Mapping[str, str]


class NodeControllerAccess(ComponentResource):
    """Identity provider, role and policy. Its options must contain the account's provider. An account has one identity
    provider for a tenant: of two environments in one account, the second names the first one's."""

    role_arn: Output[str]
    """ARN of the role that the controller takes."""
    provider_arn: pulumi.Input[str]
    """ARN of the account's identity provider for the tenant."""

    def __init__(self, name: str, args: NodeControllerAccessArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:NodeControllerAccess", name, None, opts)
        environment, child = args.environment, ResourceOptions(parent=self)
        issuer = issuer_of(azure_site(environment, environment.control_plane.site))
        own_name = cloud_name(environment, name)
        self.provider_arn = environment.access.aws_identity_provider or self._identity_provider(name, issuer, args)
        trusted = Output.all(provider=self.provider_arn, principals=list(args.principal_ids.values()))
        role = aws.iam.Role(
            f"{name}-role",
            name=own_name,
            description="Longhaul's node controller; may look at instances.",
            assume_role_policy=trusted.apply(lambda known: trust_policy(issuer=issuer, **known)),
            max_session_duration=3600,
            tags=args.tags,
            opts=child,
        )
        aws.iam.RolePolicy(f"{name}-policy", name=own_name, role=role.name, policy=_policy(), opts=child)
        self.role_arn = role.arn
        self.register_outputs({"role_arn": self.role_arn})

    def _identity_provider(self, name: str, issuer: str, args: NodeControllerAccessArgs) -> Output[str]:
        """Make an identity provider for the tenant and return its ARN."""
        provider = aws.iam.OpenIdConnectProvider(
            f"{name}-tenant",
            url=f"https://{issuer}",
            client_id_lists=list(AUDIENCES),
            tags=args.tags,
            opts=ResourceOptions(parent=self),
        )
        return provider.arn


def trust_policy(*, issuer: str, provider: str, principals: Sequence[str]) -> str:
    """Return the trust policy of the role: these identities of the tenant may take it, with a token for the right
    audience."""
    conditions = {f"{issuer}:aud": list(AUDIENCES), f"{issuer}:sub": sorted(principals)}
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": provider},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": conditions},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _policy() -> str:
    statement = {"Effect": "Allow", "Action": list(ACTIONS), "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
