"""AWS sites and the pools of both clouds, as production declares them."""

from __future__ import annotations

import base64
from collections import Counter
from ipaddress import IPv4Network
from itertools import combinations
from pathlib import Path

import pytest

from clouds.aws.ranges import node_capacity
from clouds.aws.site import AwsSite
from clouds.onprem.site import OnpremSite
from components.model import Environment, load, plan
from components.model.access.source_ranges import operators_inside
from tests.support import production as make
from tests.support.declared import Outputs, Program, declare, every
from tests.support.hosts import EXAMPLES, hosts_file, production_with


def test_the_hosts_file_in_the_tree_is_what_the_benchmarks_make() -> None:
    assert (EXAMPLES / "hosts.prod.yaml").read_text(encoding="utf-8") == hosts_file(40)


def test_hosts_make_no_resources(tmp_path: Path, program: Program) -> None:
    environment = load(production_with(7500, directory=tmp_path))
    assert len(environment.hosts) == 7500
    more = declare(lambda: make.build(environment), answer=make.cloud)
    assert {(r.type, r.name) for r in more.resources} == {(r.type, r.name) for r in program.resources}


def test_names_are_unique_by_type(program: Program) -> None:
    twice = {key: n for key, n in Counter((r.type, r.name) for r in program.resources).items() if n > 1}
    assert not twice


def test_every_regional_resource_names_the_region_of_its_site(production: Environment, program: Program) -> None:
    regions = {name: site.region for name, site in production.sites.items() if isinstance(site, AwsSite)}
    for resource in program.clouds():
        if resource.type.startswith("aws:") and not resource.type.startswith("aws:iam/"):
            assert resource.inputs["region"] in regions.values(), resource.name


def test_a_large_zone_s_nat_gateway_has_several_addresses(production: Environment, program: Program) -> None:
    """The first address keeps its name. Without others the list is empty: without a list, the last would stay."""
    pool = production.pools["cpu"].model_copy(update={"zones": ("b",), "max": 500})
    larger = production.model_copy(update={"pools": {**production.pools, "cpu": pool}})
    more = declare(lambda: make.build(larger), answer=make.cloud)
    names = {address.name for address in more.of("aws:ec2/eip:Eip")}
    assert names - {address.name for address in program.of("aws:ec2/eip:Eip")} == {
        "prod-use1-network-egress-b-1",
        "prod-use1-network-egress-b-2",
    }
    gateways = {gateway.name: gateway.inputs for gateway in more.of("aws:ec2/natGateway:NatGateway")}
    numbers = {name[-1]: len(inputs["secondaryAllocationIds"]) for name, inputs in gateways.items() if "use1" in name}
    assert numbers == {"a": 0, "b": 2, "c": 0}


def test_a_pool_s_machines_keep_their_identity_from_pods(production: Environment, program: Program) -> None:
    templates = program.of("aws:ec2/launchTemplate:LaunchTemplate")
    aws = [name for name, pool in production.pools.items() if isinstance(production.sites[pool.site], AwsSite)]
    assert {template.inputs["name"] for template in templates} == {f"prod-{name}" for name in aws}
    for template in templates:
        metadata = template.inputs["metadataOptions"]
        assert metadata["httpTokens"] == "required"
        assert metadata["httpPutResponseHopLimit"] == 1


def test_a_pool_s_machines_have_a_prefix_encrypted_disks_and_no_public_address(program: Program) -> None:
    for template in program.of("aws:ec2/launchTemplate:LaunchTemplate"):
        [interface] = template.inputs["networkInterfaces"]
        assert interface["ipv4PrefixCount"] == 1
        assert interface["associatePublicIpAddress"] == "false"
        [disk] = template.inputs["blockDeviceMappings"]
        assert disk["ebs"]["encrypted"] == "true"
        assert disk["ebs"]["volumeType"] == "gp3"


def test_a_group_s_size_is_the_autoscaler_s(production: Environment, program: Program) -> None:
    groups = {group.inputs["name"]: group for group in program.of("aws:autoscaling/group:Group")}
    [scale_set] = program.of("azure-native:compute:VirtualMachineScaleSet")
    for name, pool in production.pools.items():
        if isinstance(production.sites[pool.site], AwsSite):
            group = groups[f"prod-{name}"]
            assert (group.inputs["minSize"], group.inputs["maxSize"]) == (pool.min, pool.max)
            assert "desiredCapacity" in group.ignored
            assert group.inputs.get("capacityRebalance", False) is False, "spot machines too"
            assert "AZRebalance" in group.inputs["suspendedProcesses"]
            assert group.inputs["protectFromScaleIn"] is True, "AWS chooses no machine"
            assert group.delete_timeout == "60m"
    assert scale_set.ignored == ("sku.capacity", "identity")


def test_spot_machines_are_asked_for_as_such(production: Environment, program: Program) -> None:
    templates = {template.inputs["name"]: template for template in program.of("aws:ec2/launchTemplate:LaunchTemplate")}
    spot = {name for name, template in templates.items() if "instanceMarketOptions" in template.inputs}
    wanted = {f"prod-{name}" for name, pool in production.pools.items() if pool.spot}
    assert wanted
    assert spot == wanted


def test_the_node_role_may_do_nothing(program: Program) -> None:
    for role in program.of("aws:iam/role:Role"):
        assert "ec2.amazonaws.com" in role.inputs["assumeRolePolicy"]
        assert not {"inlinePolicies", "managedPolicyArns"} & set(role.inputs)
    assert not [resource for resource in program.resources if "olicy" in resource.type]


def test_nothing_comes_in_from_the_internet(production: Environment, program: Program) -> None:
    rules = program.of("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    operators = {str(range_) for range_ in operators_inside(production, plan(production))}
    assert {rule.inputs["cidrIpv4"] for rule in rules} == {str(production.supernet), *operators}
    for group in program.of("aws:ec2/securityGroup:SecurityGroup"):
        assert "ingress" not in group.inputs
    for subnet in program.of("aws:ec2/subnet:Subnet"):
        assert subnet.inputs["mapPublicIpOnLaunch"] is False


def test_prefixes_and_single_addresses_do_not_share_a_range(production: Environment, program: Program) -> None:
    subnets = {f"{subnet.name}-id": subnet for subnet in program.of("aws:ec2/subnet:Subnet")}
    reserved: dict[str, int] = {}
    for reservation in program.of("aws:ec2/subnetCidrReservation:SubnetCidrReservation"):
        subnet = subnets[reservation.inputs["subnetId"]]
        range_ = IPv4Network(reservation.inputs["cidrBlock"])
        assert reservation.inputs["reservationType"] == "prefix"
        assert range_.subnet_of(IPv4Network(subnet.inputs["cidrBlock"]))
        reserved[subnet.name] = reserved.get(subnet.name, 0) + range_.num_addresses
    zones = sum(len(site.zones) for site in production.sites.values() if isinstance(site, AwsSite))
    assert len(reserved) == zones
    # A /19: its first sixteenth, a /23, is for the nodes' own addresses.
    assert set(reserved.values()) == {2**13 - 2**9}
    assert node_capacity(IPv4Network("10.1.128.0/19")) == 480


def test_subnets_of_a_site_are_inside_its_block_and_disjoint(production: Environment, program: Program) -> None:
    blocks = {site: addresses.block for site, addresses in plan(production).sites.items()}
    ranges = [IPv4Network(subnet.inputs["cidrBlock"]) for subnet in program.of("aws:ec2/subnet:Subnet")]
    for one, other in combinations(ranges, 2):
        assert not one.overlaps(other)
    for range_ in ranges:
        assert any(range_.subnet_of(block) for block in blocks.values())
        assert range_.prefixlen <= 28, "the smallest subnet of a VPC"


def test_a_site_larger_than_a_vpc_s_range_takes_several(production: Environment) -> None:
    site = production.sites["use1"].model_copy(update={"prefix": 14})
    larger = production.model_copy(update={"sites": {"use1": site}, "pools": {}})
    made = declare(lambda: make.build(larger), answer=make.cloud)
    block = plan(larger).sites["use1"].block
    [first] = [v for v in made.of("aws:ec2/vpc:Vpc") if v.name.startswith("prod-use1-")]
    more = made.of("aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation")
    held = sorted(IPv4Network(resource.inputs["cidrBlock"]) for resource in (first, *more))
    assert held == list(block.subnets(new_prefix=16))
    for subnet in made.of("aws:ec2/subnet:Subnet"):
        range_ = IPv4Network(subnet.inputs["cidrBlock"])
        if range_.subnet_of(block):
            assert any(range_.subnet_of(one) for one in held), "a subnet lies in one range of its VPC"


def test_every_pool_s_machines_are_told_what_they_are(production: Environment, program: Program) -> None:
    templates = {template.inputs["name"]: template for template in program.of("aws:ec2/launchTemplate:LaunchTemplate")}
    told = {name: base64.b64decode(template.inputs["userData"]).decode() for name, template in templates.items()}
    [scale_set] = program.of("azure-native:compute:VirtualMachineScaleSet")
    profile = scale_set.inputs["virtualMachineProfile"]["osProfile"]
    told[scale_set.inputs["vmScaleSetName"]] = base64.b64decode(profile["customData"]).decode()
    assert told == {f"prod-{pool}": f"of {pool}" for pool in production.pools}


def test_an_azure_pool_has_an_address_for_each_pod_in_the_node_s_own_subnet(program: Program) -> None:
    [scale_set] = program.of("azure-native:compute:VirtualMachineScaleSet")
    profile = scale_set.inputs["virtualMachineProfile"]
    [interface] = profile["networkProfile"]["networkInterfaceConfigurations"]
    addresses = interface["ipConfigurations"]
    assert [address["primary"] for address in addresses] == [True, *[False] * 16]
    assert {address["subnet"]["id"] for address in addresses} == {"subnet"}
    assert profile["securityProfile"] == {"encryptionAtHost": True, "securityType": "Standard"}
    assert scale_set.inputs["overprovision"] is False


@pytest.mark.parametrize(("zones", "declared"), [(("1", "2"), ["1", "2"]), ((), None)])
def test_a_site_s_pools_are_in_its_zones(
    production: Environment, zones: tuple[str, ...], declared: list[str] | None
) -> None:
    pool = production.pools["h100-azure"].model_copy(update={"machine_type": "Standard_D8s_v5"})
    site = production.sites["weu"].model_copy(update={"zones": zones})
    changed = production.model_copy(update={"pools": {"cpu": pool}, "sites": {**production.sites, "weu": site}})

    def build() -> Outputs:
        make.azure_pool(changed, "cpu")
        return {}

    [scale_set] = declare(build).of("azure-native:compute:VirtualMachineScaleSet")
    assert scale_set.inputs.get("zones") == declared
    assert scale_set.inputs.get("zoneBalance") is (False if declared else None)


def test_an_azure_pool_beyond_one_scale_set_takes_several(production: Environment) -> None:
    pool = production.pools["h100-azure"].model_copy(update={"min": 120, "max": 250})
    larger = production.model_copy(update={"pools": {"big": pool}})

    def build() -> Outputs:
        make.azure_pool(larger, "big")
        return {}

    sets = sorted(
        declare(build).of("azure-native:compute:VirtualMachineScaleSet"), key=lambda one: (len(one.name), one.name)
    )
    assert [(one.inputs["vmScaleSetName"], one.inputs["sku"]["capacity"]) for one in sets] == [
        ("prod-big", 100),
        ("prod-big-s1", 20),
        ("prod-big-s2", 0),
    ]
    assert [one.name for one in sets] == ["prod-big-set", "prod-big-s1-set", "prod-big-s2-set"]
    prefixes = [one.inputs["virtualMachineProfile"]["osProfile"]["computerNamePrefix"] for one in sets]
    assert prefixes == ["prod-big-", "prod-big-s1-", "prod-big-s2-"]
    assert all(one.inputs["singlePlacementGroup"] and one.ignored == ("sku.capacity", "identity") for one in sets)
    assert all(one.inputs["tags"]["longhaul-pool"] == "big" for one in sets)


def test_public_addresses_are_examples(production: Environment) -> None:
    documentation = IPv4Network("203.0.113.0/24")
    racks = [site for site in production.sites.values() if isinstance(site, OnpremSite)]
    assert all(gateway.public_address in documentation for site in racks for gateway in site.gateways)
    images = [value for value in every(production.model_dump(mode="json")) if str(value).startswith("ami-")]
    assert all(set(image.removeprefix("ami-")[:-1]) == {"0"} for image in images)
