"""Rights of the autoscaler in the clouds: as narrow as each cloud allows, and none to change anything when it only
looks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clouds.azure.live_groups import SCALES
from clouds.azure.permissions import AUTOSCALER_ROLE
from clouds.azure.roles import AUTOSCALER, READER
from components.aws.account import account_provider
from components.aws.autoscaler_access import AutoscalerRole
from components.aws.web_identity import RoleArgs
from components.azure.pool_access import PoolAccessArgs, ScaleSetAccess
from components.model import Environment
from components.model.autoscaler.section import Autoscaler
from tests.support.declared import Declared, Outputs, Program, declare
from tests.support.production import production

PRINCIPALS = {f"prod-api-{index}": f"scaler-{index}" for index in range(5)}
ISSUER = "sts.windows.net/00000000-0000-4000-8000-000000000004/"
PROVIDER = f"arn:aws:iam::123456789012:oidc-provider/{ISSUER}"
ASSIGNMENT = "azure-native:authorization:RoleAssignment"


def clouds(resource: Declared) -> dict[str, Any]:
    if resource.type == "aws:iam/role:Role":
        return {"arn": f"arn:aws:iam::123456789012:role/{resource.inputs['name']}"}
    return {}


def with_autoscaler(*, dry_run: bool = False) -> Environment:
    return production().model_copy(update={"autoscaler": Autoscaler(dry_run=dry_run)})


def access(environment: Environment) -> Program:
    def build() -> Outputs:
        account_provider(environment)
        ScaleSetAccess(
            "prod-autoscaler-access",
            PoolAccessArgs(environment=environment, principal_ids=PRINCIPALS, resource_groups={"weu": "prod-weu"}),
        )
        arguments = RoleArgs(environment=environment, principal_ids=PRINCIPALS, provider_arn=PROVIDER, tags={"a": "b"})
        return {"role": AutoscalerRole("prod-autoscaler", arguments).role_arn}

    return declare(build, answer=clouds)


@pytest.fixture(name="program", scope="module")
def _program() -> Program:
    return access(with_autoscaler())


def statements(program: Program) -> list[dict[str, Any]]:
    [policy] = program.of("aws:iam/rolePolicy:RolePolicy")
    found: list[dict[str, Any]] = json.loads(policy.inputs["policy"])["Statement"]
    return found


def test_its_own_identities_alone_take_the_role(program: Program) -> None:
    [role] = program.of("aws:iam/role:Role")
    [statement] = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Federated": PROVIDER}
    assert statement["Condition"]["StringEquals"][f"{ISSUER}:sub"] == sorted(PRINCIPALS.values())


def test_in_aws_it_changes_this_environment_s_groups_alone(program: Program) -> None:
    look, act = statements(program)
    assert all(":Describe" in action for action in look["Action"])
    assert set(act["Action"]) == {
        "autoscaling:SetDesiredCapacity",
        "autoscaling:TerminateInstanceInAutoScalingGroup",
    }
    assert act["Condition"] == {"StringEquals": {"aws:ResourceTag/longhaul-environment": "prod"}}
    assert act["Resource"]
    for arn in act["Resource"]:
        assert arn.startswith("arn:aws:autoscaling:")
        assert arn.rpartition("/")[2].startswith("prod-")
        assert not arn.endswith("*")


def test_in_azure_it_has_a_role_of_its_own_on_sites_with_pools_alone(program: Program) -> None:
    grants = program.of(ASSIGNMENT)
    assert {one.inputs["principalId"] for one in grants} == set(PRINCIPALS.values())
    for one in grants:
        assert one.inputs["roleDefinitionId"].endswith(AUTOSCALER)
        assert one.inputs["scope"].endswith("/resourceGroups/prod-weu")


def test_the_role_is_for_scale_sets_and_what_their_models_name() -> None:
    role = json.loads(AUTOSCALER_ROLE.read_text(encoding="utf-8"))["properties"]
    (permission,) = role["permissions"]
    others = set(permission["actions"]) - set(SCALES)
    assert set(SCALES) <= set(permission["actions"])
    assert others == {
        "Microsoft.Compute/capacityReservationGroups/deploy/action",
        "Microsoft.Compute/galleries/images/versions/read",
        "Microsoft.Network/networkSecurityGroups/join/action",
        "Microsoft.Network/virtualNetworks/subnets/join/action",
    }
    assert not any("*" in action for action in permission["actions"])


def test_one_that_only_looks_can_change_nothing() -> None:
    program = access(with_autoscaler(dry_run=True))
    [look] = statements(program)
    assert all(":Describe" in action for action in look["Action"])
    for one in program.of(ASSIGNMENT):
        assert one.inputs["roleDefinitionId"].endswith(READER)


def test_where_azure_has_no_pools_nothing_is_granted() -> None:
    pools = {name: pool for name, pool in production().pools.items() if pool.site != "weu"}
    without = access(with_autoscaler().model_copy(update={"pools": pools}))
    assert without.of(ASSIGNMENT) == ()
