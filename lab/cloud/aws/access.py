"""Access control: the operator may do everything; a session may do only what its role's policies allow."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from lab.cloud.aws.conditions import holds, listed
from lab.cloud.aws.errors import AwsRefusalError
from lab.cloud.aws.signing import AccessKey
from lab.cloud.aws.targets import ActionTarget

if TYPE_CHECKING:
    from lab.cloud.aws.account import AwsAccount

ALWAYS = "sts:GetCallerIdentity"
"""Action that needs no permission and cannot be denied:
docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html."""


def key_of(account: AwsAccount, key_id: str) -> AccessKey | None:
    """Find an access key by its id; None when there is no such active key."""
    for user in account.iam.users.values():
        for key in user.access_keys:
            if key.access_key_id == key_id and key.status == "Active":
                return AccessKey(secret=key.secret_access_key)
    role = account.sts.get_assumed_role_from_access_key(key_id)
    if role is None:
        return None
    expires = role.expiration
    if expires.tzinfo is None:
        expires = expires.replace(tzinfo=datetime.UTC)
    return AccessKey(secret=role.secret_access_key, token=role.session_token, expires=expires)


def check_access(account: AwsAccount, key_id: str, action: str, target: ActionTarget | None) -> None:
    """Raise AwsRefusalError when the holder of a key may not do ``action`` (such as ``ec2:DescribeInstances``) to
    ``target``. ``target`` is None for actions that the lab does not limit to resources."""
    if action == ALWAYS:
        return
    who, policies = _policies(account, key_id)
    if not permitted(policies, action, target):
        service = action.partition(":")[0]
        code = "UnauthorizedOperation" if service == "ec2" else "AccessDenied"
        on = f" on resource: {target.arn}" if target else ""
        text = (
            f"User: {who} is not authorized to perform: {action}{on} because no identity-based policy allows the action"
        )
        raise AwsRefusalError(code, text, status=403)


def permitted(policies: list[Mapping[str, Any]], action: str, target: ActionTarget | None = None) -> bool:
    """Return whether policies allow an action. An Allow applies to the resources that it names, when its conditions
    hold; an Allow whose conditions the lab cannot evaluate does not apply. A Deny of the action always applies,
    whatever its resources and conditions."""
    statements = [statement for policy in policies for statement in listed(policy.get("Statement"))]
    meant = [statement for statement in statements if _matches(statement, action)]
    if any(statement.get("Effect") == "Deny" for statement in meant):
        return False
    values = {f"aws:ResourceTag/{name}": value for name, value in target.tags.items()} if target else {}
    return any(
        statement.get("Effect") == "Allow"
        and _names(statement, target)
        and holds(statement.get("Condition") or {}, values) is True
        for statement in meant
    )


def _names(statement: Mapping[str, Any], target: ActionTarget | None) -> bool:
    arn = target.arn if target else ""
    return any(pattern == "*" or fnmatchcase(arn, str(pattern)) for pattern in listed(statement.get("Resource")))


def _matches(statement: Mapping[str, Any], action: str) -> bool:
    if "NotAction" in statement:
        named = any(fnmatchcase(action.lower(), str(pattern).lower()) for pattern in listed(statement["NotAction"]))
        return not named
    return any(fnmatchcase(action.lower(), str(pattern).lower()) for pattern in listed(statement.get("Action")))


def _policies(account: AwsAccount, key_id: str) -> tuple[str, list[Mapping[str, Any]]]:
    iam = account.iam
    user = iam.get_user_from_access_key_id(key_id)
    if user is not None:
        inline = [iam.get_user_policy(user.name, name)["policy_document"] for name in user.policies]
        return str(user.arn), [json.loads(document) for document in inline]
    session = account.sts.get_assumed_role_from_access_key(key_id)
    if session is None:
        return key_id, []
    role = next((candidate for candidate in iam.get_roles() if candidate.arn == session.role_arn), None)
    return str(session.arn), [json.loads(role_policy) for role_policy in _role_policies(role)]


def _role_policies(role: Any) -> Iterator[str]:
    if role is None:
        return
    yield from role.policies.values()
    for policy in role.managed_policies.values():
        yield policy.document
