"""Pools as the program buys and places them, in both clouds."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.aws.disks import BESIDE_SSD_GIB, SYSTEM_DISK_GIB
from clouds.base.pool_section import Pool, Reservation
from components.model import Environment
from tests.support import production as make
from tests.support.declared import Declared, Outputs, Program, declare

TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"
BLOCK = "cr-0123456789abcdef0"
RESOURCE_GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/training"


@pytest.fixture(name="environment")
def _environment() -> Environment:
    return make.production()


def with_pool(environment: Environment, name: str, **fields: Any) -> Environment:
    """Return the environment with only one of its pools, changed."""
    pool = environment.pools[name].model_copy(update={"fallbacks": (), **fields})
    return environment.model_copy(update={"pools": {name: pool}})


def aws(environment: Environment, **fields: Any) -> Program:
    """Declare the pool's own site: all others, with their links, would take ten times as long."""
    changed = with_pool(environment, "h100", **fields)
    name = changed.pools["h100"].site
    alone = changed.model_copy(update={"sites": {name: changed.sites[name]}})
    return declare(lambda: make.build(alone), answer=make.cloud)


def scale_set(environment: Environment, **fields: Any) -> Declared:
    changed = with_pool(environment, "h100-azure", **fields)

    def build() -> Outputs:
        make.azure_pool(changed, "h100-azure")
        return {}

    [found] = declare(build).of("azure-native:compute:VirtualMachineScaleSet")
    return found


@pytest.mark.parametrize(
    ("reservation", "target", "market"),
    [
        (Reservation(id=BLOCK), {"capacityReservationId": BLOCK}, None),
        (Reservation(id=BLOCK, kind="capacity-block"), {"capacityReservationId": BLOCK}, "capacity-block"),
        (Reservation(id=RESOURCE_GROUP), {"capacityReservationResourceGroupArn": RESOURCE_GROUP}, None),
    ],
)
def test_machines_of_aws_are_launched_into_their_reservation(
    environment: Environment, reservation: Reservation, target: dict[str, str], market: str | None
) -> None:
    [template] = aws(environment, reservation=reservation).of(TEMPLATE)
    assert template.inputs["capacityReservationSpecification"] == {"capacityReservationTarget": target}
    assert template.inputs.get("instanceMarketOptions", {}).get("marketType") == market


def test_machines_of_a_pool_are_in_its_zones(environment: Environment) -> None:
    [everywhere] = aws(environment).of(GROUP)
    [one] = aws(environment, zones=("b",)).of(GROUP)
    subnets = everywhere.inputs["vpcZoneIdentifiers"]
    assert len(subnets) == 3
    assert one.inputs["vpcZoneIdentifiers"] == subnets[1:2]


def test_a_system_disk_has_the_size_that_is_asked_for(environment: Environment) -> None:
    words = f"Left out, {SYSTEM_DISK_GIB} on AWS, or {BESIDE_SSD_GIB} where the type has local"
    assert words in str(Pool.model_fields["system_disk_gib"].description)
    sizes: list[tuple[dict[str, Any], int]] = [
        ({"machine_type": "m7i.xlarge"}, SYSTEM_DISK_GIB),
        ({}, BESIDE_SSD_GIB),
        ({"system_disk_gib": 500}, 500),
    ]
    for fields, size in sizes:
        [template] = aws(environment, **fields).of(TEMPLATE)
        [disk] = template.inputs["blockDeviceMappings"]
        assert disk["ebs"]["volumeSize"] == size
    for written in (None, 500):
        profile = scale_set(environment, system_disk_gib=written).inputs["virtualMachineProfile"]
        size = profile["storageProfile"]["osDisk"].get("diskSizeGB")
        assert size == written, "a set that runs is not changed unasked"


def test_machines_of_azure_are_allocated_from_their_reservation(environment: Environment) -> None:
    assert "capacityReservation" not in scale_set(environment).inputs["virtualMachineProfile"]
    found = scale_set(
        environment,
        machine_type="Standard_NC24ads_A100_v4",
        zones=("2",),
        reservation=Reservation(id="/subscriptions/s/group"),
    )
    profile = found.inputs["virtualMachineProfile"]
    assert profile["capacityReservation"] == {"capacityReservationGroup": {"id": "/subscriptions/s/group"}}
    assert (found.inputs["zones"], found.inputs["singlePlacementGroup"]) == (["2"], False)


def test_a_placement_group_is_the_pool_s_own(environment: Environment) -> None:
    kind = "aws:ec2/placementGroup:PlacementGroup"
    program = aws(environment, zones=("a",), placement_group=True)
    [placement], [group] = program.of(kind), program.of(GROUP)
    assert (placement.inputs["name"], placement.inputs["strategy"]) == ("prod-h100", "cluster")
    assert group.inputs["placementGroup"] == placement.inputs["name"]
    bare = aws(environment)
    assert not bare.of(kind)
    assert "placementGroup" not in bare.of(GROUP)[0].inputs


@pytest.mark.parametrize(("machine_type", "cards"), [("p5.48xlarge", 32), ("p6-b200.48xlarge", 8), ("p4d.24xlarge", 4)])
def test_every_network_card_has_an_adapter_and_the_first_alone_addresses(
    environment: Environment, machine_type: str, cards: int
) -> None:
    [template] = aws(environment, machine_type=machine_type, efa=True).of(TEMPLATE)
    first, *more = template.inputs["networkInterfaces"]
    assert (first["networkCardIndex"], first["deviceIndex"], first["interfaceType"]) == (0, 0, "efa")
    assert first["ipv4PrefixCount"] == 1
    assert [one["networkCardIndex"] for one in more] == list(range(1, cards))
    assert {(one["deviceIndex"], one["interfaceType"]) for one in more} == {(1, "efa-only")}
    assert not [one for one in more if "ipv4PrefixCount" in one]
    assert not [one for one in (first, *more) if "associatePublicIpAddress" in one], "EC2 refuses it beside a second"
    assert len({tuple(one["securityGroups"]) for one in (first, *more)}) == 1


def test_a_first_card_without_adapters_has_the_addresses_alone(environment: Environment) -> None:
    """p6-b300 has 17 cards, of which the first takes no adapter (EC2's ``DescribeInstanceTypes``)."""
    [template] = aws(environment, machine_type="p6-b300.48xlarge", efa=True).of(TEMPLATE)
    first, *more = template.inputs["networkInterfaces"]
    assert (first["networkCardIndex"], first["ipv4PrefixCount"]) == (0, 1)
    assert "interfaceType" not in first
    assert [card["networkCardIndex"] for card in more] == list(range(1, 17))
    assert {card["interfaceType"] for card in more} == {"efa-only"}


def test_one_card_stays_one_interface(environment: Environment) -> None:
    [template] = aws(environment, machine_type="g5.12xlarge", efa=True).of(TEMPLATE)
    [only] = template.inputs["networkInterfaces"]
    assert (only["interfaceType"], only["associatePublicIpAddress"]) == ("efa", "false")
    assert "networkCardIndex" not in only


def test_a_site_with_adapters_lets_its_nodes_send_each_other_everything(environment: Environment) -> None:
    changed = with_pool(environment, "h100", efa=True)
    program = declare(lambda: make.build(changed), answer=make.cloud)
    own = {f"{group.name}-id" for group in program.of("aws:ec2/securityGroup:SecurityGroup")}
    for end in ("Ingress", "Egress"):
        rules = program.of(f"aws:vpc/securityGroup{end}Rule:SecurityGroup{end}Rule")
        [among] = [rule for rule in rules if "referencedSecurityGroupId" in rule.inputs]
        assert among.inputs["referencedSecurityGroupId"] == among.inputs["securityGroupId"]
        assert among.inputs["securityGroupId"] in own
        assert among.inputs["ipProtocol"] == "-1"


def test_machines_of_azure_are_told_before_they_are_deleted(environment: Environment) -> None:
    assert "scheduledEventsProfile" not in scale_set(environment).inputs["virtualMachineProfile"]
    profile = scale_set(environment, deletion_notice_min=10).inputs["virtualMachineProfile"]
    notice = {"enable": True, "notBeforeTimeout": "PT10M"}
    assert profile["scheduledEventsProfile"] == {"terminateNotificationProfile": notice}
