"""The rules as text. test_network.py tests their effects."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from lab.desired import DesiredMachine
from lab.hypervisor import AddressRanges
from lab.hypervisor.firewall import Healthy, render
from tests.lab.hypervisor.conftest import balancer, machine, network_one, rule

PLAN = AddressRanges(supernet=IPv4Network("10.0.0.0/8"), operators=IPv4Network("10.9.0.0/24"))


def text(*machines: DesiredMachine, balancers: tuple[Healthy, ...] = (), **network: Any) -> list[str]:
    document = render(network=network_one(**network), machines=machines, balancers=balancers, plan=PLAN)
    return [line.strip() for line in document.splitlines()]


def chain(lines: list[str], name: str) -> list[str]:
    start = lines.index(f"chain {name} {{")
    return lines[start + 1 : lines.index("}", start)]


def test_rules_are_in_the_order_of_their_priority_and_end_in_a_drop() -> None:
    rules = (
        rule("c", 300, "in", protocol="udp"),
        rule("a", 100, "in", protocol="tcp", ports=((443, 443), (8000, 8010))),
        rule("b", 200, "in", allow=False, protocol="icmp"),
        rule("elsewhere", 100, "out"),
    )
    assert chain(text(machine("alpha", "10.1.0.4/24", rules=rules)), "in_m_alpha") == [
        "ip saddr 10.1.0.4 drop",
        "tcp dport { 443, 8000-8010 } accept",
        "meta l4proto icmp drop",
        "meta l4proto udp accept",
        "drop",
    ]


def test_overlapping_ranges_and_ports_are_merged() -> None:
    given = rule(
        "a",
        100,
        "out",
        sources=(IPv4Network("10.0.0.0/16"), IPv4Network("10.0.1.0/24")),
        destinations=(IPv4Network("0.0.0.0/0"), IPv4Network("10.2.0.0/24")),
        ports=((80, 90), (85, 100), (101, 101)),
    )
    assert chain(text(machine("alpha", "10.1.0.4/24", rules=(given,))), "out_m_alpha") == [
        "ip saddr { 10.0.0.0/16 } meta l4proto { tcp, udp } th dport { 80-101 } accept",
        "drop",
    ]


def test_connections_leave_from_any_of_a_nat_s_addresses() -> None:
    addresses = (IPv4Address("198.51.100.70"), IPv4Address("198.51.100.71"))
    subnet = replace(network_one().subnets[0], egress=addresses)
    leaving = chain(text(machine("alpha", "10.1.0.4/24"), subnets=(subnet,)), "leaving")
    assert leaving[1].endswith("snat to numgen random mod 2 map { 0 : 198.51.100.70, 1 : 198.51.100.71 }")


def test_links_without_rules_pass_nothing() -> None:
    lines = text()
    assert chain(lines, "egress")[-1] == 'iifname "m-*" drop'
    assert chain(lines, "ingress")[-1] == 'oifname "m-*" drop'


def test_machines_of_other_networks_are_left_out() -> None:
    assert not [line for line in text(machine("beta", "10.2.0.4/24", "other")) if "beta" in line]


def test_a_long_name_fits_an_interface() -> None:
    lines = text(machine("a-very-long-name-of-a-machine-0", "10.1.0.4/24"))
    (name,) = [line.split('"')[1] for line in chain(lines, "source_check") if "10.1.0.4" in line]
    assert len(name) <= 15
    assert chain(lines, f"in_{name}".replace("-", "_"))


def test_flows_are_spread_over_healthy_backends_and_none_is_translated_without_one() -> None:
    up = Healthy(balancer=balancer(), backends=(IPv4Address("10.1.0.5"), IPv4Address("10.1.0.4")))
    spread = chain(text(balancers=(up,)), "translation")[-1]
    assert spread.startswith("ip daddr 10.1.0.9 tcp dport 80 dnat ip addr . port to jhash ")
    assert spread.endswith("mod 2 map { 0 : 10.1.0.4 . 8000, 1 : 10.1.0.5 . 8000 }")
    down = Healthy(balancer=balancer(), backends=())
    assert not [line for line in text(balancers=(down,)) if "10.1.0.9" in line]


def test_a_public_address_is_translated_both_ways_and_a_nat_comes_before_it() -> None:
    lines = text(machine("alpha", "10.1.0.4/24"), public={IPv4Address("198.51.100.70"): IPv4Address("10.1.0.4")})
    assert 'iifname "internet" ip daddr 198.51.100.70 dnat to 10.1.0.4' in chain(lines, "translation")
    forwarded = chain(lines, "forwarding")
    strangers = 'iifname "internet" oifname "m-*" ct status dnat accept'
    assert forwarded.index(strangers) < forwarded.index('iifname "internet" drop')
    assert [line.rpartition(" ")[2] for line in chain(lines, "leaving") if "snat" in line] == [
        "198.51.100.100",
        "198.51.100.70",
    ]


def test_nothing_leaves_without_egress() -> None:
    assert not [line for line in text(subnets=()) if "snat" in line or ('oifname "internet"' in line)]
