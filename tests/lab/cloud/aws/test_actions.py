"""The table of actions agrees with AWS's own descriptions of its services."""

from __future__ import annotations

import pytest
from botocore.session import Session

from lab.cloud.aws.actions import changes, check_action, check_parameters, known_actions
from lab.cloud.aws.errors import AwsRefusalError


@pytest.mark.parametrize("service", known_actions())
def test_actions_and_parameters_are_aws_own(service: str) -> None:
    model = Session().get_service_model(service)
    for action, parameters in known_actions()[service].items():
        shape = model.operation_model(action).input_shape
        assert parameters <= set(shape.members if shape else ()), action


@pytest.mark.parametrize("service", known_actions())
def test_moto_or_we_have_a_handler_for_each(service: str) -> None:
    from moto.core.utils import camelcase_to_underscores

    from lab.cloud.aws import responders

    kinds = {
        "ec2": responders.Ec2Responder,
        "autoscaling": responders.ScalingResponder,
        "iam": responders.IamResponder,
        "sts": responders.StsResponder,
    }
    assert [one for one in known_actions()[service] if not hasattr(kinds[service], camelcase_to_underscores(one))] == []


def test_what_is_not_listed_is_an_error() -> None:
    with pytest.raises(AwsRefusalError, match="does not have ec2:RunInstances"):
        check_action("ec2", "RunInstances")
    with pytest.raises(AwsRefusalError, match="does not know Ipv6CidrBlock of ec2:CreateSubnet"):
        check_parameters("ec2", "CreateSubnet", {"VpcId": "v", "Ipv6CidrBlock": "::/64"})
    data = {"ImageId": "ami-1", "KeyName": "k", "NetworkInterfaces": [{"DeviceIndex": 0, "Ipv6AddressCount": 1}]}
    with pytest.raises(
        AwsRefusalError, match=r"LaunchTemplateData\.KeyName, LaunchTemplateData\.NetworkInterfaces\.Ipv6"
    ):
        check_parameters("ec2", "CreateLaunchTemplate", {"LaunchTemplateData": data})


def test_fabrics_and_reservations_are_refused_by_name() -> None:
    with pytest.raises(AwsRefusalError, match="does not have ec2:CreatePlacementGroup"):
        check_action("ec2", "CreatePlacementGroup")
    with pytest.raises(AwsRefusalError, match="does not know PlacementGroup of autoscaling:CreateAutoScalingGroup"):
        check_parameters("autoscaling", "CreateAutoScalingGroup", {"PlacementGroup": "pool"})
    card = {"DeviceIndex": 1, "NetworkCardIndex": 1, "InterfaceType": "efa-only"}
    for data, name in (
        ({"CapacityReservationSpecification": {}}, "CapacityReservationSpecification"),
        ({"NetworkInterfaces": [card]}, r"NetworkInterfaces\.InterfaceType, .*NetworkInterfaces\.NetworkCardIndex"),
    ):
        with pytest.raises(AwsRefusalError, match=name):
            check_parameters("ec2", "CreateLaunchTemplate", {"LaunchTemplateData": data})


def test_reads_change_nothing() -> None:
    assert not changes("DescribeInstances")
    assert changes("SetDesiredCapacity")
