"""Scenarios that :mod:`tests.lab.providers.test_named_engine` runs in namespaces of its own, as
:mod:`tests.lab.providers.scenarios` does: two sites' networks on existing parts, which the clouds' own interfaces
made."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from lab.cloud.aws import hosts
from tests.lab.cloud import estate, links
from tests.lab.cloud.aws.site import REGIONS, client
from tests.lab.cloud.conftest import SUBSCRIPTION, Live
from tests.lab.providers.aws_scenarios import OWN
from tests.lab.providers.scenarios import NAMES, Engine, clouds

HERE = Path(__file__).parent
DOMAIN = "named.example.internal"
GROUPS = tuple(f"/subscriptions/{SUBSCRIPTION}/resourcegroups/{name}" for name in ("rg-network", "rg-training"))
NETWORKING = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-network/providers/Microsoft.Network"
NETWORK = f"{NETWORKING}/virtualNetworks/vnet"
ZONE = f"{NETWORKING}/privateDnsZones/{DOMAIN}"
ADDRESSES = tuple(f"{NETWORKING}/publicIPAddresses/vgw-{index}" for index in range(2))
GATEWAY = f"{NETWORKING}/virtualNetworkGateways/vgw"
OURS = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-training/providers/Microsoft.Network"
SUBNETS = {
    "GatewaySubnet": "10.64.0.0/24",
    "snet-etcd": "10.64.1.0/24",
    "snet-api": "10.64.3.0/24",
}
"""Azure's existing subnets; the plan's others are made."""


class NamedEngine(Engine):
    """The same engine with two sites whose parts exist already."""

    program = "named_program"

    def __init__(self, folder: Path, live: Live) -> None:
        super().__init__(folder, live)
        (self.folder / "environment").mkdir()
        self.ec2 = client("ec2")

    def make(self, **subnets: str) -> None:
        """Make all parts, and the environment file that names them; ``subnets`` replaces ranges of Azure's."""
        raw = yaml.safe_load((HERE / "aws_program" / "environment" / "Pulumi.aws.yaml").read_text(encoding="utf-8"))
        environment = raw["config"]["longhaul:environment"]
        weu, use1 = environment["sites"]["weu"], environment["sites"]["use1"]
        weu |= {"range": "10.64.0.0/16", "existing": self._azure({**SUBNETS, **subnets})}
        use1 |= {"range": "10.65.0.0/16", "zones": ["a", "b"], "existing": self._aws()}
        environment |= {"name": "named", "domain": DOMAIN, "sites": {"weu": weu, "use1": use1}}
        environment |= {"naming": {"prefix": "corp"}, "pools": {}}
        path = self.folder / "environment" / "Pulumi.named.yaml"
        path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")

    def _azure(self, subnets: dict[str, str]) -> dict[str, Any]:
        live = self.live
        for group in GROUPS:
            live.put(group, estate.WHERE)
        live.put(NETWORK, estate.network("10.64.0.0/16"))
        for name, range_ in subnets.items():
            endpoints = [] if name == "GatewaySubnet" else [{"service": "Microsoft.KeyVault"}]
            live.put(f"{NETWORK}/subnets/{name}", estate.subnet(range_, serviceEndpoints=endpoints))
        live.put(ZONE, {"location": "global"})
        given = [live.put(address, links.address())["properties"]["ipAddress"] for address in ADDRESSES]
        live.put(GATEWAY, links.gateway(*ADDRESSES, subnet=f"{NETWORK}/subnets/GatewaySubnet"))
        return {
            "resource_group": "rg-training",
            "network": NETWORK,
            "subnets": {"gateway": "GatewaySubnet", "etcd": "snet-etcd", "api": "snet-api"},
            "dns_zone": ZONE,
            "vpn_gateway": {"id": GATEWAY, "addresses": given},
        }

    def _aws(self) -> dict[str, Any]:
        """Make AWS's parts: zone a has a subnet, zone b has none."""
        ec2 = self.ec2
        vpc = ec2.create_vpc(CidrBlock="10.65.0.0/16")["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.65.128.0/19", AvailabilityZone="us-east-1a")["Subnet"]
        table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnet["SubnetId"])
        internet = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(VpcId=vpc, InternetGatewayId=internet)
        gateway = ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
        ec2.attach_vpn_gateway(VpcId=vpc, VpnGatewayId=gateway)
        return {
            "vpc": vpc,
            "internet_gateway": internet,
            "node_subnets": {"a": {"subnet": subnet["SubnetId"], "route_table": table}},
            "vpn_gateway": gateway,
        }

    def there(self) -> dict[str, Any]:
        """Return everything in both clouds, by id or kind."""
        found: dict[str, Any] = {
            path: self.live.arm("GET", path).json() for path in (*GROUPS, NETWORK, ZONE, GATEWAY, *ADDRESSES)
        }
        found |= {one["id"]: one for group in GROUPS for one in self.listed(f"{group}/resources")}
        return found | self.in_aws()

    def listed(self, path: str) -> list[dict[str, Any]]:
        """Return a list of the resource manager."""
        answer: list[dict[str, Any]] = self.live.arm("GET", path).json()["value"]
        return answer

    def in_aws(self) -> dict[str, Any]:
        """Return everything in the one VPC."""
        ec2, (vpc,) = self.ec2, self.ec2.describe_vpcs(Filters=OWN)["Vpcs"]
        inside = [{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
        tables = ec2.describe_route_tables(Filters=inside)["RouteTables"]
        return {
            "VPC": vpc,
            "subnets": ec2.describe_subnets(Filters=inside)["Subnets"],
            "tables": sorted(tables, key=lambda table: str(table["RouteTableId"])),
            "internet gateways": ec2.describe_internet_gateways()["InternetGateways"],
            "VPN gateways": ec2.describe_vpn_gateways()["VpnGateways"],
            "addresses": ec2.describe_addresses()["Addresses"],
        }


def life(engine: NamedEngine) -> None:
    """Preview, make, find unchanged, refresh, destroy: named parts are used, and are unchanged afterwards."""
    engine.make()
    before = engine.there()
    engine.run("preview")
    assert engine.there() == before, "a preview must not change anything"
    engine.up()
    _is_used(engine)
    engine.run("preview", "--expect-no-changes")
    engine.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    engine.run("destroy", "--yes", "--skip-preview")
    after = engine.there()
    assert {key for key in before | after if before.get(key) != after.get(key)} == set()


def _is_used(engine: NamedEngine) -> None:
    """Check that new resources are in the named parts, and that no second part of the same kind exists."""
    network = engine.live.arm("GET", NETWORK).json()
    made = {"corp-named-weu-events", "corp-named-weu-nodes"}
    assert {one["name"] for one in network["properties"]["subnets"]} == {*SUBNETS, *made}
    (link,) = engine.listed(f"{ZONE}/virtualNetworkLinks")
    assert link["properties"]["virtualNetwork"]["id"] == NETWORK
    ours = [one["id"] for one in engine.listed(f"{GROUPS[1]}/resources")]
    assert len(ours) == len([one for one in ours if one.rpartition("/")[2].startswith("corp-named-")])
    kinds = {one.split("/")[-2] for one in ours}
    assert kinds == {"connections", "localNetworkGateways", "natGateways", "networkSecurityGroups", "publicIPAddresses"}
    aws = engine.in_aws()
    assert [len(aws[kind]) for kind in ("internet gateways", "VPN gateways", "addresses", "subnets")] == [1, 1, 1, 3]
    tunnels = [len(gateway.tunnels) for gateway in engine.live.hypervisor.world.gateways]
    assert tunnels == [8, 4], (
        "two connections of two tunnels each in AWS; both of Azure's instances try each of the four"
    )
    routes = [(bool(table["Tags"]), route) for table in aws["tables"] for route in table["Routes"]]
    tagged = sorted(tags for tags, route in routes if "vgw-" in route.get("GatewayId", ""))
    assert tagged == [False, True], "a route to the other site in the named table, and one in zone b's own"


def unfit(engine: NamedEngine) -> None:
    """Check that a preview and `up` report an unfit part with its key, and make nothing in it."""
    engine.make(**{"snet-api": "10.64.4.0/24"})
    before = engine.there()
    said = "its subnet snet-api, named for api, has 10.64.4.0/24, and the address plan 10.64.3.0/24"
    for refused in (engine.run("preview", fails=True), engine.up(fails=True)):
        assert f"sites.weu.existing.network: {NETWORK} does not fit" in refused
        assert said in refused
    for path in (NETWORK, GATEWAY, ZONE):
        assert engine.live.arm("GET", path).json() == before[path]


SCENARIOS: dict[str, Callable[[NamedEngine], Any]] = {scenario.__name__: scenario for scenario in (life, unfit)}


def main(name: str, folder: Path) -> None:
    with clouds(folder, (*NAMES, *hosts.names(REGIONS)), regions=REGIONS) as live:
        os.environ.update(live.cloud.operator_environment())
        SCENARIOS[name](NamedEngine(folder, live))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
