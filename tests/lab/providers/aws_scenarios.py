"""Scenarios that :mod:`tests.lab.providers.test_aws_engine` runs in namespaces of its own, as
:mod:`tests.lab.providers.scenarios` does for Azure."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from aiohttp import web

from lab.cloud.aws import hosts
from lab.cloud.aws.addresses import RANGE
from tests.lab.cloud.aws.site import REGIONS, client, until
from tests.lab.providers.scenarios import Engine, clouds

OWN = [{"Name": "is-default", "Values": ["false"]}]
"""Filter for VPCs that were made: every account also has a default one."""


class AwsEngine(Engine):
    """The same engine with AWS's program."""

    program = "aws_program"

    def machines(self) -> list[str]:
        return [machine.id for machine in self.live.hypervisor.world.machines]


def life(engine: AwsEngine) -> None:
    """Preview, make, find unchanged, refresh, scale without the engine, change in place, drift, destroy."""
    preview = engine.run("preview")
    assert "to create" in preview
    assert client("ec2").describe_vpcs(Filters=OWN)["Vpcs"] == []
    engine.up()
    outputs = json.loads(engine.run("stack", "output", "--json", "--show-secrets"))
    given = [IPv4Address(one) for one in (*outputs["addresses"], *outputs["egress"])]
    assert len(set(given)) == 4
    assert all(one in RANGE for one in given)
    engine.run("preview", "--expect-no-changes")
    engine.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    assert outputs["keys"][0] not in engine.state(), "a key must not be readable in the state"
    world = engine.live.hypervisor.world
    assert [len(network.subnets) for network in world.networks] == [4, 4]
    assert [len(gateway.tunnels) for gateway in world.gateways] == [2]
    assert (len(world.peerings), len(engine.machines())) == (1, 1)
    client("autoscaling").set_desired_capacity(AutoScalingGroupName="aws-cpu", DesiredCapacity=3)
    until(lambda: len(engine.machines()) == 3)
    engine.run("preview", "--refresh", "--expect-no-changes")
    engine.set("data", "#cloud-config\n# two\n")
    assert "2 updated" in engine.up(), "the template and the group, nothing else"
    assert len(engine.machines()) == 3
    _egress(engine)
    _drift(engine)
    engine.run("destroy", "--yes", "--skip-preview")
    assert engine.live.hypervisor.world.networks == ()
    assert client("ec2").describe_addresses()["Addresses"] == []
    assert client("iam").list_roles()["Roles"] == []


def _egress(engine: AwsEngine) -> None:
    """Raise and lower the size that a pool may have: NAT gateways get and lose addresses, and are not replaced."""
    file = engine.folder / "environment" / "Pulumi.aws.yaml"
    before = file.read_text(encoding="utf-8")

    def gateways() -> dict[str, int]:
        described = client("ec2").describe_nat_gateways(Filter=[{"Name": "state", "Values": ["available"]}])
        return {one["NatGatewayId"]: len(one["NatGatewayAddresses"]) for one in described["NatGateways"]}

    first = gateways()
    for text, number in ((before.replace("max: 3}", "max: 429}"), 2), (before, 1)):
        file.write_text(text, encoding="utf-8")
        engine.up()
        assert gateways() == dict.fromkeys(first, number)
        assert len(client("ec2").describe_addresses()["Addresses"]) == 2 * number


def _drift(engine: AwsEngine) -> None:
    """Check that a refresh finds vanished resources and makes them anew; the group itself replaces a vanished
    instance."""
    ec2, first = client("ec2"), engine.machines()
    ec2.terminate_instances(InstanceIds=first[:1])
    until(lambda: len(engine.machines()) == 3 and first[0] not in engine.machines())
    connection = ec2.describe_vpn_connections()["VpnConnections"][0]["VpnConnectionId"]
    ec2.delete_vpn_connection(VpnConnectionId=connection)
    tables = ec2.describe_route_tables()["RouteTables"]
    table = next(one for one in tables if any("NatGatewayId" in route for route in one["Routes"]))
    ec2.delete_route(RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0")
    seen = engine.up("--refresh")
    assert "3 created" in seen, "the connection with its route, and the subnet's default route"
    alive = [one for one in ec2.describe_vpn_connections()["VpnConnections"] if one["State"] != "deleted"]
    assert len(alive) == 1


def killed(engine: AwsEngine) -> None:
    """Kill an engine while it makes NAT gateways: the next run adopts what exists and makes nothing twice."""
    held = engine.live.cloud.aws
    answer, never = held.handle, asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        response = await answer(request)
        if b"Action=CreateNatGateway" in await request.read():
            await never.wait()
        return response

    held.handle = handle  # type: ignore[method-assign]
    up = subprocess.Popen(
        ["pulumi", "up", "--yes", "--skip-preview"],
        cwd=engine.folder,
        env=engine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: [len(client("ec2", one).describe_nat_gateways()["NatGateways"]) for one in REGIONS] == [2, 2])
    until(lambda: _quiet(engine))
    up.kill()
    up.wait()
    held.handle = answer  # type: ignore[method-assign]
    engine.run("cancel", "--yes")
    assert "is adopted" in engine.up()
    for region in REGIONS:
        ec2 = client("ec2", region)
        assert len(ec2.describe_vpcs(Filters=OWN)["Vpcs"]) == 1
        assert len(ec2.describe_nat_gateways()["NatGateways"]) == 2
        assert len(ec2.describe_addresses()["Addresses"]) == 2
    engine.run("preview", "--expect-no-changes")


def _quiet(engine: AwsEngine) -> bool:
    """Return whether the engine has recorded everything that does not wait for the gateways. The four gateways and the
    two routes behind each zone's are missing."""
    try:
        (path,) = (engine.folder.parent / ".pulumi" / "stacks").rglob("t.json")
        state = json.loads(path.read_bytes())["checkpoint"]["latest"]
    except (OSError, ValueError):
        return False  # it is being written or replaced
    made = {one["urn"].rpartition("::")[2] for one in state.get("resources", []) if one.get("id")}
    return {"aws-cpu-group", "aws-peer-route", "aws-peer-routes-1", "aws-peering-euw1-1", "aws-euw1-network-storage",
            "aws-use1-network-storage", "aws-euw1-network-pods-b-3", "aws-node-controller-policy"} <= made  # fmt: skip


SCENARIOS: dict[str, Callable[[AwsEngine], Any]] = {scenario.__name__: scenario for scenario in (life, killed)}


def main(name: str, folder: Path) -> None:
    with clouds(folder, hosts.names(REGIONS), regions=REGIONS) as live:
        os.environ.update(live.cloud.operator_environment())
        SCENARIOS[name](AwsEngine(folder, live))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
