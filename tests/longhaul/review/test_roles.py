"""The roles for previews: they can see everything that the program makes, and no secret."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from longhaul import review
from tests.support.azure_types import AZURE_TYPES

ROLES = Path(review.__file__).parent / "roles"

ISSUER = "token.actions.githubusercontent.com"

UNREAD = {"network.VirtualNetworkGatewayConnection"}
"""Resources that are not read: reading one shows its key."""

AZURE = {name: type_ for name, type_ in AZURE_TYPES.items() if name not in UNREAD}
"""Azure's types of the resources that are read."""

AWS = {
    "autoscaling": "autoscaling:DescribeAutoScalingGroups",
    "ec2": "ec2:DescribeVpcs",
    "iam": "iam:GetRole",
    "vpc": "ec2:DescribeSecurityGroupRules",
}
"""An action that reads resources, for each of the SDK's modules that the program uses."""

READ_BY_NAME = {
    "ec2.SubnetCidrReservation": "ec2:GetSubnetCidrReservations",
    "iam.InstanceProfile": "iam:GetInstanceProfile",
    "iam.OpenIdConnectProvider": "iam:GetOpenIDConnectProvider",
    "iam.Role": "iam:GetRole",
    "iam.RolePolicy": "iam:GetRolePolicy",
}

SECRETS = (
    "ec2:DescribeVpnConnections",
    "ec2:GetVpnConnectionDeviceSampleConfiguration",
    "ec2:GetPasswordData",
    "kms:Decrypt",
    "kms:GenerateDataKey",
    "secretsmanager:BatchGetSecretValue",
    "secretsmanager:GetSecretValue",
    "ssm:GetParameter",
    "ssm:GetParametersByPath",
)


def role(name: str) -> Any:
    return json.loads((ROLES / f"{name}.json").read_text(encoding="utf-8"))


def used(root: Path, folder: str) -> set[str]:
    """Return every resource that the components of one cloud make, as ``module.Type``."""
    text = "".join(path.read_text(encoding="utf-8") for path in (root / "components" / folder).glob("*.py"))
    # AWS's types may be chosen before they are called.
    found = re.findall(r"\baws\.([a-z0-9]+)\.([A-Z]\w+)", text) + re.findall(r"\b([a-z0-9]+)\.([A-Z]\w+)\(", text)
    return {f"{module}.{name}" for module, name in found if not name.endswith("Args")}


def actions(statement: dict[str, Any]) -> list[str]:
    given = statement["Action"]
    return [given] if isinstance(given, str) else given


def allowed(action: str) -> bool:
    """Return IAM's decision: an allowance, and no denial."""
    statements = role("aws-preview")["Statement"]
    effects = {one["Effect"] for one in statements for given in actions(one) if fnmatchcase(action, given)}
    return effects == {"Allow"}


def test_what_the_program_makes_in_azure_can_be_seen(root: Path) -> None:
    made = {name for name in used(root, "azure") if name.split(".")[0] in {key.split(".")[0] for key in AZURE}}
    assert made - UNREAD == set(AZURE)
    assert role("azure-preview")["Actions"] == sorted(f"{name}/read" for name in AZURE.values())


def test_nothing_in_azure_can_be_changed_or_be_read_that_is_secret() -> None:
    preview, state = role("azure-preview"), role("azure-state")
    assert preview["DataActions"] == []
    assert all(action.endswith("/read") and "*" not in action for action in preview["Actions"])
    assert not any("connections" in action for action in preview["Actions"])
    assert {"Microsoft.KeyVault/vaults/secrets/*", "Microsoft.KeyVault/vaults/keys/*"} <= set(preview["NotDataActions"])
    assert state["Actions"] == []
    assert state["DataActions"] == ["Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read"]


def test_what_the_program_makes_in_aws_can_be_seen(root: Path) -> None:
    made = {name for name in used(root, "aws") if name.split(".")[0] in AWS}
    assert {name.split(".")[0] for name in made} == set(AWS)
    assert [name for name in sorted(made) if not allowed(READ_BY_NAME.get(name, AWS[name.split(".")[0]]))] == []


@pytest.mark.parametrize("action", SECRETS)
def test_no_secret_in_aws_can_be_read(action: str) -> None:
    assert not allowed(action)


def test_nothing_in_aws_can_be_changed() -> None:
    verbs = {
        action.split(":")[1]
        for one in role("aws-preview")["Statement"]
        if one["Effect"] == "Allow"
        for action in actions(one)
    }
    assert {re.match("Describe|Get|List", verb) is not None for verb in verbs} == {True}
    assert "*" not in verbs


def test_only_the_state_is_read_from_buckets() -> None:
    statements = {one["Sid"]: one for one in role("aws-preview")["Statement"]}
    state = "arn:aws:s3:::STATE_BUCKET/.pulumi/*"
    assert statements["ReadTheStateWithItsSecretsEncrypted"]["Resource"] == state
    assert statements["ReadNothingElseThatIsStored"] == {
        "Sid": "ReadNothingElseThatIsStored",
        "Effect": "Deny",
        "Action": "s3:GetObject*",
        "NotResource": state,
    }


def test_every_action_exists() -> None:
    """Checked in botocore's models: an action has the name of its operation, except a few of S3's."""
    session = botocore.session.get_session()
    not_operations = {"s3:ListBucket"}
    for statement in role("aws-preview")["Statement"]:
        for action in actions(statement):
            service, pattern = action.split(":")
            names = session.get_service_model(service).operation_names
            assert action in not_operations or any(fnmatchcase(name, pattern) for name in names), action


@pytest.mark.parametrize("path", sorted(ROLES.glob("*-trust-*.json")), ids=lambda path: path.stem)
def test_only_this_repository_is_trusted(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    if path.name.startswith("azure"):
        assert set(content) == {"name", "issuer", "subject", "audiences"}
        assert content["issuer"] == f"https://{ISSUER}"
        subjects, audience = [content["subject"]], content["audiences"]
        assert audience == ["api://AzureADTokenExchange"]
    else:
        (statement,) = content["Statement"]
        # With StringLike, a name that contains a star would match others.
        assert set(statement["Condition"]) == {"StringEquals"}
        condition = statement["Condition"]["StringEquals"]
        assert condition[f"{ISSUER}:aud"] == "sts.amazonaws.com"
        given = condition[f"{ISSUER}:sub"]
        subjects = [given] if isinstance(given, str) else given
    assert all(subject.startswith("repo:OWNER/REPOSITORY:") and "*" not in subject for subject in subjects)
    assert any("environment:ENVIRONMENT" in subject for subject in subjects) == ("environment" in path.stem)


def test_each_is_documented(root: Path) -> None:
    text = (root / "docs" / "review.md").read_text(encoding="utf-8")
    assert [path.name for path in sorted(ROLES.glob("*.json")) if path.stem not in text] == []
