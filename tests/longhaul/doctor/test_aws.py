"""The questions to AWS, and the meaning of the answers. botocore's stub refuses requests and answers that its service
models do not have."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.aws import doctor
from clouds.aws.permissions import EXAMPLES, statements
from clouds.aws.permissions import permissions as asked
from clouds.aws.reader import AwsReader, endpoints
from clouds.base.findings import Finding, NotAskedError, Severity
from tests.longhaul.doctor.world import Sdk, raw_environment, severities, share

ROLE = {
    "Account": "123456789012",
    "Arn": "arn:aws:sts::123456789012:assumed-role/longhaul/me",
    "UserId": "AROAEXAMPLE:me",
}
ROLE_ARN = "arn:aws:iam::123456789012:role/ci/longhaul"
OURS = [{"Key": "longhaul-environment", "Value": "dev"}]


def test_whose_account_it_is(sdk: Sdk) -> None:
    sdk.says("sts", "get_caller_identity", ROLE, {})
    (found,) = doctor.credentials(share("aws"), AwsReader(sdk))
    assert found.severity is Severity.OK
    assert "the account 123456789012, as arn:aws:sts::123456789012:assumed-role/longhaul/me" in found.what


def test_root_is_warned_of(sdk: Sdk) -> None:
    sdk.says("sts", "get_caller_identity", {**ROLE, "Arn": "arn:aws:iam::123456789012:root"}, {})
    (found,) = doctor.credentials(share("aws"), AwsReader(sdk))
    assert found.severity is Severity.WARNING


def test_credentials_that_ended_are_unknown(sdk: Sdk) -> None:
    sdk.refuses("sts", "get_caller_identity", "ExpiredToken")
    with pytest.raises(NotAskedError, match="rejects the credentials") as raised:
        list(doctor.credentials(share("aws"), AwsReader(sdk)))
    assert "aws sso login" in raised.value.do


def evaluated(actions: list[str], *, denied: tuple[str, ...] = ()) -> dict[str, Any]:
    results = [
        {"EvalActionName": action, "EvalDecision": "implicitDeny" if action in denied else "allowed"}
        for action in actions
    ]
    return {"EvaluationResults": results, "IsTruncated": False}


def simulates(sdk: Sdk, *, denied: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Prepare IAM's answers to the policy's statements; return the requests that are expected."""
    sdk.says("sts", "get_caller_identity", ROLE, {})
    role = {"Path": "/ci/", "RoleName": "longhaul", "RoleId": "AROAEXAMPLE1234567", "Arn": ROLE_ARN}
    sdk.says("iam", "get_role", {"Role": {**role, "CreateDate": "2026-01-01T00:00:00Z"}}, {"RoleName": "longhaul"})
    requests = []
    for statement in statements():
        actions = [one for each in statement.actions for one in EXAMPLES.get(each, (each,))]
        requests.append({"actions": actions, "conditions": statement.conditions})
        sdk.says("iam", "simulate_principal_policy", evaluated(actions, denied=denied))
    return requests


def permissions(sdk: Sdk, raw: dict[str, Any] | None = None) -> list[Finding]:
    return list(asked(share("aws", raw), AwsReader(sdk)))


def test_everything_that_the_policy_lists_is_simulated(sdk: Sdk) -> None:
    requests = simulates(sdk)
    (found,) = permissions(sdk)
    assert found.severity is Severity.OK
    assert sdk.operations["SimulatePrincipalPolicy"] == len(requests)
    asked = {action for request in requests for action in request["actions"]}
    assert {"ec2:CreateVpc", "iam:PassRole", "autoscaling:CreateAutoScalingGroup"} <= asked
    assert not [action for action in asked if "*" in action]


def test_the_role_is_asked_about_with_region_and_resources(sdk: Sdk) -> None:
    seen: list[dict[str, Any]] = []
    sdk("iam", "us-east-1").meta.events.register(
        "provide-client-params.iam.SimulatePrincipalPolicy", lambda params, **_: seen.append(params)
    )
    simulates(sdk)
    permissions(sdk)
    assert {params["PolicySourceArn"] for params in seen} == {ROLE_ARN}
    by_action = {params["ActionNames"][0]: params for params in seen}
    assert by_action["ec2:CreateVpc"]["ContextEntries"] == [
        {
            "ContextKeyName": "aws:RequestedRegion",
            "ContextKeyValues": ["us-east-1"],
            "ContextKeyType": "string",
        }
    ]
    assert by_action["iam:PassRole"]["ResourceArns"] == ["arn:aws:iam::123456789012:role/dev-node"]
    assert by_action["autoscaling:CreateAutoScalingGroup"]["ResourceArns"] == [
        "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:longhaul:autoScalingGroupName/dev-node"
    ]


def test_a_prefix_of_names_stands_before_what_is_asked_about(sdk: Sdk) -> None:
    seen: list[str] = []
    sdk("iam", "us-east-1").meta.events.register(
        "provide-client-params.iam.SimulatePrincipalPolicy",
        lambda params, **_: seen.extend(params.get("ResourceArns", ())),
    )
    simulates(sdk)
    permissions(sdk, {**raw_environment(), "naming": {"prefix": "acme"}})
    assert "arn:aws:iam::123456789012:role/acme-dev-node" in seen
    assert not [arn for arn in seen if arn.endswith("/dev-node")]


def test_what_is_denied_is_named(sdk: Sdk) -> None:
    simulates(sdk, denied=("ec2:CreateVpc", "iam:PassRole", "iam:CreateServiceLinkedRole"))
    assert severities(permissions(sdk)) == [
        ("problem", "AWS, every region: not allowed: iam:PassRole"),
        ("problem", "AWS, us-east-1: not allowed: ec2:CreateVpc"),
        (
            "warning",
            "AWS: iam:CreateServiceLinkedRole is not allowed, which an account's first use of Auto Scaling needs",
        ),
    ]


@pytest.mark.parametrize("boundary", ["arn:aws:iam::123456789012:policy/others-boundary", ""])
def test_roles_are_simulated_with_the_boundary_that_the_file_names(sdk: Sdk, boundary: str) -> None:
    """The doctor simulated a boundary of its own, and ``up`` made roles with the file's or with none."""
    simulated: list[dict[str, Any]] = []
    sdk("iam", "us-east-1").meta.events.register(
        "provide-client-params.iam.SimulatePrincipalPolicy", lambda params, **_: simulated.append(params)
    )
    simulates(sdk, denied=("iam:CreateRole", "iam:PutRolePermissionsBoundary"))
    raw = raw_environment()
    raw["access"] = raw["access"] | ({"aws_permissions_boundary": boundary} if boundary else {})
    (finding,) = permissions(sdk, raw)
    (request,) = (params for params in simulated if "iam:CreateRole" in params["ActionNames"])
    values = [entry["ContextKeyValues"] for entry in request.get("ContextEntries", [])]
    assert values == ([[boundary]] if boundary else [])
    assert finding.severity is Severity.PROBLEM
    missing = "every region: not allowed: iam:CreateRole, iam:PutRolePermissionsBoundary"
    assert (missing if boundary else "the file names no access.aws_permissions_boundary, and the") in finding.what


@pytest.mark.parametrize(
    ("code", "severity"), [("DryRunOperation", Severity.OK), ("UnauthorizedOperation", Severity.PROBLEM)]
)
def test_who_may_not_simulate_tries_without_doing(sdk: Sdk, code: str, severity: Severity) -> None:
    sdk.says("sts", "get_caller_identity", ROLE, {})
    sdk.refuses("iam", "get_role", "AccessDenied")
    sdk.refuses("iam", "simulate_principal_policy", "AccessDenied")
    seen: list[dict[str, Any]] = []
    ec2 = sdk("ec2", "us-east-1")
    ec2.meta.events.register("provide-client-params.ec2.CreateVpc", lambda params, **_: seen.append(params))
    sdk.refuses("ec2", "create_vpc", code)
    most, one = permissions(sdk)
    assert most.severity is Severity.UNKNOWN
    assert most.do == "allow iam:SimulatePrincipalPolicy"
    assert one.severity is severity
    assert [params["DryRun"] for params in seen] == [True]


def image(sdk: Sdk) -> Finding:
    looked_at = share("aws")
    (found,) = doctor.image(looked_at, AwsReader(sdk), "use1")
    return found


@pytest.mark.parametrize(("state", "severity"), [("available", Severity.OK), ("pending", Severity.PROBLEM)])
def test_an_image_has_to_be_available(sdk: Sdk, state: str, severity: Severity) -> None:
    answer = {"Images": [{"ImageId": "ami-0123456789abcdef0", "Name": "node-1", "State": state}]}
    sdk.says("ec2", "describe_images", answer, {"ImageIds": ["ami-0123456789abcdef0"]})
    assert image(sdk).severity is severity


def test_an_image_that_is_not_there_is_to_be_baked(sdk: Sdk) -> None:
    sdk.refuses("ec2", "describe_images", "InvalidAMIID.NotFound")
    found = image(sdk)
    assert found.what == "AWS has no image ami-0123456789abcdef0 in us-east-1"
    assert "longhaul image build --env dev --site use1" in found.do


def test_a_placeholder_is_told_without_asking(sdk: Sdk) -> None:
    raw = raw_environment()
    raw["sites"]["use1"]["image"] = "ami-00000000000000000"
    looked_at = share("aws", raw)
    (found,) = doctor.image(looked_at, AwsReader(sdk), "use1")
    assert found.severity is Severity.PROBLEM
    assert not sdk.operations


def test_other_vpcs_that_overlap_are_a_warning(sdk: Sdk) -> None:
    def block(cidr: str, state: str) -> dict[str, Any]:
        return {"AssociationId": f"a-{cidr}", "CidrBlock": cidr, "CidrBlockState": {"State": state}}

    vpcs = [
        {"VpcId": "vpc-default", "CidrBlock": "172.31.0.0/16", "IsDefault": True},
        {
            "VpcId": "vpc-old",
            "CidrBlock": "192.168.0.0/16",
            "CidrBlockAssociationSet": [block("10.70.0.0/16", "associated"), block("10.71.0.0/16", "disassociated")],
        },
        {"VpcId": "vpc-ours", "CidrBlock": "10.65.0.0/16", "Tags": OURS},
    ]
    sdk.says("ec2", "describe_vpcs", {"Vpcs": vpcs}, {})
    found = list(doctor.addresses(share("aws"), AwsReader(sdk), "us-east-1"))
    assert severities(found) == [
        ("warning", "the VPC vpc-old in us-east-1 has 10.70.0.0/16, inside or around 10.64.0.0/12")
    ]


def test_where_the_services_answer_is_known_without_credentials() -> None:
    assert endpoints(("sts", "iam"), ["us-east-1"]) == {
        "us-east-1": ("https://sts.us-east-1.amazonaws.com", "https://iam.amazonaws.com")
    }


def test_no_credentials_are_said_in_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(NotAskedError, match="there are no AWS credentials here"):
        list(doctor.credentials(share("aws"), AwsReader()))
