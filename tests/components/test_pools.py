"""Pools as the program buys and places them, in both clouds."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.base.pool import Reservation
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
    return declare(lambda: make.build(with_pool(environment, "h100", **fields)), answer=make.cloud)


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
    for fields, size in (({}, 200), ({"system_disk_gib": 500}, 500)):
        [template] = aws(environment, **fields).of(TEMPLATE)
        [disk] = template.inputs["blockDeviceMappings"]
        assert disk["ebs"]["volumeSize"] == size
        disk = scale_set(environment, **fields).inputs["virtualMachineProfile"]["storageProfile"]["osDisk"]
        assert disk.get("diskSizeGB") == fields.get("system_disk_gib"), "a set that runs is not changed unasked"


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
