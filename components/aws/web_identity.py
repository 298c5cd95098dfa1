"""Roles that identities of the API servers' machines assume, without any key.

Those machines are in Azure. Each proves its identity with the token of its managed identity; AWS checks that token with
the tenant's own keys (docs.aws.amazon.com, "Create an OpenID Connect (OIDC) identity provider in IAM").
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from clouds.azure.cloud import Azure
from components.azure.account import azure_site
from components.model import Environment
from components.model.sites.cloud_names import cloud_name

AUDIENCES = ("https://management.azure.com/", "https://management.azure.com")
"""Accepted audiences of the token: Azure's resource manager, because the directory has no application of ours. Entra
writes the name as requested (machine/cloud_token.py in images/rootfs requests the first), or without the slash."""


@dataclass(frozen=True, kw_only=True)
class RoleArgs:
    """Arguments of a role: who may assume it."""

    environment: Environment
    principal_ids: Mapping[str, pulumi.Input[str]]
    """Object id of each API server machine's identity in the directory, by machine. The identity's tokens have this id
    as their subject."""
    provider_arn: pulumi.Input[str]
    """ARN of the account's identity provider for the tenant."""
    tags: Mapping[str, str]


def role(name: str, args: RoleArgs, *, description: str, policy: str, parent: ComponentResource) -> Output[str]:
    """Make a role with a policy (JSON) and return its ARN."""
    child, own_name = ResourceOptions(parent=parent), cloud_name(args.environment, name)
    tenant = tenant_issuer(args.environment)
    trusted = Output.all(provider=args.provider_arn, principals=list(args.principal_ids.values()))
    made = aws.iam.Role(
        f"{name}-role",
        name=own_name,
        description=description,
        assume_role_policy=trusted.apply(lambda known: trust_policy(issuer=tenant, **known)),
        max_session_duration=3600,
        permissions_boundary=args.environment.access.aws_permissions_boundary,
        tags=args.tags,
        opts=child,
    )
    aws.iam.RolePolicy(f"{name}-policy", name=own_name, role=made.name, policy=policy, opts=child)
    return made.arn


def tenant_issuer(environment: Environment) -> str:
    """Return the issuer of the identities' tokens, without its scheme."""
    return Azure().token_issuer(azure_site(environment, environment.control_plane.site))


def trust_policy(*, issuer: str, provider: str, principals: Sequence[str]) -> str:
    """Return the trust policy of a role: ``principals``, identities of the tenant, may assume it with a token for the
    right audience."""
    conditions = {f"{issuer}:aud": list(AUDIENCES), f"{issuer}:sub": sorted(principals)}
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": provider},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": conditions},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
