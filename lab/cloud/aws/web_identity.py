"""Decides whether a token of another identity service may start a session of a role.

docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html and
docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html, "Available keys for AWS OIDC
federation".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from lab.cloud.aws.conditions import holds, listed
from lab.cloud.aws.errors import AwsRefusalError
from lab.cloud.azure.identity import TokenError

ACTION = "sts:AssumeRoleWithWebIdentity"
SHORTEST_S, LONGEST_S = 900, 43200


@dataclass(frozen=True, kw_only=True)
class SessionGrant:
    """A granted session."""

    role_arn: str
    session: str
    duration: int
    """Length of the session in seconds."""
    subject: str
    audience: str
    provider: str
    """ARN of the identity provider."""


def grant(
    iam: Any,
    *,
    role_arn: str | None,
    session: str | None,
    duration: int,
    token: str | None,
    claims: Callable[[str], Mapping[str, Any]],
) -> SessionGrant:
    """Check a token against the account's providers and the role's trust policy.

    Raises:
        AwsRefusalError: the token is refused; the message is STS's.
    """
    if not (role_arn and session and token):
        raise AwsRefusalError("ValidationError", "RoleArn, RoleSessionName and WebIdentityToken are required")
    role = next((candidate for candidate in iam.get_roles() if candidate.arn == role_arn), None)
    limit = int(getattr(role, "max_session_duration", None) or 3600)
    if not SHORTEST_S <= duration <= min(LONGEST_S, limit):
        text = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        raise AwsRefusalError("ValidationError", text)
    try:
        claimed = claims(token)
    except TokenError as problem:
        code = "ExpiredTokenException" if "expired" in str(problem).lower() else "InvalidIdentityToken"
        raise AwsRefusalError(code, f"Couldn't verify the token: {problem}") from problem
    issuer, audience = str(claimed["iss"]).removeprefix("https://"), str(claimed["aud"])
    provider = next(
        (open_id_provider for open_id_provider in iam.open_id_providers.values() if open_id_provider.url == issuer),
        None,
    )
    if provider is None:
        text = f"No OpenIDConnect provider found in your account for https://{issuer}"
        raise AwsRefusalError("InvalidIdentityToken", text)
    if audience not in provider.client_id_list:
        raise AwsRefusalError("InvalidIdentityToken", "Incorrect token audience")
    values = {f"{issuer}:{name}": value for name, value in claimed.items()}
    if role is None or not trusted(json.loads(role.assume_role_policy_document), provider.arn, values):
        raise AwsRefusalError("AccessDenied", f"Not authorized to perform {ACTION}", status=403)
    return SessionGrant(
        role_arn=role_arn,
        session=session,
        duration=duration,
        subject=str(claimed["sub"]),
        audience=audience,
        provider=provider.arn,
    )


def trusted(policy: Mapping[str, Any], provider: str, values: Mapping[str, Any]) -> bool:
    """Return whether a trust policy admits a caller with these claims from this provider. If the lab cannot evaluate a
    statement, an Allow admits no caller, and a Deny denies every caller."""
    statements = [statement for statement in listed(policy.get("Statement")) if _meant(statement, provider)]
    denied = any(
        statement["Effect"] == "Deny" and holds(statement.get("Condition", {}), values) is not False
        for statement in statements
    )
    allowed = any(
        statement["Effect"] == "Allow" and holds(statement.get("Condition", {}), values) for statement in statements
    )
    return allowed and not denied


def _meant(statement: Mapping[str, Any], provider: str) -> bool:
    principal = statement.get("Principal", {})
    federated = listed(principal.get("Federated")) if isinstance(principal, Mapping) else []
    actions = listed(statement.get("Action"))
    return provider in federated and any(fnmatchcase(ACTION.lower(), str(action).lower()) for action in actions)
