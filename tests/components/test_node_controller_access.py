"""Permissions of the node controller in the clouds, and network rules of the API servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clouds.azure.roles import READER
from components.aws.account import account_provider
from components.aws.node_controller_access import NodeControllerAccess, NodeControllerAccessArgs
from components.aws.subnets import node_subnet
from components.azure.load_balancer import ApiLoadBalancer, ApiLoadBalancerArgs
from components.azure.network import SiteNetwork, SiteNetworkArgs
from components.azure.pool_access import AzureControllerAccess, PoolAccessArgs
from components.model import Environment, plan
from components.model.control_plane.health import READY_PATH
from components.model.identity.section import Identity
from components.model.nodes.joining import joining_ranges
from tests.model.make import issuer
from tests.support.declared import Declared, Outputs, Program, declare
from tests.support.production import production

PRINCIPALS = {f"prod-api-{index}": f"principal-{index}" for index in range(5)}
ISSUER = "sts.windows.net/00000000-0000-4000-8000-000000000004/"
PROVIDER = f"arn:aws:iam::123456789012:oidc-provider/{ISSUER}"


def clouds(resource: Declared) -> dict[str, Any]:
    match resource.type:
        case "aws:iam/openIdConnectProvider:OpenIdConnectProvider":
            return {"arn": PROVIDER}
        case "aws:iam/role:Role":
            return {"arn": f"arn:aws:iam::123456789012:role/{resource.inputs['name']}"}
    return {}


def access(environment: Environment) -> Program:
    def build() -> Outputs:
        account_provider(environment)
        arguments = NodeControllerAccessArgs(environment=environment, principal_ids=PRINCIPALS, tags={"a": "b"})
        AzureControllerAccess(
            "prod-controller-access",
            PoolAccessArgs(environment=environment, principal_ids=PRINCIPALS, resource_groups={"weu": "prod-weu"}),
        )
        return {"role": NodeControllerAccess("prod-node-controller", arguments).role_arn}

    return declare(build, answer=clouds)


@pytest.fixture(name="program", scope="module")
def _program() -> Program:
    return access(production())


def test_the_role_is_for_the_api_servers_identities_alone(program: Program) -> None:
    assert program.outputs["role"] == "arn:aws:iam::123456789012:role/prod-node-controller"
    [provider] = program.of("aws:iam/openIdConnectProvider:OpenIdConnectProvider")
    [role] = program.of("aws:iam/role:Role")
    assert provider.inputs["url"] == f"https://{ISSUER}"
    [statement] = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert statement["Effect"] == "Allow"
    assert statement["Principal"] == {"Federated": PROVIDER}
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    conditions = statement["Condition"]["StringEquals"]
    assert set(conditions) == {f"{ISSUER}:aud", f"{ISSUER}:sub"}
    assert conditions[f"{ISSUER}:sub"] == sorted(PRINCIPALS.values())
    assert conditions[f"{ISSUER}:aud"] == provider.inputs["clientIdLists"]


def test_the_account_s_identity_provider_is_used_where_it_is_there_already() -> None:
    """Two environments of one tenant can share an account. The second makes no identity provider: the account refuses
    it."""
    environment = production()
    there = environment.access.model_copy(update={"aws_identity_provider": PROVIDER})
    program = access(environment.model_copy(update={"access": there}))
    assert program.of("aws:iam/openIdConnectProvider:OpenIdConnectProvider") == ()
    [role] = program.of("aws:iam/role:Role")
    [statement] = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Federated": PROVIDER}


def test_the_role_has_the_boundary_that_the_file_names(program: Program) -> None:
    assert "permissionsBoundary" not in program.of("aws:iam/role:Role")[0].inputs
    environment = production()
    boundary = "arn:aws:iam::123456789012:policy/prod-boundary"
    bounded = environment.access.model_copy(update={"aws_permissions_boundary": boundary})
    roles = access(environment.model_copy(update={"access": bounded})).of("aws:iam/role:Role")
    assert [role.inputs["permissionsBoundary"] for role in roles] == [boundary]


def test_the_role_may_look_and_nothing_else(program: Program) -> None:
    [policy] = program.of("aws:iam/rolePolicy:RolePolicy")
    [statement] = json.loads(policy.inputs["policy"])["Statement"]
    assert statement["Action"] == ["ec2:DescribeInstances"]


def test_in_azure_it_reads_the_groups_of_sites_with_pools(program: Program) -> None:
    grants = program.of("azure-native:authorization:RoleAssignment")
    assert {grant.inputs["principalId"] for grant in grants} == set(PRINCIPALS.values())
    assert len({grant.inputs["roleAssignmentName"] for grant in grants}) == len(PRINCIPALS)
    for grant in grants:
        assert grant.inputs["roleDefinitionId"].endswith(READER)
        subscription = production().sites["weu"].subscription  # type: ignore[union-attr]
        assert grant.inputs["scope"] == f"/subscriptions/{subscription}/resourceGroups/prod-weu"


def test_where_azure_has_no_pools_nothing_is_granted() -> None:
    pools = {name: pool for name, pool in production().pools.items() if pool.site != "weu"}
    without = access(production().model_copy(update={"pools": pools}))
    assert without.of("azure-native:authorization:RoleAssignment") == ()


def api_rules(environment: Environment) -> dict[str, dict[str, Any]]:
    def build() -> Outputs:
        arguments = SiteNetworkArgs(
            environment=environment, addresses=plan(environment), site="weu", control_plane=True
        )
        SiteNetwork("prod-weu", arguments)
        return {}

    groups = declare(build).of("azure-native:network:NetworkSecurityGroup")
    [group] = [group for group in groups if group.inputs["networkSecurityGroupName"].endswith("-api")]
    return {rule["name"]: rule for rule in group.inputs["securityRules"]}


def test_api_servers_reach_the_environment_and_what_they_ask() -> None:
    rules = api_rules(production())
    out = {name: rule for name, rule in rules.items() if rule["direction"] == "Outbound"}
    assert out["environment-out"]["destinationAddressPrefix"] == str(production().supernet)
    assert out["environment-out"]["protocol"] == "*"
    assert {rule["destinationAddressPrefix"] for name, rule in out.items() if name != "environment-out"} == {
        "AzureKeyVault",
        "AzureCloud.westeurope",
        "AzureResourceManager",
        "AzureActiveDirectory",
        "Internet",
        "*",
    }
    assert out["deny-rest-out"]["access"] == "Deny"
    for name in out.keys() - {"environment-out", "deny-rest-out"}:
        assert out[name]["destinationPortRanges"] == ["443"]
    priorities = [rule["priority"] for rule in out.values()]
    assert len(set(priorities)) == len(priorities)


def test_the_api_is_for_the_environment_s_addresses() -> None:
    rules = api_rules(production())
    inside = {name: rule for name, rule in rules.items() if rule["direction"] == "Inbound"}
    assert inside["api"]["sourceAddressPrefix"] == str(production().supernet)
    assert inside["api"]["destinationPortRanges"] == ["6443"]
    assert set(inside) == {"api", "join", "probes", "deny-rest"}


def test_machines_of_pools_join_and_nobody_else() -> None:
    environment, addresses = production(), plan(production())
    rules = api_rules(environment)
    assert rules["join"]["destinationPortRanges"] == ["6444"]
    assert rules["probes"]["destinationPortRanges"] == ["6443", "6444"]
    sites = {pool.site for pool in environment.pools.values()}
    assert set(rules["join"]["sourceAddressPrefixes"]) == {str(addresses.sites[site].pods) for site in sites}
    assert str(addresses.sites["colo"].pods) not in rules["join"]["sourceAddressPrefixes"]
    ranges = joining_ranges(environment, addresses)
    for site in sites:
        if site != "weu":
            assert any(node_subnet(addresses.sites[site], 0).subnet_of(range_) for range_ in ranges)
    alone = environment.model_copy(update={"pools": {}})
    assert "join" not in api_rules(alone)


def test_both_services_are_behind_the_one_address() -> None:
    def build() -> Outputs:
        arguments = ApiLoadBalancerArgs(
            environment=production(),
            addresses=plan(production()),
            resource_group="prod-weu",
            subnet_id="subnet",
            zone_name="zone",
            zone_group="prod-weu",
        )
        ApiLoadBalancer("prod-api", arguments)
        return {}

    [balancer] = declare(build).of("azure-native:network:LoadBalancer")
    rules = {rule["name"]: rule for rule in balancer.inputs["loadBalancingRules"]}
    probes = {probe["name"]: probe for probe in balancer.inputs["probes"]}
    assert {name: (rule["frontendPort"], rule["backendPort"]) for name, rule in rules.items()} == {
        "api": (6443, 6443),
        "join": (6444, 6444),
    }
    asked = {name: probes[rule["probe"]["id"].rpartition("/")[2]] for name, rule in rules.items()}
    assert {name: (probe["port"], probe["requestPath"]) for name, probe in asked.items()} == {
        "api": (6443, READY_PATH),
        "join": (6444, "/healthz"),
    }


def test_without_aws_nothing_goes_to_the_internet() -> None:
    environment = production()
    sites = {"weu": environment.sites["weu"]}
    alone = environment.model_copy(update={"sites": sites, "pools": {}, "hosts": ()})
    assert {"aws-api", "azure-api", "issuers"} & set(api_rules(alone)) == set()


def test_api_servers_reach_the_issuers_where_there_are_some() -> None:
    urls = {"corp": "https://corp.example.com", "okta": "https://okta.example.com:8443/x"}
    issuers = {name: issuer(name, url=url) for name, url in urls.items()}
    identity = Identity.model_validate({"issuers": issuers})
    rule = api_rules(production().model_copy(update={"identity": identity}))["issuers"]
    assert (rule["direction"], rule["access"]) == ("Outbound", "Allow")
    assert rule["destinationAddressPrefix"] == "Internet"
    assert rule["destinationPortRanges"] == ["443", "8443"]
