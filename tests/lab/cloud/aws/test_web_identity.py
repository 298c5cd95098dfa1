"""Tokens of Azure's identity service, used to sign in to AWS."""

from __future__ import annotations

import json
from typing import Any

import boto3
import jwt
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric import rsa

from lab.cloud.aws.web_identity import trusted
from tests.lab.cloud.aws.site import client
from tests.lab.cloud.conftest import Live

TENANT = "00000000-0000-4000-8000-000000000002"
ISSUER = f"sts.windows.net/{TENANT}/"
AUDIENCE = "https://management.azure.com/"
ROLE = "arn:aws:iam::123456789012:role/controller"
PROVIDER = f"arn:aws:iam::123456789012:oidc-provider/{ISSUER}"
SUBJECT = "00000000-0000-4000-8000-000000000009"


def statement(conditions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    whole = {
        "Effect": "Allow",
        "Principal": {"Federated": PROVIDER},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": conditions,
        **changes,
    }
    return {"Version": "2012-10-17", "Statement": [whole]}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (statement({"StringEquals": {f"{ISSUER}:sub": SUBJECT, f"{ISSUER}:aud": AUDIENCE}}), True),
        (statement({"StringEquals": {f"{ISSUER}:sub": ["other", SUBJECT]}}), True),
        (statement({"StringEquals": {f"{ISSUER}:sub": "other"}}), False),
        (statement({"StringEquals": {f"{ISSUER}:amr": "x"}}), False),
        (statement({"StringLike": {f"{ISSUER}:sub": "00000000-*"}}), True),
        (statement({"ForAnyValue:StringEquals": {f"{ISSUER}:groups": ["b", "c"]}}), True),
        (statement({"StringEquals": {f"{ISSUER}:groups": "a"}}), False),
        (statement({"NumericLessThan": {f"{ISSUER}:exp": 1}}), False),
        (statement({}), True),
        (statement({}, Principal={"Federated": "arn:other"}), False),
        (statement({}, Action="sts:AssumeRole"), False),
    ],
)
def test_trust_policies(policy: dict[str, Any], expected: bool) -> None:
    values = {f"{ISSUER}:sub": SUBJECT, f"{ISSUER}:aud": AUDIENCE, f"{ISSUER}:groups": ["a", "b"]}
    assert trusted(policy, PROVIDER, values) is expected


def assume(token: str, **changes: Any) -> Any:
    sts = boto3.client("sts", region_name="us-east-1", config=Config(signature_version=UNSIGNED))
    given = {"RoleArn": ROLE, "RoleSessionName": "api-0", "WebIdentityToken": token, **changes}
    return sts.assume_role_with_web_identity(**given)


def prepare(policy: dict[str, Any] | None = None) -> None:
    """Make the provider and the role; ``policy`` is what the role may do, to look at instances unless given."""
    iam = client("iam")
    iam.create_open_id_connect_provider(Url=f"https://{ISSUER}", ClientIDList=[AUDIENCE])
    conditions = {f"{ISSUER}:sub": [SUBJECT], f"{ISSUER}:aud": [AUDIENCE]}
    trust = json.dumps(statement({"StringEquals": conditions}))
    iam.create_role(RoleName="controller", AssumeRolePolicyDocument=trust)
    document = {"Statement": [{"Effect": "Allow", "Action": ["ec2:DescribeInstances"], "Resource": "*"}]}
    held = policy or {"Version": "2012-10-17", **document}
    iam.put_role_policy(RoleName="controller", PolicyName="look", PolicyDocument=json.dumps(held))


def session(live: Live) -> dict[str, str]:
    """Return credentials of the role."""
    given = assume(token(live))["Credentials"]
    return {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }


def token(live: Live, *, subject: str = SUBJECT, audience: str = AUDIENCE, life_s: int = 600) -> str:
    return live.cloud._identity.token(object_id=subject, app_id="app", audience=audience, life_s=life_s)


def test_a_token_of_the_tenant_becomes_a_session(aws: Live) -> None:
    prepare()
    answer = assume(token(aws))
    assert (answer["SubjectFromWebIdentityToken"], answer["Audience"]) == (SUBJECT, AUDIENCE)
    credentials = session(aws)
    assert client("sts", **credentials).get_caller_identity()["Arn"].endswith("assumed-role/controller/api-0")
    assert client("ec2", **credentials).describe_instances()["Reservations"] == []
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        client("ec2", **credentials).create_vpc(CidrBlock="10.0.0.0/16")
    with pytest.raises(ClientError, match="AccessDenied"):
        client("iam", **credentials).list_roles()


def test_others_do_not(aws: Live) -> None:
    prepare()
    forged = jwt.encode(
        {**jwt.decode(token(aws), options={"verify_signature": False})},
        rsa.generate_private_key(public_exponent=65537, key_size=2048),
        algorithm="RS256",
    )
    for wrong, code in (
        (forged, "InvalidIdentityToken"),
        ("nonsense", "InvalidIdentityToken"),
        (token(aws, life_s=-60), "ExpiredTokenException"),
        (token(aws, audience="https://vault.azure.net"), "InvalidIdentityToken"),
        (token(aws, subject="other"), "AccessDenied"),
    ):
        with pytest.raises(ClientError) as refused:
            assume(wrong)
        assert refused.value.response["Error"]["Code"] == code
    with pytest.raises(ClientError, match="AccessDenied"):
        assume(token(aws), RoleArn=f"{ROLE}-other")
    with pytest.raises(ClientError, match="ValidationError"):
        assume(token(aws), DurationSeconds=7200)


def test_client_ids_can_be_changed(aws: Live) -> None:
    prepare()
    iam, bare = client("iam"), AUDIENCE.rstrip("/")
    iam.add_client_id_to_open_id_connect_provider(OpenIDConnectProviderArn=PROVIDER, ClientID=bare)
    iam.remove_client_id_from_open_id_connect_provider(OpenIDConnectProviderArn=PROVIDER, ClientID=AUDIENCE)
    assert iam.get_open_id_connect_provider(OpenIDConnectProviderArn=PROVIDER)["ClientIDList"] == [bare]
    with pytest.raises(ClientError, match="audience"):
        assume(token(aws))
