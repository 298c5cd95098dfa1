"""Judgement of a KMS key's policy: does it allow a role of AWS's an action, for volumes that EC2 encrypts?

Statements that deny win over those that allow; an element of ``Condition`` that is not judged here leaves the answer
open (docs.aws.amazon.com/IAM/latest/UserGuide, "Policy evaluation logic";
docs.aws.amazon.com/kms/latest/developerguide, "Key policies in AWS KMS" and "AWS KMS condition keys").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any


class KeyAdmission(StrEnum):
    """Answer of a key's policy."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    """No statement allows it, or one denies it."""
    CONDITIONAL = "conditional"
    """It depends on a condition that is not judged here."""


@dataclass(frozen=True, kw_only=True)
class RoleRequest:
    """Request of a role for a key."""

    role: str
    """ARN of the role."""
    key: str
    """ARN of the key."""
    region: str

    @property
    def account(self) -> str:
        """Return the account of the role."""
        return self.role.split(":")[4]

    def known(self) -> dict[str, str]:
        """Return the condition keys whose values are known when Auto Scaling launches a machine with an encrypted
        volume: EC2 asks for it, for the role, and the grants that it makes are for an AWS resource (AWS, "Required AWS
        KMS key policy for use with encrypted volumes"; "kms:ViaService", "kms:CallerAccount",
        "kms:GrantIsForAWSResource")."""
        return {
            "kms:viaservice": f"ec2.{self.region}.amazonaws.com",
            "kms:calleraccount": self.account,
            "kms:grantisforawsresource": "true",
            "aws:principalarn": self.role,
            "aws:principalaccount": self.account,
        }


def judge(policy: Mapping[str, Any], request: RoleRequest, action: str) -> KeyAdmission:
    """Return whether a key's policy allows a role an action. A statement for the account allows a service-linked role
    nothing: it leaves the decision to the role's own policies, which allow no customer's key."""
    concerning = [statement for statement in statements(policy) if _concerns(statement, request, action)]
    denying = [_holds(item, request) for item in concerning if item.get("Effect") == "Deny"]
    allowing = [_holds(item, request) for item in concerning if item.get("Effect") == "Allow"]
    if True in denying or not any(answer is not False for answer in allowing):
        return KeyAdmission.REFUSED
    if None in denying or True not in allowing:
        return KeyAdmission.CONDITIONAL
    return KeyAdmission.ALLOWED


def is_open(policy: Mapping[str, Any]) -> bool:
    """Return whether the policy allows everybody in every account something, without a condition."""
    return any(
        statement.get("Effect") == "Allow"
        and "*" in _principals(statement.get("Principal"))
        and not statement.get("Condition")
        for statement in statements(policy)
    )


def statements(policy: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the policy's statements, of which there may be one without a list."""
    listed = policy.get("Statement", [])
    return listed if isinstance(listed, list) else [listed]


def _concerns(statement: Mapping[str, Any], request: RoleRequest, action: str) -> bool:
    """Return whether principal, action and resource of a statement include the request. The account's principal
    includes the role in a statement that denies, and not in one that allows."""
    denies = statement.get("Effect") == "Deny"
    names = {request.role, "*"}
    if denies:
        names |= {request.account, f"{':'.join(request.role.split(':')[:5])}:root"}
    if "NotPrincipal" in statement:
        included = not names & set(_principals(statement["NotPrincipal"]))
    else:
        included = bool(names & set(_principals(statement.get("Principal"))))
    if "NotAction" in statement:
        acts = not _matches(action.lower(), statement["NotAction"])
    else:
        acts = _matches(action.lower(), statement.get("Action"))
    resources = statement.get("Resource", "*")
    return included and acts and any(fnmatchcase(request.key, pattern) for pattern in _list(resources))


def _holds(statement: Mapping[str, Any], request: RoleRequest) -> bool | None:
    """Return whether a statement's conditions hold; None when one is not judged."""
    answers = list(_answers(statement.get("Condition") or {}, request.known()))
    return False if False in answers else None if None in answers else True


def _answers(conditions: Mapping[str, Mapping[str, Any]], known: Mapping[str, str]) -> Iterator[bool | None]:
    for operator, keys in conditions.items():
        for key, values in keys.items():
            value = known.get(key.lower())
            given = [str(item).lower() if isinstance(item, bool) else str(item) for item in _items(values)]
            if value is None:
                yield None
            elif operator in ("StringEquals", "ArnEquals", "Bool"):
                yield value in given
            elif operator in ("StringNotEquals", "ArnNotEquals"):
                yield value not in given
            elif operator in ("StringLike", "ArnLike"):
                yield any(fnmatchcase(value, pattern) for pattern in given)
            else:
                yield None


def _matches(action: str, patterns: Any) -> bool:
    return any(fnmatchcase(action, pattern.lower()) for pattern in _list(patterns))


def _principals(principal: Any) -> list[str]:
    return _list(principal.get("AWS") if isinstance(principal, dict) else principal)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _list(value: Any) -> list[str]:
    return [str(item) for item in _items(value)]
