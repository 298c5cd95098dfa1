"""Links between sites, as production declares them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from unittest import mock

from clouds.aws.site import AwsSite
from clouds.azure.existing_section import AzureVpn
from clouds.azure.site import AzureSite
from clouds.base.site import Gateway
from clouds.onprem.site import OnpremSite
from components.azure import links as azure_links
from components.model import Environment, plan
from components.model.environment import Link
from tests.support import production as make
from tests.support.declared import Declared, Program, declare, open_text, plain

NETWORKING = (
    "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/corp-network/providers/Microsoft.Network"
)

CONNECTION = "azure-native:network:VirtualNetworkGatewayConnection"


def _pairs(program: Program, production: Environment) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield every link that was made, by the component that makes it once for each pair."""
    names = {f"prod-links-{a}-{b}": frozenset((a, b)) for a, b in combinations(production.sites, 2)}
    for resource in program.resources:
        for name, pair in names.items():
            if resource.name == name or resource.name.startswith(f"{name}-"):
                yield resource.type, pair


def test_every_pair_of_sites_is_linked_by_one_means(production: Environment, program: Program) -> None:
    made = list(_pairs(program, production))
    wanted = {frozenset(pair) for pair in combinations(production.sites, 2)}
    assert {pair for _, pair in made} == wanted
    peered = [pair for type_, pair in made if type_ == "longhaul:aws:Peering"]
    tunnelled = {pair for type_, pair in made if type_.endswith(":VpnPeer")}
    assert len(peered) == len(set(peered)) == 3
    assert set(peered) | tunnelled == wanted
    assert not set(peered) & tunnelled


def test_both_sides_of_a_peering_have_a_route_in_every_table(production: Environment, program: Program) -> None:
    zones = {name: len(site.zones) for name, site in production.sites.items() if isinstance(site, AwsSite)}
    routes = [r for r in program.of("aws:ec2/route:Route") if "vpcPeeringConnectionId" in r.inputs]
    assert len(routes) == sum(zones[a] + zones[b] for a, b in combinations(zones, 2))
    for route in routes:
        assert route.inputs["vpcPeeringConnectionId"].endswith("-accepter-id"), "not before it is accepted"


def test_every_site_routes_to_every_other_block(production: Environment, program: Program) -> None:
    blocks = {site: str(addresses.block) for site, addresses in plan(production).sites.items()}
    for name, site in production.sites.items():
        if isinstance(site, AwsSite):
            tables = {f"prod-{name}-network-nodes-{zone}-routes-id" for zone in site.zones}
            for table in tables:
                routes = [r for r in program.of("aws:ec2/route:Route") if r.inputs["routeTableId"] == table]
                targets = Counter(route.inputs["destinationCidrBlock"] for route in routes)
                others = {block for other, block in blocks.items() if other != name}
                assert targets == Counter({"0.0.0.0/0", *others})


def _azure_to_aws(program: Program) -> tuple[list[Declared], set[str]]:
    """Return Azure's connections to one AWS site, and the addresses that AWS expects them from."""
    connections = [c for c in program.of("azure-native:network:VirtualNetworkGatewayConnection") if "-use1-" in c.name]
    customers = [c for c in program.of("aws:ec2/customerGateway:CustomerGateway") if "weu-use1" in c.name]
    return connections, {str(customer.inputs["ipAddress"]) for customer in customers}


def test_azure_has_one_instance_and_one_connection_to_each_site(program: Program) -> None:
    """Azure documents several connections to one range with BGP only, and we have none."""
    [gateway] = program.of("azure-native:network:VirtualNetworkGateway")
    assert gateway.inputs["activeActive"] is False
    assert [one["name"] for one in gateway.inputs["ipConfigurations"]] == ["instance-0"]
    remotes = program.of("azure-native:network:LocalNetworkGateway")
    ranges = Counter(str(one.inputs["localNetworkAddressSpace"]["addressPrefixes"]) for one in remotes)
    assert set(ranges.values()) == {1}
    assert {remote.name for remote in remotes} == {
        *(f"prod-links-weu-{site}-0-0-remote" for site in ("use1", "usw2", "euw1")),
        "prod-links-weu-colo-gw0-remote",
    }
    [connection], expected = _azure_to_aws(program)
    assert connection.name == "prod-links-weu-use1-0-0-connection"
    assert expected == {"prod-links-weu-address-0-public"}


def test_a_named_gateway_with_two_addresses_has_a_tunnel_from_each_to_one_of_the_racks(production: Environment) -> None:
    named = AzureVpn(id=f"{NETWORKING}/virtualNetworkGateways/vgw", addresses=("198.51.100.10", "198.51.100.11"))  # type: ignore[arg-type]
    weu = production.sites["weu"]
    assert isinstance(weu, AzureSite)
    existing = weu.existing.model_copy(update={"vpn_gateway": named, "network": f"{NETWORKING}/virtualNetworks/n"})
    sites = {"weu": weu.model_copy(update={"existing": existing}), "colo": production.sites["colo"]}
    named_so = production.model_copy(update={"sites": sites, "pools": {}})
    with mock.patch.object(azure_links, "existing_gateway", return_value="gateway-id"):
        made = declare(lambda: make.build(named_so), answer=make.cloud)
    assert len(made.of("azure-native:network:VirtualNetworkGatewayConnection")) == 1
    held = made.outputs["tunnels"]
    assert {t["remote_address"] for t in held["prod-gw0"]} == {"198.51.100.10", "198.51.100.11"}
    assert held["prod-gw1"] == []


def test_every_connection_has_a_customer_gateway_of_its_own(program: Program) -> None:
    """Check also where two sites of a region lead to one address: EC2 tells gateways apart by their names alone."""
    customers = program.of("aws:ec2/customerGateway:CustomerGateway")
    told_apart = Counter((one.inputs["region"], one.inputs["ipAddress"], one.inputs["deviceName"]) for one in customers)
    assert customers
    assert set(told_apart.values()) == {1}
    assert len({one.inputs["deviceName"] for one in customers}) == len(customers)


def test_the_ends_of_a_tunnel_agree(production: Environment, program: Program) -> None:
    blocks = {site: str(addresses.block) for site, addresses in plan(production).sites.items()}
    for connection in program.of("aws:ec2/vpnConnection:VpnConnection"):
        inputs = connection.inputs
        assert {inputs["localIpv4NetworkCidr"], inputs["remoteIpv4NetworkCidr"]} <= set(blocks.values())
        assert inputs["staticRoutesOnly"] is True
        for tunnel in ("tunnel1", "tunnel2"):
            assert inputs[f"{tunnel}IkeVersions"] == ["ikev2"]
    for connection in program.of("azure-native:network:VirtualNetworkGatewayConnection"):
        [selectors] = connection.inputs["trafficSelectorPolicies"]
        assert selectors["localAddressRanges"] == [blocks["weu"]]
        assert connection.inputs["connectionProtocol"] == "IKEv2"


def test_racks_hold_a_tunnel_to_every_end_of_every_cloud_site(production: Environment, program: Program) -> None:
    assert program.secret["tunnels"] is True
    held = program.outputs["tunnels"]
    assert set(held) == {"prod-gw0", "prod-gw1"}
    to_aws = {"use1": 2, "usw2": 2, "euw1": 2}
    # Azure has one connection to a site, which ends at the first gateway.
    wanted = {"prod-gw0": {"weu": 1, **to_aws}, "prod-gw1": to_aws}
    for host, tunnels in held.items():
        assert Counter(t["remote_site"] for t in tunnels) == wanted[host]
        assert len({t["remote_address"] for t in tunnels}) == len(tunnels)
        assert {t["local_address"] for t in tunnels} == {f"203.0.113.1{host[-1]}"}
        assert all(make.KEY in t["key"] for t in tunnels)
    keys = [t["key"] for tunnels in held.values() for t in tunnels]
    assert len(set(keys)) == len(keys)


def test_no_key_is_sent_in_plain(program: Program) -> None:
    hidden = [r for r in program.resources if make.KEY in str(plain(r.inputs))]
    assert hidden, "no resource carries a key, so this test would see nothing"
    for resource in program.resources:
        assert make.KEY not in open_text(resource.inputs), resource.name
    for connection in program.of("aws:ec2/vpnConnection:VpnConnection"):
        assert {"tunnel1PresharedKey", "tunnel2PresharedKey"} <= set(connection.secret_outputs)
    for connection in program.of("azure-native:network:VirtualNetworkGatewayConnection"):
        assert "sharedKey" in connection.secret_outputs


def test_an_existing_circuit_is_left_alone(production: Environment) -> None:
    sites = {name: production.sites[name] for name in ("weu", "euw1", "colo")}
    update = {"sites": sites, "pools": {}, "links": (Link(between=("weu", "colo"), kind="existing"),)}
    made = declare(lambda: make.build(production.model_copy(update=update)), answer=make.cloud)
    names = {resource.name for resource in made.resources}
    assert any(name.startswith("prod-links-weu-euw1") for name in names)
    assert any(name.startswith("prod-links-euw1-colo") for name in names)
    assert not any(name.startswith("prod-links-weu-colo") for name in names)
    for tunnels in made.outputs["tunnels"].values():
        assert {tunnel["remote_site"] for tunnel in tunnels} == {"euw1"}


def test_a_site_whose_links_all_exist_has_no_gateway(production: Environment) -> None:
    sites = {name: production.sites[name] for name in ("weu", "colo")}
    links = (Link(between=("weu", "colo"), kind="existing"),)
    circuit = production.model_copy(update={"sites": sites, "links": links, "pools": {}})
    made = declare(lambda: make.build(circuit), answer=make.cloud)
    assert not made.of("azure-native:network:VirtualNetworkGateway")


def test_a_gateway_has_the_size_of_the_file_in_that_sizes_generation(production: Environment) -> None:
    for size, generation in (("VpnGw1AZ", "Generation1"), ("VpnGw4AZ", "Generation2")):
        weu = production.sites["weu"].model_copy(update={"vpn_gateway_size": size})
        sites = {"weu": weu, "colo": production.sites["colo"]}
        sized = production.model_copy(update={"sites": sites, "pools": {}})
        made = declare(lambda environment=sized: make.build(environment), answer=make.cloud)
        [gateway] = made.of("azure-native:network:VirtualNetworkGateway")
        assert gateway.inputs["sku"] == {"name": size, "tier": size}
        assert gateway.inputs["vpnGatewayGeneration"] == generation


def test_two_azure_sites_peer_and_two_racks_tunnel(production: Environment) -> None:
    racks = production.sites["colo"]
    assert isinstance(racks, OnpremSite)
    second = racks.model_copy(update={"gateways": (Gateway(name="gw2", public_address="203.0.113.20"),)})  # type: ignore[arg-type]
    sites = {"weu": production.sites["weu"], "neu": production.sites["weu"], "colo": racks, "lab": second}
    environment = production.model_copy(update={"sites": sites, "pools": {}, "hosts": ()})
    made = declare(lambda: make.build(environment), answer=make.cloud)
    peerings = made.of("azure-native:network:VirtualNetworkPeering")
    assert {p.inputs["remoteVirtualNetwork"]["id"] for p in peerings} == {"weu-network-id", "neu-network-id"}
    assert all(peering.inputs["allowForwardedTraffic"] is False for peering in peerings)
    near = {t["remote_address"]: t["key"] for t in made.outputs["tunnels"]["prod-gw0"] if t["remote_site"] == "lab"}
    far = {t["remote_address"]: t["key"] for t in made.outputs["tunnels"]["prod-gw2"] if t["remote_site"] == "colo"}
    assert near["203.0.113.20"] == far["203.0.113.10"]
    assert set(far) == {"203.0.113.10", "203.0.113.11"}


def test_azure_is_asked_for_one_change_of_a_network_at_a_time(production: Environment) -> None:
    """Subnets and peerings of a network, and connections of a gateway, wait for each other; there is no other order
    that keeps Azure from refusing them."""
    racks = production.sites["colo"]
    assert isinstance(racks, OnpremSite)
    other = racks.model_copy(update={"gateways": (Gateway(name="gw2", public_address="203.0.113.20"),)})  # type: ignore[arg-type]
    sites = dict.fromkeys(("weu", "neu", "fra"), production.sites["weu"]) | {"colo": racks, "lab": other}
    environment = production.model_copy(update={"sites": sites, "pools": {}, "hosts": ()})
    made = declare(lambda: make.build(environment), answer=make.cloud)
    by_name = {one.name: one for one in made.resources}

    def waits_for(one: str, other: str) -> bool:
        """Follow what a resource waits for: what it names, and what its parent does."""
        before = by_name[one].after | {by_name[one].parent.rpartition("::")[2]}
        return any(name == other or waits_for(name, other) for name in before if name in by_name)

    for site in ("weu", "neu", "fra"):
        changes = [
            one.name
            for one in made.resources
            if (one.type == "azure-native:network:Subnet" and one.name == f"prod-links-{site}-subnet")
            or (one.type == "azure-native:network:VirtualNetworkPeering" and site in one.name.split("-"))
        ]
        assert len(changes) == 5, "a subnet, and both halves of two peerings"
        connections = [one.name for one in made.of(CONNECTION) if f"-{site}-" in one.name]
        assert len(connections) >= 2, "one for each site with racks at least"
        for one, other in [*combinations(changes, 2), *combinations(connections, 2)]:
            assert waits_for(one, other) or waits_for(other, one), f"{one} and {other} are made side by side"


def test_a_tunnel_of_aws_has_the_key_of_aws_until_the_vault_has_one(production: Environment) -> None:
    """While it is replaced, racks show the new one and believe AWS's as well; AWS has one at a time."""

    def keys(of_cloud: str) -> tuple[list[Declared], list[dict[str, Any]]]:
        with mock.patch.object(make, "OF_CLOUD", of_cloud):
            made = declare(lambda: make.build(production), answer=make.cloud)
        held = [one for one in made.outputs["tunnels"]["prod-gw0"] if one["remote_site"] == "use1"]
        return made.of("aws:ec2/vpnConnection:VpnConnection"), held

    connections, held = keys("")
    assert {plain(one.inputs[f"tunnel{tunnel}PresharedKey"]) for one in connections for tunnel in (1, 2)} == {None}
    assert [(one["key"].startswith(make.KEY), one["others"]) for one in held] == [(True, []), (True, [])]
    own = [one["key"] for one in held]
    connections, held = keys("new")
    assert {plain(one.inputs[f"tunnel{tunnel}PresharedKey"]) for one in connections for tunnel in (1, 2)} == {"new"}
    assert [(one["key"], one["others"]) for one in held] == [("new", [key]) for key in own]


def test_racks_believe_all_keys_of_a_tunnel_and_azure_has_the_first(production: Environment) -> None:
    with mock.patch.object(make, "KEY", "new former"):
        made = declare(lambda: make.build(production), answer=make.cloud)
    connection = next(one for one in made.of(CONNECTION) if "-colo-" in one.name)
    assert plain(connection.inputs["sharedKey"]) == "new"
    (held,) = (one for one in made.outputs["tunnels"]["prod-gw0"] if one["remote_site"] == "weu")
    assert (held["key"], held["others"]) == ("new", ["former-tunnel-weu-colo-gw0"])
