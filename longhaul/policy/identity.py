"""Who may do what: no wildcards, no standing keys, no passwords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from longhaul.policy.declared import Declared
from longhaul.policy.resource import BUCKET_POLICY, ROLE, SCALE_SET, VAULT, VIRTUAL_MACHINE, Resource
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.statements import Statement, allowing, wide_actions, wide_principals, wide_resources
from longhaul.policy.values import at, is_true, sections, shown, texts

GRANTS = frozenset(
    {
        "aws:iam/policy:Policy",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/userPolicy:UserPolicy",
        "aws:iam/groupPolicy:GroupPolicy",
    }
)
"""Kinds whose ``policy`` says what an identity may do."""

ADMITS = frozenset({BUCKET_POLICY, "aws:kms/key:Key", "aws:secretsmanager/secretPolicy:SecretPolicy"})
"""Kinds whose ``policy`` says whom a resource lets in."""

WIDE_MANAGED = ("AdministratorAccess", "PowerUserAccess", "FullAccess", "ReadOnlyAccess")
"""Ends of the names of AWS's managed policies that span services, or all of one (docs.aws.amazon.com, "AWS managed
policies for job functions"). ReadOnlyAccess reads buckets and user data too."""

_ATTACHMENTS = frozenset(
    {
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:iam/policyAttachment:PolicyAttachment",
        "aws:iam/userPolicyAttachment:UserPolicyAttachment",
    }
)
_LONG_LIVED = frozenset({"aws:iam/accessKey:AccessKey", "aws:iam/user:User"})


def _judged(place: str, document: Any, wide: Callable[[Statement], Iterator[str]], write: str) -> Iterator[Fault]:
    try:
        for statement in allowing(place, document):
            for what in wide(statement):
                yield Fault(what=f"{statement.place}: {what}", write=write)
    except ValueError:
        yield Fault(
            what=f"{place} is no policy document that can be judged", write="a JSON policy document, not secret"
        )


def _grants(resource: Resource) -> Iterator[tuple[str, Any]]:
    if resource.kind in GRANTS:
        yield "policy", resource.inputs.get("policy")
    for place, inline in sections(resource.inputs, "inlinePolicies"):
        yield f"{place}.policy", inline.get("policy")


def _actions(resource: Resource, _: Declared) -> Iterator[Fault]:
    for place, document in _grants(resource):
        yield from _judged(place, document, wide_actions, "the actions that are called, by their names")


def _resources(resource: Resource, _: Declared) -> Iterator[Fault]:
    write = "the resources by their names; longhaul/policy/statements.py lists the actions that take none"
    for place, document in _grants(resource):
        yield from _judged(place, document, wide_resources, write)


def _principals(resource: Resource, _: Declared) -> Iterator[Fault]:
    place = "assumeRolePolicy" if resource.kind == ROLE else "policy"
    write = "whom by name; for a provider's identities the audience and the subject, by StringEquals"
    yield from _judged(place, resource.inputs.get(place), wide_principals, write)


def _managed(resource: Resource, _: Declared) -> Iterator[Fault]:
    key = "managedPolicyArns" if resource.kind == ROLE else "policyArn"
    for arn in texts(resource.inputs, key):
        if arn.endswith(WIDE_MANAGED):
            yield Fault(what=f"{key}: {arn.rpartition('/')[2]}", write="a policy of the actions that are called")


def _long_lived(resource: Resource, _: Declared) -> Iterator[Fault]:
    what = resource.kind.rpartition(":")[2]
    yield Fault(what=f"{what}: a credential that does not end", write="a role that is taken with a token of its own")


def _vault(resource: Resource, _: Declared) -> Iterator[Fault]:
    roles = at(resource.inputs, "properties.enableRbacAuthorization")
    if not is_true(roles):
        yield Fault(what=f"properties.enableRbacAuthorization is {shown(roles)}", write="enableRbacAuthorization: true")


def _password(resource: Resource, _: Declared) -> Iterator[Fault]:
    root = "virtualMachineProfile.osProfile" if resource.kind == SCALE_SET else "osProfile"
    place = f"{root}.linuxConfiguration.disablePasswordAuthentication"
    if not is_true(at(resource.inputs, place)):
        yield Fault(what=f"{place} is {shown(at(resource.inputs, place))}", write="disablePasswordAuthentication: true")
    if at(resource.inputs, f"{root}.adminPassword") is not None:
        yield Fault(what=f"{root}.adminPassword is set", write="no password: an SSH key")


RULES = (
    Rule(
        id="iam-actions",
        reason="A role names the actions it may take: neither `*` nor all of a service, which grows with the service.",
        source="CIS AWS v5.0.0, 1.15; AWS Security Hub IAM.1 and IAM.21",
        kinds=frozenset({ROLE, *GRANTS}),
        look=_actions,
    ),
    Rule(
        id="iam-resources",
        reason="A role names what it may act on, unless the action can be limited to no resource.",
        source="docs.aws.amazon.com, Service Authorization Reference, Actions, resources, and condition keys",
        kinds=frozenset({ROLE, *GRANTS}),
        look=_resources,
    ),
    Rule(
        id="iam-principals",
        reason="Roles, buckets and keys let in whom they name, a provider's identities by audience and subject.",
        source="docs.aws.amazon.com, Create a role for OpenID Connect federation; AWS Security Hub KMS.5",
        kinds=frozenset({ROLE, *ADMITS}),
        look=_principals,
    ),
    Rule(
        id="iam-managed-policies",
        reason="No managed policy that spans services: it holds more than anything here calls.",
        source="CIS AWS v5.0.0, 1.15; docs.aws.amazon.com, AWS managed policies for job functions",
        kinds=frozenset({ROLE, *_ATTACHMENTS}),
        look=_managed,
    ),
    Rule(
        id="standing-keys",
        reason="Programs prove who they are with tokens that end: a key that stays is copied once and used for ever.",
        source="CIS AWS v5.0.0, 1.20; components/aws/controller.py",
        kinds=_LONG_LIVED,
        look=_long_lived,
    ),
    Rule(
        id="vault-roles",
        reason="A vault trusts roles, which are given secret by secret; its own access policies open all of them.",
        source="CIS Azure v4.0.0, 9.3.6; docs/certificates.md",
        kinds=frozenset({VAULT}),
        look=_vault,
    ),
    Rule(
        id="password-login",
        reason="Machines are signed in to with a key: passwords are guessed.",
        source='Azure Policy, "Authentication to Linux machines should require SSH keys"',
        kinds=frozenset({VIRTUAL_MACHINE, SCALE_SET}),
        look=_password,
    ),
)
