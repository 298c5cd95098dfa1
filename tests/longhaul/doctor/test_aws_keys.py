"""The keys of AWS volumes, and the roles that they have to admit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clouds.aws.reader import AwsReader
from clouds.aws.volume_keys import OPERATIONS, volume_keys
from clouds.base.findings import Finding, Severity
from tests.longhaul.doctor.test_aws import ROLE
from tests.longhaul.doctor.world import Sdk, raw_environment, share

KEY = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-00000000000a"
AUTOSCALING = "arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
SPOT = "spot.amazonaws.com/AWSServiceRoleForEC2Spot"
USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
ELSEWHERE = KEY.replace("123456789012", "111122223333")
OF_ACCOUNT = {
    "Effect": "Allow",
    "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
    "Action": "kms:*",
    "Resource": "*",
}


def statement(*actions: str, principal: Any = AUTOSCALING) -> dict[str, Any]:
    return {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": list(actions), "Resource": "*"}


def asked(
    sdk: Sdk,
    *statements: dict[str, Any],
    default: str = "alias/aws/ebs",
    snapshot: str = KEY,
    state: str = "Enabled",
    grants: tuple[str, ...] | None = None,
    spot: bool = False,
    customer_key: bool = True,
    key: str = KEY,
) -> list[Finding]:
    """Return the findings for a site whose default key, image and key's policy are as given."""
    raw = raw_environment()
    raw["pools"] = {"cpu": {"site": "use1", "machine_type": "m7i.xlarge", "max": 2, "spot": spot}}
    mapping = {"DeviceName": "/dev/sda1", "Ebs": {"SnapshotId": "snap-0123456789abcdef0"}}
    sdk.says("ec2", "get_ebs_default_kms_key_id", {"KmsKeyId": default}, {})
    sdk.says("ec2", "describe_images", {"Images": [{"BlockDeviceMappings": [mapping]}]})
    sdk.says(
        "ec2",
        "describe_snapshots",
        {"Snapshots": [{"Encrypted": True, **({"KmsKeyId": snapshot} if snapshot else {})}]},
    )
    if not customer_key:
        return list(volume_keys(share("aws", raw), AwsReader(sdk), "use1"))
    metadata = {"KeyId": KEY[-36:], "Arn": key, "KeyManager": "CUSTOMER", "KeyState": state}
    sdk.says("kms", "describe_key", {"KeyMetadata": metadata})
    if state == "Enabled":
        sdk.says("sts", "get_caller_identity", ROLE, {})
    for _ in range(1 + spot if state == "Enabled" and key == KEY else 0):
        sdk.says("kms", "get_key_policy", {"Policy": json.dumps({"Statement": [OF_ACCOUNT, *statements]})})
        if grants is not None:
            listed = [{"Operations": list(grants)}] if grants else []
            sdk.says("kms", "list_grants", {"Grants": listed, "Truncated": False})
    if key != KEY and grants is None:
        sdk.refuses("kms", "list_grants", "AccessDeniedException")
    elif key != KEY:
        expected = {"KeyId": key, "GranteePrincipal": AUTOSCALING}
        sdk.says("kms", "list_grants", {"Grants": [{"Operations": list(grants or ())}], "Truncated": False}, expected)
    return list(volume_keys(share("aws", raw), AwsReader(sdk), "use1"))


@pytest.mark.parametrize("principal", [AUTOSCALING, [AUTOSCALING, "arn:aws:iam::123456789012:user/me"]])
def test_the_two_statements_admit_auto_scaling(sdk: Sdk, principal: Any) -> None:
    use, grant = statement(*USE, principal=principal), statement("kms:CreateGrant", principal=principal)
    (finding,) = asked(sdk, use, grant)
    assert (finding.severity, finding.what.endswith("admits AWSServiceRoleForAutoScaling")) == (Severity.OK, True)


def test_a_key_without_them_is_a_problem(sdk: Sdk) -> None:
    """The statement for the account leaves it to the role's own policies, which allow no customer's key."""
    (finding,) = asked(sdk, statement(*USE), grants=())
    assert finding.severity is Severity.PROBLEM
    assert "does not allow AWSServiceRoleForAutoScaling kms:CreateGrant, so no machine starts" in finding.what
    assert "docs/images.md" in finding.do


AWS_ALONE = {"Bool": {"kms:GrantIsForAWSResource": True}}
BY_EC2 = {"StringEquals": {"kms:ViaService": "ec2.us-east-1.amazonaws.com", "kms:CallerAccount": "123456789012"}}
FROM_A_NETWORK = {"StringEquals": {"aws:SourceVpce": "vpce-1"}}


@pytest.mark.parametrize(
    ("statements", "severity", "words"),
    [
        ([{"Condition": AWS_ALONE}], Severity.OK, "admits"),
        ([{"Condition": BY_EC2, "Principal": {"AWS": "*"}}], Severity.OK, "admits"),
        ([{"Condition": {"Bool": {"kms:GrantIsForAWSResource": "false"}}}], Severity.PROBLEM, "does not allow"),
        ([{"Condition": {"StringEquals": {"kms:CallerAccount": "1"}}}], Severity.PROBLEM, "does not allow"),
        ([{"Condition": FROM_A_NETWORK}], Severity.UNKNOWN, "under conditions that are not judged here"),
        ([{"Principal": "*"}], Severity.WARNING, "admits everybody in every account"),
        ([{}, {"Effect": "Deny"}], Severity.PROBLEM, "does not allow"),
        ([{}, {"Effect": "Deny", "Principal": "*"}], Severity.PROBLEM, "does not allow"),
        ([{}, {"Effect": "Deny", "Principal": OF_ACCOUNT["Principal"]}], Severity.PROBLEM, "does not allow"),
        ([{}, {"Effect": "Deny", "Principal": {"AWS": SPOT}}], Severity.OK, "admits"),
        ([{}, {"Effect": "Deny", "Condition": FROM_A_NETWORK}], Severity.UNKNOWN, "under conditions"),
        (
            [{}, {"Effect": "Deny", "Principal": "*", "Condition": {"StringNotEquals": BY_EC2["StringEquals"]}}],
            Severity.OK,
            "",
        ),
        ([{"Resource": ELSEWHERE}], Severity.PROBLEM, "does not allow"),
    ],
)
def test_what_denies_and_what_is_conditional_is_judged(
    sdk: Sdk, statements: list[dict[str, Any]], severity: Severity, words: str
) -> None:
    """An allowing statement had been taken for an admission, whatever its conditions and whoever denied it."""
    grants = None if severity in (Severity.OK, Severity.WARNING) else ()
    (finding,) = asked(sdk, *({**statement("kms:*"), **changed} for changed in statements), grants=grants)
    assert (finding.severity, words in finding.what) == (severity, True), finding.what


def test_a_grant_admits_too(sdk: Sdk) -> None:
    (finding,) = asked(sdk, grants=OPERATIONS)
    assert finding.severity is Severity.OK


@pytest.mark.parametrize(
    ("grants", "severity", "words"),
    [
        (OPERATIONS, Severity.OK, "of another account, admits AWSServiceRoleForAutoScaling"),
        (OPERATIONS[:-1], Severity.PROBLEM, "allows AWSServiceRoleForAutoScaling CreateGrant, so no machine starts"),
        (None, Severity.UNKNOWN, "the grants: AWS refuses (AccessDeniedException)"),
    ],
)
def test_a_key_of_another_account_needs_a_grant(
    sdk: Sdk, grants: tuple[str, ...] | None, severity: Severity, words: str
) -> None:
    """KMS shows its policy to nobody here, and a policy that admits the account does not admit the role."""
    (finding,) = asked(sdk, snapshot=ELSEWHERE, key=ELSEWHERE, grants=grants)
    assert (finding.severity, words in finding.what) == (severity, True), finding.what
    if severity is not Severity.OK:
        command = f"aws kms create-grant --region us-east-1 --key-id {ELSEWHERE} --grantee-principal {AUTOSCALING}"
        assert command in finding.do


def test_spot_machines_have_a_role_of_their_own(sdk: Sdk) -> None:
    """ "Service-linked role for Spot Instance requests" (EC2 user guide)."""
    spot = AUTOSCALING.replace("autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling", SPOT)
    both = [AUTOSCALING, spot]
    findings = asked(sdk, statement(*USE, principal=both), statement("kms:CreateGrant", principal=both), spot=True)
    assert [finding.what.rpartition(" ")[2] for finding in findings] == [
        "AWSServiceRoleForAutoScaling",
        "AWSServiceRoleForEC2Spot",
    ]


def test_a_disabled_key_is_a_problem(sdk: Sdk) -> None:
    (finding,) = asked(sdk, default=KEY, snapshot="", state="PendingDeletion")
    assert finding.what == f"AWS us-east-1: the volumes' key {KEY} is PendingDeletion"


def test_the_key_of_aws_needs_nothing(sdk: Sdk) -> None:
    (finding,) = asked(sdk, snapshot="", customer_key=False)
    assert finding.what == "AWS us-east-1: AWS's own key encrypts the volumes"
