"""Checks of AWS's roles, policies and keys: no wildcard for a whole service or for all resources, no
long-lived keys.

Grammar of policy documents: docs.aws.amazon.com, "Grammar of the IAM JSON policy language".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from clouds.base import policy_rules
from clouds.base.inputs import is_unknown, sections, texts
from clouds.base.policy import Breach, Check, Declared, Resource

ROLE: Final = "aws:iam/role:Role"

GRANTS = frozenset(
    {
        "aws:iam/policy:Policy",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/userPolicy:UserPolicy",
        "aws:iam/groupPolicy:GroupPolicy",
    }
)
"""Kinds of resources whose ``policy`` states the permissions of an identity."""

ADMITS = frozenset(
    {"aws:s3/bucketPolicy:BucketPolicy", "aws:kms/key:Key", "aws:secretsmanager/secretPolicy:SecretPolicy"}
)
"""Kinds of resources whose ``policy`` states who may use the resource."""

WIDE_MANAGED = ("AdministratorAccess", "PowerUserAccess", "FullAccess", "ReadOnlyAccess")
"""Name endings of AWS's managed policies that grant access to several services, or to one whole service
(docs.aws.amazon.com, "AWS managed policies for job functions"). ReadOnlyAccess reads buckets and user data too."""

RESOURCELESS = frozenset(
    {
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeScalingActivities",
        "ec2:DescribeInstances",
        "ec2:DescribeLaunchTemplates",
    }
)
"""Actions in use that cannot be limited to a resource (docs.aws.amazon.com, Service Authorization Reference, "Actions,
resources, and condition keys" for Amazon EC2 and for Amazon EC2 Auto Scaling: the column of resource types is empty for
these actions). Look there before you add an action."""

_SERVICE_WIDE = re.compile(r"^(\*|[^:]+:\*+)$")
_ANY_RESOURCE = re.compile(r"^(\*|arn:[^:]*:[^:]*:[^:]*:[^:]*:\*)$")


@dataclass(frozen=True, kw_only=True)
class AllowStatement:
    """One statement of a policy document that allows something."""

    place: str
    """Place of the statement, such as ``policy, statement 1``."""
    content: Mapping[str, Any]

    def list(self, key: str) -> list[str]:
        """Return the values of ``key``. A single text counts as a list of one."""
        value = self.content.get(key)
        return [] if value is None else [str(text) for text in value] if isinstance(value, list) else [str(value)]


def allowing(place: str, document: Any) -> Iterator[AllowStatement]:
    """Yield the statements of ``document`` that allow something. Yield none when there is no document, or when its
    value is not known before the deployment. Raise ``ValueError`` when it is not a policy document."""
    if document is None or is_unknown(document):
        return
    content = json.loads(document) if isinstance(document, str) else document
    if not isinstance(content, Mapping) or "Statement" not in content:
        raise ValueError(f"{place} is not a policy document")
    statements = content["Statement"]
    for number, statement in enumerate(statements if isinstance(statements, list) else [statements], 1):
        if not isinstance(statement, Mapping):
            raise ValueError(f"{place} is not a policy document")
        if statement.get("Effect") == "Allow":
            yield AllowStatement(place=f"{place}, statement {number}", content=statement)


def wide_actions(statement: AllowStatement) -> Iterator[str]:
    """Yield the ways in which a statement allows too many actions."""
    if "NotAction" in statement.content:
        yield "allows all actions but some (NotAction)"
    for action in statement.list("Action"):
        if _SERVICE_WIDE.match(action):
            yield f"allows {action}"


def wide_resources(statement: AllowStatement) -> Iterator[str]:
    """Yield the ways in which a statement allows actions on too many resources."""
    if "NotResource" in statement.content:
        yield "allows it on all resources but some (NotResource)"
    limitable = sorted(set(statement.list("Action")) - RESOURCELESS)
    for resource in statement.list("Resource"):
        if _ANY_RESOURCE.match(resource) and limitable:
            yield f"allows {', '.join(limitable)} on {resource}"


def wide_principals(statement: AllowStatement) -> Iterator[str]:
    """Yield the ways in which a statement admits unknown principals."""
    if "NotPrincipal" in statement.content:
        yield "lets in everyone but some (NotPrincipal)"
    principal = statement.content.get("Principal")
    by_kind = principal if isinstance(principal, Mapping) else {"AWS": principal}
    for kind, whom in by_kind.items():
        named = whom if isinstance(whom, list) else [whom]
        if "*" in named:
            yield "lets in everyone"
        elif kind == "Federated":
            yield from _federated(statement)


def _federated(statement: AllowStatement) -> Iterator[str]:
    """Yield a reason when a statement trusts an identity provider without naming the audience and the subject. Other
    customers have identities at the same provider."""
    named = dict(_conditions(statement.content.get("Condition") or {}))
    for part, what in (("aud", "audience"), ("sub", "subject")):
        values = named.get(part)
        if not values:
            yield f"lets in a provider's identities whatever their {what}"
        elif any("*" in value for value in values):
            yield f"lets in a provider's identities by a pattern of their {what}"


def _conditions(condition: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the values that string comparisons in a condition require, by the last part of the condition key."""
    for operator, keys in condition.items():
        if re.match(r"^(ForAnyValue:)?String(Equals|Like)$", operator) and isinstance(keys, Mapping):
            for key, value in keys.items():
                yield key.rpartition(":")[2], [str(text) for text in value] if isinstance(value, list) else [str(value)]


def _judged(place: str, document: Any, wide: Callable[[AllowStatement], Iterator[str]], write: str) -> Iterator[Breach]:
    try:
        for statement in allowing(place, document):
            for what in wide(statement):
                yield Breach(what=f"{statement.place}: {what}", write=write)
    except ValueError:
        yield Breach(
            what=f"{place} is not a policy document that can be judged", write="a JSON policy document, not secret"
        )


def _grants(resource: Resource) -> Iterator[tuple[str, Any]]:
    if resource.kind in GRANTS:
        yield "policy", resource.inputs.get("policy")
    for place, inline in sections(resource.inputs, "inlinePolicies"):
        yield f"{place}.policy", inline.get("policy")


def _actions(resource: Resource, _: Declared) -> Iterator[Breach]:
    for place, document in _grants(resource):
        yield from _judged(place, document, wide_actions, "the actions that are called, by their names")


def _resources(resource: Resource, _: Declared) -> Iterator[Breach]:
    write = "the resources by their names; clouds/aws/identity.py lists the actions that take none"
    for place, document in _grants(resource):
        yield from _judged(place, document, wide_resources, write)


def _principals(resource: Resource, _: Declared) -> Iterator[Breach]:
    place = "assumeRolePolicy" if resource.kind == ROLE else "policy"
    write = "the principals by name; for a provider's identities the audience and the subject, by StringEquals"
    yield from _judged(place, resource.inputs.get(place), wide_principals, write)


def _managed(resource: Resource, _: Declared) -> Iterator[Breach]:
    key = "managedPolicyArns" if resource.kind == ROLE else "policyArn"
    for arn in texts(resource.inputs, key):
        if arn.endswith(WIDE_MANAGED):
            yield Breach(what=f"{key}: {arn.rpartition('/')[2]}", write="a policy of the actions that are called")


def _long_lived(resource: Resource, _: Declared) -> Iterator[Breach]:
    what = resource.kind.rpartition(":")[2]
    yield Breach(what=f"{what}: a credential that does not expire", write="a role that is assumed with a token")


_ATTACHMENTS = frozenset(
    {
        ROLE,
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:iam/policyAttachment:PolicyAttachment",
        "aws:iam/userPolicyAttachment:UserPolicyAttachment",
    }
)

CHECKS = (
    Check(rule=policy_rules.IAM_ACTIONS, kinds=GRANTS | {ROLE}, look=_actions),
    Check(rule=policy_rules.IAM_RESOURCES, kinds=GRANTS | {ROLE}, look=_resources),
    Check(rule=policy_rules.IAM_PRINCIPALS, kinds=ADMITS | {ROLE}, look=_principals),
    Check(rule=policy_rules.IAM_MANAGED_POLICIES, kinds=_ATTACHMENTS, look=_managed),
    Check(
        rule=policy_rules.STANDING_KEYS,
        kinds=frozenset({"aws:iam/accessKey:AccessKey", "aws:iam/user:User"}),
        look=_long_lived,
    ),
)
