"""A roll's view of an auto scaling group, read from the lab's AWS with the vendor's SDK."""

from __future__ import annotations

import pytest

from clouds.aws.live_groups import AwsGroup
from clouds.base.errors import CloudError
from clouds.base.live_groups import Life
from tests.lab.cloud.aws.site import REGIONS, Site, client, until
from tests.lab.cloud.conftest import AMI


@pytest.fixture(name="group")
def _group(site: Site) -> AwsGroup:
    return AwsGroup("pool", region=REGIONS[0], client=client)


def newer(site: Site, version: str = "2") -> None:
    site.ec2.create_launch_template_version(
        LaunchTemplateName="pool", LaunchTemplateData={"ImageId": AMI, "InstanceType": "m6id.2xlarge"}
    )
    wanted = {"LaunchTemplateName": "pool", "Version": version}
    site.scaling.update_auto_scaling_group(AutoScalingGroupName="pool", LaunchTemplate=wanted)


def test_machines_are_current_until_the_group_has_another_version(site: Site, group: AwsGroup) -> None:
    site.pool(2)
    seen = group.look()
    assert seen.wanted == 2
    assert {machine.id for machine in seen.machines} == {one["InstanceId"] for one in site.instances()}
    assert all(machine.current and machine.life is Life.PRESENT for machine in seen.machines)
    assert group.made_at(seen.machines).keys() == {machine.id for machine in seen.machines}
    newer(site)
    later = group.look()
    assert not any(machine.current for machine in later.machines)
    assert (seen.target.partition(":")[2], later.target.partition(":")[2]) == ("1", "2")
    assert seen.target.startswith("lt-")


@pytest.mark.parametrize(("version", "current"), [("$Latest", False), ("$Default", True)])
def test_a_version_that_is_not_named_is_looked_up(site: Site, group: AwsGroup, version: str, current: bool) -> None:
    site.pool(1)
    newer(site, version)
    (machine,) = group.look().machines
    assert machine.current is current


def test_what_is_replaced_goes_and_another_comes_and_the_size_stays(site: Site, group: AwsGroup) -> None:
    site.pool(2)
    newer(site)
    first, second = sorted(group.look().machines, key=lambda machine: machine.id)
    group.replace(first)
    until(lambda: first.id not in {machine.id for machine in group.look().machines})
    seen = group.look()
    assert seen.wanted == 2
    current = {machine.id: machine.current for machine in seen.machines}
    assert current.pop(second.id) is False
    assert list(current.values()) == [True]


def test_what_is_ended_goes_and_the_group_is_smaller_by_it(site: Site, group: AwsGroup) -> None:
    site.pool(3, MinSize=1)
    first, second, third = (one.id for one in group.look().machines)
    group.end([second, third])
    assert group.size() == 1
    until(lambda: [one.id for one in group.look().machines] == [first])


def test_at_its_least_size_a_group_makes_another_only_for_what_may_be_replaced(site: Site, group: AwsGroup) -> None:
    site.pool(2, MinSize=1)
    first, second = (one.id for one in group.look().machines)
    with pytest.raises(CloudError, match=f"the end of {first} and 1 more: .*min-size=1") as refused:
        group.end([first, second])
    assert (refused.value.answered, refused.value.passing) == (True, False)
    group.end([first])
    with pytest.raises(CloudError, match=f"the end of {second}: .*min size constraint"):
        group.end([second])
    assert ([machine.id for machine in group.look().machines], group.look().least) == ([second], 1)
    group.end([second], replaced=True)
    assert group.size() == 1
    until(lambda: [one.id for one in group.look().machines] not in ([], [second]))


def test_the_end_of_a_machine_that_is_gone_is_an_error(site: Site, group: AwsGroup) -> None:
    site.pool(1)
    (machine,) = group.look().machines
    group.replace(machine)
    until(lambda: machine.id not in {one.id for one in group.look().machines})
    with pytest.raises(CloudError, match=f"pool, the end of {machine.id}: .*Instance Id not found") as refused:
        group.replace(machine)
    assert refused.value.passing is False


def test_a_group_that_is_not_there_is_an_error(site: Site, group: AwsGroup) -> None:
    with pytest.raises(CloudError, match="has no auto scaling group pool: `longhaul up` makes it"):
        group.look()
