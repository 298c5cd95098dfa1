"""Traffic between networks that is routed, let through and cut, without any machine."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest

from lab.desired import DesiredGateway, Network, World
from lab.hypervisor import firewall, instances, internet
from lab.hypervisor.addresses import FAR as HOP
from lab.hypervisor.addresses import NEAR as OWN
from lab.hypervisor.addresses import AddressRanges
from lab.hypervisor.charon import connection, shared_key
from lab.hypervisor.internet import Cut, find_cut
from lab.hypervisor.router_links import RouterLink, router_links, routes
from lab.hypervisor.vici import Tree
from tests.lab.hypervisor.links import FAR_BLOCK, NEAR, NEAR_BLOCK, PODS, SIDE, SIDE_BLOCK, gateway, tunnel, world
from tests.lab.hypervisor.test_firewall import chain

PLAN = AddressRanges(supernet=IPv4Network("10.0.0.0/8"), operators=IPv4Network("10.9.0.0/24"))


def by_id(id_: str, of: World) -> Network:
    (found,) = [network for network in of.networks if network.id == id_]
    return found


def found(id_: str = NEAR, of: World | None = None) -> tuple[RouterLink, ...]:
    of = of or world()
    return router_links(by_id(id_, of), of)


def document(id_: str = NEAR, of: World | None = None) -> list[str]:
    of = of or world()
    network = by_id(id_, of)
    text = firewall.render(
        network=network, machines=of.machines, balancers=(), plan=PLAN, router_links=router_links(network, of)
    )
    return [line.strip() for line in text.splitlines()]


def test_a_way_carries_what_the_routes_of_its_subnets_say() -> None:
    to_far, to_side = found()
    (permit,) = to_far.permits
    # The second subnet has no route, and so its machines have no path.
    assert permit.sources == (IPv4Network("10.1.0.0/24"), PODS["alpha"])
    assert permit.destination == FAR_BLOCK
    assert to_far.origins == (IPv4Network("10.1.0.0/32"), FAR_BLOCK)
    assert [item.destination for item in to_side.permits] == [SIDE_BLOCK]
    assert routes((to_far, to_side)) == {FAR_BLOCK: to_far, SIDE_BLOCK: to_side}


def test_the_two_ends_of_a_peering_are_each_others_next_hop() -> None:
    near, side = found()[1], found(SIDE)[0]
    assert near.link == side.link
    assert (near.near, near.hop) == (side.hop, side.near) == (OWN, HOP)
    assert (near.origins, side.origins) == ((SIDE_BLOCK,), (NEAR_BLOCK,))


def test_a_peering_with_a_network_that_is_not_there_is_no_way() -> None:
    alone = replace(world(), networks=(by_id(NEAR, world()),))
    assert len(found(of=alone)) == 1


def test_of_two_ways_to_one_place_the_first_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    first, second = found()
    both = (first, replace(second, permits=first.permits))
    assert routes(both) == {FAR_BLOCK: first}
    assert "the first is taken" in caplog.text


def test_rules_let_through_what_is_routed_and_nothing_else() -> None:
    link = found()[0].link
    between = "ip saddr { 10.1.0.0/24, 10.1.128.0/28 } ip daddr 10.2.0.0/16"
    assert f'iifname "m-*" oifname "{link}" {between} accept' in chain(document(), "forwarding")
    assert f'iifname "{link}" ip saddr != {{ 10.1.0.0/32, 10.2.0.0/16 }} drop' in chain(document(), "source_check")


def test_a_machine_sends_from_its_routed_ranges_and_leaves_by_its_nat() -> None:
    lines = document()
    assert 'iifname "m-alpha" ip saddr != { 10.1.0.4/32, 10.1.128.0/28 } drop' in chain(lines, "source_check")
    assert chain(lines, "leaving")[-1].endswith("ip saddr { 10.1.0.0/24, 10.1.128.0/28 } snat to 198.51.100.100")


def test_metadata_answers_machines_and_no_pod() -> None:
    rule = chain(document(), "input")[-1]
    assert rule == 'iifname "m-*" ip saddr { 10.1.0.4, 10.1.1.4 } ip daddr 169.254.169.254 tcp dport 80 accept'
    without = replace(world(), networks=tuple(replace(network, metadata=False) for network in world().networks))
    assert not [line for line in document(of=without) if "169.254.169.254 tcp" in line]


def test_a_tunnel_for_charon_names_both_ends_and_never_its_key() -> None:
    made = tunnel(1, near=True)
    assert "a key of" not in str(connection(made)) + repr(made)
    body = connection(made)["link-1"]
    assert isinstance(body, dict)
    assert body["local"] == {"auth": "psk", "id": "198.51.100.65"}
    assert body["children"]["link-1"]["remote_ts"] == ["10.2.0.0/16"]
    assert shared_key(made)["owners"] == ["198.51.100.65", "198.51.100.97"]


def test_a_tunnel_that_does_not_carry_has_no_policies_and_an_id_of_its_own() -> None:
    def child(number: int, *, carries: bool) -> Tree:
        body = connection(replace(tunnel(number, near=True), carries=carries))[f"link-{number}"]
        assert isinstance(body, dict)
        children = body["children"]
        assert isinstance(children, dict)
        found = children[f"link-{number}"]
        assert isinstance(found, dict)
        return found

    assert not {"policies", "reqid"} & child(0, carries=True).keys()
    first, second = (child(number, carries=False) for number in (0, 1))
    assert first["policies"] == second["policies"] == "no"
    assert first["reqid"] != second["reqid"]


def test_an_instance_without_a_tunnel_drops_its_share() -> None:
    def dropping(of: DesiredGateway, *up: str) -> list[str]:
        lines = instances.render(of, up=set(up)).splitlines()
        return [line.split("seed 0x1 ")[1] for line in lines if "jhash" in line]

    plain = gateway(NEAR)
    spread = replace(plain, spreads=True)
    assert dropping(plain) == []
    assert dropping(spread, "link-0", "link-1") == []
    assert dropping(spread, "link-0") == ["1 drop"]
    assert dropping(spread) == ["0 drop", "1 drop"]
    first, second = spread.tunnels
    assert dropping(replace(spread, tunnels=(first, replace(second, carries=False))), "link-0", "link-1") == ["1 drop"]
    assert f"ip daddr {FAR_BLOCK} jhash ip saddr . ip daddr mod 2" in instances.render(spread, up={"link-0"})


def test_what_a_cut_means() -> None:
    machine = replace(world().machines[0], name="gw-rack", public=IPv4Address("198.51.100.20"))
    here = replace(world(), machines=(machine,))
    near, far = ("198.51.100.64", "198.51.100.65"), ("198.51.100.96", "198.51.100.97")
    assert find_cut("gw-near", here) == Cut(near)
    assert find_cut("gw-near/link-1", here) == Cut(("198.51.100.65",), ("198.51.100.97",))
    assert find_cut("gw-near/gw-far", here) == Cut(near, far)
    assert find_cut("gw-rack/gw-near", here) == Cut(("198.51.100.20",), near)
    for unknown in ("gw-nowhere", "gw-near/link-7", "alpha"):
        with pytest.raises(LookupError, match="there are gw-far, gw-near, gw-rack"):
            find_cut(unknown, here)


def test_the_internet_carries_no_private_address_and_drops_what_is_cut() -> None:
    lines = [line.strip() for line in internet.render([Cut(("198.51.100.64",), ("198.51.100.96",))]).splitlines()]
    private = "{ 10.0.0.0/8, 100.64.0.0/10, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16 }"
    assert chain(lines, "forward")[1:] == [
        f"ip saddr {private} drop",
        f"ip daddr {private} drop",
        "ip saddr { 198.51.100.64 } ip daddr { 198.51.100.96 } drop",
        "ip daddr { 198.51.100.64 } ip saddr { 198.51.100.96 } drop",
    ]


def test_a_gateway_of_a_network_that_is_not_there_is_no_ones_way() -> None:
    lost = replace(world(), gateways=(replace(gateway(NEAR), network="/networks/none"),))
    assert [router_link.link[:2] for router_link in found(of=lost)] == ["p-"]
