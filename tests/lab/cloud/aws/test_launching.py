"""Instances of groups."""

from __future__ import annotations

import base64

import pytest
from botocore.exceptions import ClientError

from tests.lab.cloud.aws.site import Site, until


def test_group_instances_are_what_their_template_says(site: Site) -> None:
    tags = [{"ResourceType": "network-interface", "Tags": [{"Key": "kind", "Value": "node"}]}]
    template = site.template(name="tagged", TagSpecifications=tags, InstanceInitiatedShutdownBehavior="terminate")
    site.pool(1, LaunchTemplate={"LaunchTemplateId": template, "Version": "$Default"})
    (instance,) = site.instances()
    options = instance["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 1)
    assert instance["IamInstanceProfile"]["Arn"] == site.profile
    assert [group["GroupId"] for group in instance["SecurityGroups"]] == [site.group]
    assert {"Key": "longhaul-pool", "Value": "pool"} in instance["Tags"]
    (interface,) = site.ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert interface["TagSet"] == [{"Key": "kind", "Value": "node"}]
    assert interface["PrivateIpAddress"] == instance["PrivateIpAddress"] == "127.9.64.4"


def test_prefixes_come_from_the_reservations(site: Site) -> None:
    site.reserve("127.9.64.32/27", "127.9.64.64/26")
    site.pool(3)
    interfaces = site.ec2.describe_network_interfaces()["NetworkInterfaces"]
    prefixes = {one["Ipv4Prefixes"][0]["Ipv4Prefix"] for one in interfaces}
    assert prefixes == {"127.9.64.32/28", "127.9.64.48/28", "127.9.64.64/28"}
    assert {one["PrivateIpAddress"] for one in interfaces} == {f"127.9.64.{last}" for last in (4, 5, 6)}
    shown = {one["NetworkInterfaces"][0]["Ipv4Prefixes"][0]["Ipv4Prefix"] for one in site.instances()}
    assert shown == prefixes
    site.scaling.set_desired_capacity(AutoScalingGroupName="pool", DesiredCapacity=1)
    until(lambda: len(site.ec2.describe_network_interfaces()["NetworkInterfaces"]) == 1)
    site.scaling.set_desired_capacity(AutoScalingGroupName="pool", DesiredCapacity=3)
    again = {one["NetworkInterfaces"][0]["Ipv4Prefixes"][0]["Ipv4Prefix"] for one in site.instances()}
    assert again == prefixes, "what an instance had is free again"


def test_user_data_is_limited(site: Site) -> None:
    site.template(user_data=b"x" * 16384)
    with pytest.raises(ClientError, match="16384 bytes"):
        site.template(user_data=b"x" * 16385, name="large")
    with pytest.raises(ClientError, match=r"InvalidUserData\.Malformed"):
        site.template(name="plain", UserData="#cloud-config")
    second = site.ec2.create_launch_template_version(
        LaunchTemplateName="pool",
        LaunchTemplateData={
            "ImageId": "ami-00000000000000001",
            "InstanceType": "m6id.xlarge",
            "UserData": base64.b64encode(b"second").decode(),
        },
    )["LaunchTemplateVersion"]
    site.pool(
        1,
        name="later",
        LaunchTemplate={"LaunchTemplateId": second["LaunchTemplateId"], "Version": str(second["VersionNumber"])},
    )
    until(lambda: [one.user_data for one in site.live.hypervisor.world.machines] == [b"second"])


def test_a_full_subnet_is_a_failed_activity(site: Site) -> None:
    small = site.ec2.create_subnet(VpcId=site.vpc, CidrBlock="127.9.1.0/28", AvailabilityZone="us-east-1a")
    site.pool(1, subnets=small["Subnet"]["SubnetId"])
    (failed,) = site.activities()
    assert failed["StatusCode"] == "Failed"
    assert "does not have enough free cidr blocks" in failed["StatusMessage"]
    bare = {"LaunchTemplateId": site.template(name="bare", NetworkInterfaces=[{"DeviceIndex": 0}]), "Version": "1"}
    site.pool(10, name="bare", subnets=small["Subnet"]["SubnetId"], LaunchTemplate=bare)
    assert len(site.instances()) == 10
    site.scaling.update_auto_scaling_group(AutoScalingGroupName="bare", MaxSize=20, DesiredCapacity=12)
    assert len(site.instances()) == 11, "16 addresses less the five that EC2 keeps"
    assert "not enough free addresses" in site.activities("bare")[0]["StatusMessage"]


def test_a_template_has_to_be_whole(site: Site) -> None:
    wrong = site.template(name="wrong", ImageId="ami-00000000000000002")
    with pytest.raises(ClientError, match=r"image id '\[ami-00000000000000002\]' does not exist"):
        site.pool(0, LaunchTemplate={"LaunchTemplateId": wrong, "Version": "1"})
    assert site.scaling.describe_auto_scaling_groups()["AutoScalingGroups"] == []
