"""Quarantine of a pool's machine, against the lab's AWS with the vendor's SDK."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.aws import quarantine
from clouds.aws.live_groups import AwsGroup
from clouds.aws.quarantine import AwsPoolQuarantine
from clouds.base.errors import CloudError
from clouds.base.place import Place
from clouds.base.quarantine import Suspect
from tests.lab.cloud.aws.site import REGIONS, Site, client, until

QUARANTINE = AwsPoolQuarantine()


@pytest.fixture(name="place")
def _place(site: Site, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The pool, and the group that the program makes for quarantine."""

    class Shared:
        def client(self, service: str, region: str) -> Any:
            return client(service, region)

    class Here:
        environment, name, pools = "lab", "use1", {"pool": None}

        class site:  # noqa: N801  (a stand-in for a value)
            region = REGIONS[0]

        def cloud_name(self, name: str) -> str:
            return name

    monkeypatch.setattr(quarantine, "shared", Shared)
    group = AwsGroup("pool", region=REGIONS[0], client=client)
    monkeypatch.setattr(quarantine, "live_groups", lambda _place, _pool: {"pool": group})
    site.pool(2)
    return Here()


def quarantined(site: Site) -> str:
    made = site.ec2.create_security_group(GroupName="lab-use1-network-quarantine", Description="q", VpcId=site.vpc)
    group = str(made["GroupId"])
    site.ec2.revoke_security_group_egress(
        GroupId=group, IpPermissions=[{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    )
    return group


def suspect_of(place: Place[Any], site: Site) -> Suspect:
    found = QUARANTINE.find(place, "pool", site.instances()[0]["InstanceId"])
    assert found is not None
    return found


def test_a_machine_is_cut_off_kept_and_replaced(site: Site, place: Any) -> None:
    group, suspect = quarantined(site), suspect_of(place, site)
    assert (suspect.group, suspect.wanted) == ("pool", 2)
    for _ in range(2):
        kept = QUARANTINE.keep(place, suspect)
        QUARANTINE.isolate(place, suspect)
        QUARANTINE.replace(place, suspect)
    left = {one["InstanceId"] for one in AwsGroup("pool", region=REGIONS[0], client=client)._group()["Instances"]}
    assert (len(left), suspect.machine in left) == (2, False)
    (old,) = [one for one in site.instances() if one["InstanceId"] == suspect.machine]
    assert [one["GroupId"] for one in old["NetworkInterfaces"][0]["Groups"]] == [group]
    assert kept == (suspect.machine, old["BlockDeviceMappings"][0]["Ebs"]["VolumeId"])
    (machine,) = [one for one in site.live.hypervisor.world.machines if one.id == suspect.machine]
    assert [rule for rule in machine.rules if rule.allow] == []


def test_its_disk_outlives_it_and_goes_with_its_release(site: Site, place: Any) -> None:
    quarantined(site)
    suspect = suspect_of(place, site)
    kept = QUARANTINE.keep(place, suspect)
    QUARANTINE.isolate(place, suspect)
    QUARANTINE.replace(place, suspect)
    site.ec2.terminate_instances(InstanceIds=[suspect.machine])
    until(lambda: suspect.machine in {one["InstanceId"] for one in site.instances("terminated")})
    assert site.ec2.describe_volumes(VolumeIds=[kept[1]])["Volumes"]
    assert QUARANTINE.keep(place, suspect) == ()
    QUARANTINE.release(place, kept)
    QUARANTINE.release(place, kept)
    there = {one["VolumeId"] for one in site.ec2.describe_volumes()["Volumes"]}
    assert kept[1] not in there


def test_without_its_rules_nothing_is_done(site: Site, place: Any) -> None:
    suspect = suspect_of(place, site)
    with pytest.raises(CloudError, match=r"has no security group lab-use1-network-quarantine: `longhaul up"):
        QUARANTINE.isolate(place, suspect)


def test_what_is_no_machine_of_the_pool_is_not_found(place: Any) -> None:
    assert QUARANTINE.find(place, "pool", "i-00000000000000000") is None
