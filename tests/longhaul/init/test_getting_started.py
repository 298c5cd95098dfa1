"""docs/getting-started.md is correct, as far as that can be checked without an account."""

from __future__ import annotations

import ast
import fnmatch
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from clouds.aws import permissions as aws
from clouds.aws.live_groups import SCALES
from clouds.azure import permissions as azure
from clouds.azure.names import STORAGE
from clouds.azure.polled_operations import POLLED_OPERATIONS, polling_rights
from clouds.azure.roles import AUTOSCALER, BLOB_CONTRIBUTOR, BLOB_READER, READER, SECRETS_OFFICER, SECRETS_USER
from components.aws.node_controller_access import ACTIONS
from components.model.pools.machine_types import known_machine_types
from lab.cloud.aws.actions import known_actions
from longhaul import cli
from longhaul.init.sizes import SIZES
from longhaul.terminal.exits import Exit
from tests.longhaul.init.asked import KEY, Here
from tests.support.azure_types import AZURE_TYPES

POLICY_SIZE = 6144
"""Maximum characters of a managed policy, without white space (docs.aws.amazon.com, "IAM and AWS STS quotas")."""

PERMISSION_ONLY = {"iam:PassRole"}
"""Actions without an operation of the same name."""

NOT_THE_OPERATORS = {
    "sts:AssumeRoleWithWebIdentity",  # the node controller, with no policy
}
"""Actions that the lab's AWS knows and the operator's policy does not allow, with their users."""

AWS = {
    "autoscaling.Group": (
        "autoscaling:CreateAutoScalingGroup",
        "autoscaling:SetInstanceProtection",  # upon deletion
        "iam:PassRole",
        "ec2:RunInstances",
    ),
    "ec2.CustomerGateway": ("ec2:CreateCustomerGateway",),
    "ec2.Eip": ("ec2:AllocateAddress",),
    "ec2.InternetGateway": ("ec2:CreateInternetGateway", "ec2:AttachInternetGateway"),
    "ec2.LaunchTemplate": ("ec2:CreateLaunchTemplate", "ec2:CreateLaunchTemplateVersion"),
    "ec2.NatGateway": ("ec2:CreateNatGateway",),
    "ec2.Route": ("ec2:CreateRoute",),
    "ec2.RouteTable": ("ec2:CreateRouteTable",),
    "ec2.RouteTableAssociation": ("ec2:AssociateRouteTable",),
    "ec2.SecurityGroup": ("ec2:CreateSecurityGroup", "ec2:RevokeSecurityGroupEgress"),
    "ec2.Subnet": ("ec2:CreateSubnet",),
    "ec2.SubnetCidrReservation": ("ec2:CreateSubnetCidrReservation",),
    "ec2.Vpc": ("ec2:CreateVpc", "ec2:ModifyVpcAttribute"),
    "ec2.PlacementGroup": ("ec2:CreatePlacementGroup",),
    "ec2.VpcEndpoint": ("ec2:CreateVpcEndpoint",),
    "ec2.VpcIpv4CidrBlockAssociation": ("ec2:AssociateVpcCidrBlock",),
    "ec2.VpcPeeringConnection": ("ec2:CreateVpcPeeringConnection",),
    "ec2.VpcPeeringConnectionAccepter": ("ec2:AcceptVpcPeeringConnection",),
    "ec2.VpnConnection": ("ec2:CreateVpnConnection",),
    "ec2.VpnConnectionRoute": ("ec2:CreateVpnConnectionRoute",),
    "ec2.VpnGateway": ("ec2:CreateVpnGateway", "ec2:AttachVpnGateway"),
    "iam.InstanceProfile": ("iam:CreateInstanceProfile", "iam:AddRoleToInstanceProfile"),
    "iam.OpenIdConnectProvider": ("iam:CreateOpenIDConnectProvider",),
    "iam.Role": ("iam:CreateRole",),
    "iam.RolePolicy": ("iam:PutRolePolicy",),
    "vpc.SecurityGroupEgressRule": ("ec2:AuthorizeSecurityGroupEgress",),
    "vpc.SecurityGroupIngressRule": ("ec2:AuthorizeSecurityGroupIngress",),
}
"""Actions that creating a resource needs, by the program's resource."""


@pytest.fixture(scope="module", name="page")
def _page() -> str:
    return (Path(__file__).parents[3] / "docs" / "getting-started.md").read_text(encoding="utf-8")


def marked(page: str, name: str) -> str:
    """Return the text after a mark of the page, up to the next empty line."""
    return page.split(f"<!-- {name} -->\n")[1].partition("\n\n")[0]


@pytest.fixture(name="actions")
def _actions(page: str, root: Path) -> list[str]:
    """The actions of the role for Azure."""
    return list(linked(page, root, azure.ROLE)["Actions"])


@pytest.fixture(name="policy")
def _policy(page: str, root: Path) -> dict[str, Any]:
    """The policy for AWS."""
    return linked(page, root, aws.POLICY)


def linked(page: str, root: Path, path: Path) -> dict[str, Any]:
    """Return the JSON of a file to which the page leads."""
    assert f"](../{path.relative_to(root)})" in page
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def commands(page: str) -> Iterator[list[str]]:
    """Yield every command line of Longhaul in the page's blocks."""
    lines = re.sub(r"\\\n", " ", page).splitlines()
    for line in lines:
        if line.startswith("    ") and line.strip().startswith("longhaul "):
            yield shlex.split(line, comments=True)[1:]


def resources(folder: Path, *, sdk: str) -> set[str]:
    """Return the resources that a folder's modules make, as `module.Class`: calls of the SDK's classes, except classes
    of arguments."""
    found = set()
    for path in folder.glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        imported = {name for node in nodes for name in from_sdk(node, sdk)}
        called = [node.func for node in nodes if isinstance(node, ast.Call)]
        # The class may be chosen before it is called.
        chosen = [one for node in nodes if isinstance(node, ast.IfExp) for one in (node.body, node.orelse)]
        for name in (ast.unparse(node).split(".") for node in (*called, *chosen) if isinstance(node, ast.Attribute)):
            if len(name) > 1 and name[0] in imported and name[-1] != "Provider" and not name[-1].endswith("Args"):
                found.add(".".join(name[-2:]))
    return found


def looked_up(name: str) -> str:
    """Return the resource that a lookup (`network.get_virtual_network_output`) reads, in lower case; empty for
    others."""
    module, _, function = name.partition(".")
    found = re.fullmatch(r"get_(\w+)_output", function)
    return f"{module}.{found[1].replace('_', '')}".lower() if found else ""


def from_sdk(node: ast.AST, sdk: str) -> set[str]:
    """Return the names that an import gives to the SDK or its modules."""
    if isinstance(node, ast.ImportFrom) and node.module == sdk:
        return {alias.asname or alias.name for alias in node.names}
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name for alias in node.names if alias.name == sdk}
    return set()


def allowed(policy: dict[str, Any]) -> list[str]:
    """Return every action, or pattern of actions, that a policy allows."""
    found = [statement["Action"] for statement in policy["Statement"]]
    return [action for actions in found for action in ([actions] if isinstance(actions, str) else actions)]


def covers(patterns: list[str], action: str) -> bool:
    return any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)


def test_every_command_is_one(page: str) -> None:
    found = list(commands(page))
    assert {words[0] for words in found} >= {
        "init",
        "validate",
        "plan",
        "image",
        "prices",
        "up",
        "status",
        "destroy",
    }
    for words in found:
        assert cli.parse(words).command == words[0]


def test_the_example_of_init_makes_an_environment(page: str, here: Here) -> None:
    words = next(words for words in commands(page) if "--yes" in words and words[0] == "init")
    replaced = {"E": "trial", "~/.ssh/id_ed25519.pub": KEY}
    done = here.init(*(replaced.get(word, word) for word in words[1:]))
    assert done.code == Exit.OK, done.err
    assert list(here.load("trial").pools) == ["aws-cpu"]


def test_every_other_page_that_it_leads_to_is_there(page: str, root: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"\n", "", page)):
        assert target.startswith("https://") or (root / "docs" / target).is_file(), target


def test_the_azure_role_covers_every_resource(actions: list[str], root: Path) -> None:
    named = resources(root / "components" / "azure", sdk="pulumi_azure_native")
    assert {name for name in named if not looked_up(name)} == set(AZURE_TYPES)
    # Every kind that is only read is also made, and so is in the loop below.
    assert {read for name in named if (read := looked_up(name))} <= {name.lower() for name in AZURE_TYPES}
    for kind in AZURE_TYPES.values():
        verbs = {"read", *(() if kind in DECISIVE else ("write",)), *(() if kind in IRREVOCABLE else ("delete",))}
        assert all(covers(actions, f"{kind}/{verb}") for verb in verbs), kind
    for action in (
        "Microsoft.Compute/virtualMachines/runCommand/action",
        "Microsoft.Compute/virtualMachines/start/action",
        "Microsoft.Compute/virtualMachineScaleSets/manualUpgrade/action",
        "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action",
        "Microsoft.Network/virtualNetworks/peer/action",
        "Microsoft.Network/virtualNetworks/subnets/join/action",
        "Microsoft.Network/virtualNetworks/subnets/joinViaServiceEndpoint/action",
        "Microsoft.Network/natGateways/join/action",
    ):
        assert covers(actions, action), action


IRREVOCABLE = {
    "Microsoft.KeyVault/vaults",
    "Microsoft.Resources/subscriptions/resourceGroups",
    "Microsoft.Storage/storageAccounts",
    "Microsoft.Storage/storageAccounts/blobServices/containers",
    "Microsoft.Storage/storageAccounts/managementPolicies",
}
"""Types whose deletion is the second role's."""

DECISIVE = {"Microsoft.Storage/storageAccounts", "Microsoft.Storage/storageAccounts/managementPolicies"}
"""Types whose change ends backups before their time: with a key of somebody's own vault, or with a rule of expiry."""


def test_two_roles_on_azure_share_nothing(page: str, root: Path, actions: list[str]) -> None:
    second = linked(page, root, azure.DESTROY_ROLE)["Actions"]
    assert not set(actions) & set(second)
    assert {f"{kind}/delete" for kind in IRREVOCABLE} | {f"{kind}/write" for kind in DECISIVE} <= set(second)
    retention = "Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies"
    assert {f"{retention}/write", f"{retention}/delete"} <= set(second)


def test_the_azure_role_may_poll_what_every_resource_polls(actions: list[str]) -> None:
    """Rights on a resource say nothing about its operations: the first ``up`` had failed at the private zone."""
    assert set(AZURE_TYPES.values()) <= set(POLLED_OPERATIONS)
    assert not [right for right in polling_rights() if not covers(actions, right)]


@pytest.mark.parametrize("file", [azure.ROLE, azure.DESTROY_ROLE], ids=lambda file: file.stem)
def test_the_azure_roles_list_single_operations(file: Path) -> None:
    """A pattern grows with the service: ``userAssignedIdentities/*`` came to hold federated credentials."""
    role = json.loads(file.read_text(encoding="utf-8"))
    assert not [action for action in role["Actions"] if "*" in action]
    assert len(set(role["Actions"])) == len(role["Actions"])
    assert role.keys() == {"Name", "Description", "Actions", "AssignableScopes"}
    for attack in (
        "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/write",
        "Microsoft.Compute/virtualMachines/extensions/write",
        "Microsoft.Compute/virtualMachines/runCommands/write",
        "Microsoft.Compute/snapshots/beginGetAccess/action",
        "Microsoft.KeyVault/vaults/accessPolicies/write",
        "Microsoft.Storage/storageAccounts/listKeys/action",
        "Microsoft.Authorization/roleDefinitions/write",
        "Microsoft.Authorization/elevateAccess/Action",
    ):
        assert not covers(role["Actions"], attack), attack


def test_what_is_registered_on_azure_is_what_the_doctor_looks_for(page: str) -> None:
    assert set(re.findall(r"az provider register --namespace ([\w.]+)", page)) == {*azure.PROVIDERS, STORAGE}
    assert re.findall(r"az feature register --namespace ([\w.]+) --name (\w+)", page) == [*azure.FEATURES]


def test_the_azure_condition_names_the_roles_that_are_assigned(page: str) -> None:
    named = set(re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", marked(page, "azure-condition")))
    blobs = {BLOB_READER, BLOB_CONTRIBUTOR}
    assert named == {SECRETS_OFFICER, SECRETS_USER, READER, AUTOSCALER, *blobs}


def test_the_aws_policy_covers_every_resource(policy: dict[str, Any], root: Path) -> None:
    named = resources(root / "components" / "aws", sdk="pulumi_aws")
    assert {name for name in named if not looked_up(name)} == set(AWS)
    patterns = allowed(policy)
    assert all(read.startswith("ec2.") for name in named if (read := looked_up(name)))
    assert "ec2:Describe*" in patterns
    for needed in AWS.values():
        for action in needed:
            assert covers(patterns, action), action


def test_the_aws_policy_makes_no_role_beyond_the_boundary(page: str, root: Path, policy: dict[str, Any]) -> None:
    """A role that is made without a boundary may do everything, and so may its maker."""
    raising = {"iam:CreateRole", "iam:PutRolePolicy", "iam:DeleteRolePolicy", "iam:PutRolePermissionsBoundary"}
    for statement in policy["Statement"]:
        if raising & set(allowed({"Statement": [statement]})):
            assert set(statement["Action"]) == raising
            assert statement["Condition"]["StringEquals"][aws.BOUNDARY_KEY].endswith(":policy/E-boundary")
            assert statement["Resource"] == "arn:aws:iam::*:role/E-*"
    for attack in (
        *("iam:DeleteRolePermissionsBoundary", "iam:AttachRolePolicy", "iam:CreatePolicyVersion", "iam:CreateUser"),
        *("iam:SetDefaultPolicyVersion", "iam:CreateAccessKey", "iam:PutUserPolicy", "sts:AssumeRole"),
    ):
        assert not covers(allowed(policy), attack), attack
    passing = next(one for one in policy["Statement"] if "iam:PassRole" in allowed({"Statement": [one]}))
    assert passing["Condition"]["StringEquals"] == {"iam:PassedToService": "ec2.amazonaws.com"}
    boundary = linked(page, root, aws.BOUNDARY)
    assert sorted(allowed(boundary)) == sorted({*SCALES, *ACTIONS})


def test_the_aws_policy_covers_what_the_lab_needs(policy: dict[str, Any]) -> None:
    patterns = allowed(policy)
    known = {f"{service}:{action}" for service, actions in known_actions().items() for action in actions}
    looks = {action for action in known if action.startswith("iam:List")}
    missing = {action for action in known - looks if not covers(patterns, action)}
    assert missing == NOT_THE_OPERATORS


IN_BOTOCORE = {"servicequotas": "service-quotas", "tag": "resourcegroupstaggingapi"}
"""Services with different names in IAM and in the SDK."""


def test_the_aws_policy_names_nothing_that_there_is_not(policy: dict[str, Any]) -> None:
    session = botocore.session.Session()
    for pattern in set(allowed(policy)) - PERMISSION_ONLY:
        service, _, action = pattern.partition(":")
        model = session.get_service_model(IN_BOTOCORE.get(service, service))
        assert fnmatch.filter(model.operation_names, action), pattern


def test_the_aws_policy_is_one_that_aws_takes(policy: dict[str, Any]) -> None:
    text = json.dumps(policy)
    assert len(re.sub(r"\s", "", text)) <= POLICY_SIZE


def test_the_quotas_are_those_of_the_sizes(page: str) -> None:
    vcpus = {name: kind.vcpus for name, kind in known_machine_types().items()}
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|$", marked(page, "quotas"), re.MULTILINE)
    assert {name: (int(stores), int(servers)) for name, stores, servers in rows} == {
        name: (size.members * (vcpus[size.etcd_type] + vcpus[size.events_type]), size.servers * vcpus[size.api_type])
        for name, size in SIZES.items()
    }


def test_the_sizes_are_those_there_are(page: str) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d) / (\d) / (\d) \|", page, re.MULTILINE)
    assert {name: (int(etcd), int(events), int(api)) for name, etcd, events, api in rows} == {
        name: (size.members, size.members, size.servers) for name, size in SIZES.items()
    }
