"""Conversion of documents to the world: machines, load balancers, names, and security groups."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lab.cloud.azure.rules import CLOUD, LOAD_BALANCER, internet, merged
from lab.desired import DesiredProbe, DesiredRule
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import NETWORK, Live

RANGE = (IPv4Network("10.0.0.0/16"),)
ADDRESSES = [IPv4Address(text) for text in ("10.0.0.5", "10.0.1.5", "168.63.129.16", "198.51.100.10", "8.8.8.8")]
PREFIXES = ["*", "10.0.0.0/24", "10.0.1.0/24", "VirtualNetwork", "Internet", "AzureLoadBalancer", "AzureKeyVault"]
PORTS = ["*", "80", "80-443", "0-65535"]


def verdict(
    rules: tuple[DesiredRule, ...], direction: str, protocol: str, source: IPv4Address, target: IPv4Address, port: int
) -> bool:
    """Return the decision of the first rule that matches; some rule must match."""
    for rule in sorted(rules, key=lambda one: one.priority):
        if (
            rule.direction == direction
            and rule.protocol in ("any", protocol)
            and (not rule.sources or any(source in one for one in rule.sources))
            and (not rule.destinations or any(target in one for one in rule.destinations))
            and (not rule.ports or any(low <= port <= high for low, high in rule.ports))
        ):
            return rule.allow
    raise AssertionError("no rule matched")


def groups() -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.fixed_dictionaries(
        {
            "access": st.sampled_from(["Allow", "Deny"]),
            "direction": st.sampled_from(["Inbound", "Outbound"]),
            "protocol": st.sampled_from(["Tcp", "Udp", "*"]),
            "sourceAddressPrefix": st.sampled_from(PREFIXES),
            "destinationAddressPrefix": st.sampled_from(PREFIXES),
            "destinationPortRange": st.sampled_from(PORTS),
        }
    )
    return st.lists(one, max_size=4).map(
        lambda entries: [estate.rule(f"r{i}", 100 + i, **entry) for i, entry in enumerate(entries)]
    )


@given(
    first=groups(),
    second=groups(),
    direction=st.sampled_from(["in", "out"]),
    protocol=st.sampled_from(["tcp", "udp"]),
    source=st.sampled_from(ADDRESSES),
    target=st.sampled_from(ADDRESSES),
    port=st.sampled_from([22, 80, 443, 6443]),
)
def test_two_groups_let_through_what_both_let_through(
    first: Any, second: Any, direction: str, protocol: str, source: IPv4Address, target: IPv4Address, port: int
) -> None:
    def asked(*of: Any) -> bool:
        return verdict(merged(list(of), virtual_network=RANGE), direction, protocol, source, target, port)

    assert asked(first, second) == (asked(first) and asked(second))


def test_azures_default_rules() -> None:
    rules = merged([[]], virtual_network=RANGE)
    inside, other, probe, outside = ADDRESSES[0], ADDRESSES[1], LOAD_BALANCER[0], IPv4Address("8.8.8.8")
    assert verdict(rules, "in", "tcp", other, inside, 22)
    assert verdict(rules, "in", "tcp", probe, inside, 6443)
    assert not verdict(rules, "in", "tcp", outside, inside, 22)
    assert verdict(rules, "out", "tcp", inside, other, 22)
    assert verdict(rules, "out", "tcp", inside, outside, 443)
    assert {rule.name for rule in rules} == {
        "AllowVNetInBound", "AllowAzureLoadBalancerInBound", "DenyAllInBound",
        "AllowVnetOutBound", "AllowInternetOutBound", "DenyAllOutBound",
    }  # fmt: skip


def test_without_a_group_nothing_is_filtered() -> None:
    rules = merged([], virtual_network=RANGE)
    assert verdict(rules, "in", "tcp", IPv4Address("8.8.8.8"), ADDRESSES[0], 22)


def test_a_public_address_without_a_group_is_closed_to_the_internet_alone() -> None:
    rules = merged([], virtual_network=RANGE, public=True)
    assert not verdict(rules, "in", "tcp", IPv4Address("8.8.8.8"), ADDRESSES[0], 22)
    assert verdict(rules, "in", "tcp", ADDRESSES[1], ADDRESSES[0], 22)
    assert verdict(rules, "out", "tcp", ADDRESSES[0], IPv4Address("8.8.8.8"), 443)


def test_the_internet_is_what_is_left() -> None:
    ranges = internet(RANGE)
    assert not any(one.overlaps(RANGE[0]) for one in ranges)
    assert any(CLOUD.subnet_of(one) for one in ranges)
    assert sum(one.num_addresses for one in ranges) == 2**32 - RANGE[0].num_addresses - 1


def test_all_ports_are_any_port() -> None:
    (rule, *_) = merged(
        [[estate.rule("all", 100, protocol="*", destinationPortRange="0-65535")]], virtual_network=RANGE
    )
    assert rule.ports == ()


def test_the_world_of_a_small_control_plane(built: Live) -> None:
    world = built.hypervisor.world
    (network,) = world.networks
    assert (network.id, network.name) == (NETWORK.lower(), "net")
    assert network.names == {"api-0.lab.internal": IPv4Address("127.8.0.10")}
    (subnet,) = network.subnets
    assert subnet.egress == (IPv4Address("198.51.100.65"),)
    assert subnet.service_endpoint
    (machine,) = world.machines
    assert machine.address == IPv4Interface("127.8.0.10/24")
    assert (machine.network, machine.image, machine.user_data) == (network.id, "node-1.0.0", b"#cloud-config\n")
    assert (machine.running, machine.local_ssd_gib) == (True, 1788)
    assert machine.rules[0] == replace(machine.rules[0], name="api", allow=True, ports=((6443, 6443),))
    (balancer,) = world.load_balancers
    assert (balancer.frontend, balancer.port, balancer.backend_port) == (IPv4Address("127.8.0.100"), 443, 6443)
    assert balancer.backends == (IPv4Address("127.8.0.10"),)
    assert balancer.probe == DesiredProbe(protocol="https", port=6443, path="/readyz", interval_s=5.0, threshold=2)


def test_a_machine_s_public_address_is_its_network_s_to_translate(live: Live) -> None:
    estate.build(live)
    path = f"{estate.ADDRESS}-door"
    public = IPv4Address(live.put(path, estate.public_address())["properties"]["ipAddress"])
    assert live.hypervisor.world.networks[0].public == {}
    live.put(estate.NIC, estate.interface(pool=True, public=path))
    (network,), (machine,) = live.hypervisor.world.networks, live.hypervisor.world.machines
    assert network.public == {public: IPv4Address("127.8.0.10")}
    assert (machine.address.ip, machine.public) == (IPv4Address("127.8.0.10"), None)


def test_a_subnet_without_a_gateway_has_no_way_out(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(f"{NETWORK}/subnets/b", estate.subnet("127.8.1.0/24"))
    live.put(estate.VM, estate.machine())
    by_name = {subnet.name: subnet for subnet in live.hypervisor.world.networks[0].subnets}
    assert by_name["b"].egress == ()
    assert not by_name["b"].service_endpoint
