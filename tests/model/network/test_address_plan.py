"""The address plan: properties that hold for every environment."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clouds.base.ranges import PRIVATE
from components.model.network.address_plan import (
    FIRST_MACHINE,
    FRONTEND,
    INFRA_SUBNETS,
    POD_PREFIX,
    AddressPlan,
    machine_address,
    machine_capacity,
    plan,
    role_addresses,
    site_plan,
)
from components.model.network.site_ranges import PlanError, nth_subnet, plan_errors
from tests.model.make import with_sites


@st.composite
def supernets(draw: st.DrawFn) -> IPv4Network:
    """Draw any supernet that is allowed."""
    private = draw(st.sampled_from(PRIVATE))
    prefix = draw(st.integers(min_value=private.prefixlen, max_value=16))
    return nth_subnet(private, prefix, draw(st.integers(min_value=0, max_value=2 ** (prefix - private.prefixlen) - 1)))


Layout = tuple[IPv4Network, list[int]]


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Draw a supernet, and the sizes of sites that fit into it."""
    supernet = draw(supernets())
    sizes: list[int] = []
    for size in draw(st.lists(st.integers(max(8, supernet.prefixlen + 1), 20), min_size=1, max_size=12)):
        if not plan_errors(with_sites(supernet, [*sizes, size])):
            sizes.append(size)
    return supernet, sizes or [20]


def blocks(inside: IPv4Network = PRIVATE[0]) -> st.SearchStrategy[IPv4Network]:
    """Draw any block that a site can have in a supernet."""
    return st.integers(max(8, inside.prefixlen), 20).flatmap(
        lambda prefix: st.integers(0, 2 ** (prefix - inside.prefixlen) - 1).map(
            lambda index: nth_subnet(inside, prefix, index)
        )
    )


BLOCKS = blocks()


def planned(layout: Layout) -> AddressPlan:
    return plan(with_sites(*layout))


def disjoint(*ranges: IPv4Network) -> bool:
    return not any(a.overlaps(b) for a, b in combinations(ranges, 2))


def first_fit(supernet: IPv4Network, sizes: list[int]) -> list[IPv4Network | None]:
    """Return "the next free block" for each size, found by trying all blocks in order."""
    taken = [list(supernet.subnets(prefixlen_diff=4))[15]]
    placed: list[IPv4Network | None] = []
    for size in sizes:
        candidates = supernet.subnets(new_prefix=size) if size >= supernet.prefixlen else iter(())
        block = next((candidate for candidate in candidates if not any(map(candidate.overlaps, taken))), None)
        placed.append(block)
        taken += [block] if block else []
    return placed


@given(layouts())
def test_everything_is_inside_the_supernet_and_nothing_overlaps(layout: Layout) -> None:
    supernet, _ = layout
    addresses = planned(layout)
    ranges = [*(site.block for site in addresses.sites.values()), addresses.services, addresses.operators]
    assert all(range_.subnet_of(supernet) for range_ in ranges)
    assert disjoint(*ranges)
    assert addresses.supernet == supernet


@given(layouts())
def test_each_site_has_a_block_of_the_size_it_asks_for(layout: Layout) -> None:
    addresses, (_, sizes) = planned(layout), layout
    assert [site.block.prefixlen for site in addresses.sites.values()] == sizes
    assert list(addresses.sites) == [f"s{index}" for index in range(len(sizes))]


@given(
    st.sampled_from([IPv4Network("192.168.0.0/16"), IPv4Network("10.0.0.0/14")]),
    st.lists(st.integers(12, 20), min_size=1, max_size=24),
)
def test_blocks_are_the_first_that_are_free_or_the_site_is_told(supernet: IPv4Network, sizes: list[int]) -> None:
    expected = first_fit(supernet, sizes)
    environment = with_sites(supernet, sizes)
    errors = plan_errors(environment)
    assert [error.key for error in errors] == [
        ("sites", f"s{index}", "prefix") for index, block in enumerate(expected) if block is None
    ]
    for error in errors:
        assert str(error.key[1]) in error.wrong
        assert str(supernet) in error.wrong
    if not errors:
        assert [site.block for site in plan(environment).sites.values()] == expected
    else:
        with pytest.raises(PlanError):
            plan(environment)


@given(layouts())
def test_the_plan_is_the_same_each_time(layout: Layout) -> None:
    assert planned(layout) == planned(layout)


@given(layouts(), st.data())
def test_a_site_that_is_appended_moves_no_other(layout: Layout, data: st.DataObject) -> None:
    supernet, sizes = layout
    before = planned(layout)
    size = data.draw(st.integers(8, 20))
    range_ = data.draw(st.none() | blocks(supernet))
    longer = with_sites(supernet, [*sizes, size], ranges=None if range_ is None else {len(sizes): range_})
    errors = plan_errors(longer)
    if errors:
        # The new site does not fit: the error is about that site alone.
        assert [error.key[1] for error in errors] == [f"s{len(sizes)}"]
    else:
        after = plan(longer)
        assert {name: site for name, site in after.sites.items() if name in before.sites} == before.sites
        assert (after.services, after.operators) == (before.services, before.operators)


@given(layouts(), st.data())
def test_a_written_range_is_honoured_and_the_others_keep_clear_of_it(layout: Layout, data: st.DataObject) -> None:
    supernet, sizes = layout
    block = data.draw(blocks(supernet))
    environment = with_sites(supernet, [20, *sizes], ranges={0: block})
    shared = nth_subnet(supernet, supernet.prefixlen + 4, 15)
    errors = plan_errors(environment)
    assert (("sites", "s0", "range") in [error.key for error in errors]) == block.overlaps(shared)
    if not errors:
        addresses = plan(environment)
        assert addresses.sites["s0"].block == block
        assert disjoint(*(site.block for site in addresses.sites.values()), addresses.services, addresses.operators)


@given(BLOCKS)
def test_a_block_is_cut_into_disjoint_parts(block: IPv4Network) -> None:
    site = site_plan(block)
    assert all(part.subnet_of(block) for part in (site.infra, site.nodes, site.pods))
    assert disjoint(site.infra, site.nodes, site.pods)
    shares = [block.num_addresses // part.num_addresses for part in (site.infra, site.nodes, site.pods)]
    assert shares == [16, 8, 2]


@given(BLOCKS)
def test_subnets_and_zones_are_disjoint_and_inside_their_part(block: IPv4Network) -> None:
    site = site_plan(block)
    subnets = [site.subnet(part) for part in INFRA_SUBNETS]
    assert all(subnet.subnet_of(site.infra) for subnet in subnets)
    assert disjoint(*subnets)
    for whole, zones in (
        (site.nodes, [site.zone_subnet(zone) for zone in range(4)]),
        (site.pods, [site.zone_pods(zone) for zone in range(4)]),
    ):
        assert zones == list(whole.subnets(prefixlen_diff=2))


@given(BLOCKS, st.data())
def test_hosts_have_addresses_and_pod_ranges_of_their_own(block: IPv4Network, data: st.DataObject) -> None:
    site = site_plan(block)
    first, second = data.draw(st.lists(st.integers(0, site.hosts - 1), min_size=2, max_size=2, unique=True))
    assert site.node_address(first) != site.node_address(second)
    assert site.node_address(first) == site.nodes.network_address + FIRST_MACHINE + first
    assert site.node_address(second) in site.nodes
    pods = site.pod_range(first), site.pod_range(second)
    assert disjoint(*pods)
    assert all(range_.prefixlen == POD_PREFIX and range_.subnet_of(site.pods) for range_ in pods)


@given(BLOCKS)
def test_the_last_host_fits_and_the_next_does_not(block: IPv4Network) -> None:
    site = site_plan(block)
    assert site.node_address(site.hosts - 1) in site.nodes
    assert site.pod_range(site.hosts - 1).subnet_of(site.pods)
    with pytest.raises(IndexError, match=str(site.pods).replace(".", r"\.")):
        site.pod_range(site.hosts)


@given(BLOCKS, st.integers(0, 12))
def test_nth_subnet_is_the_nth_of_all_subnets(network: IPv4Network, further: int) -> None:
    prefix = network.prefixlen + further
    everyone = list(network.subnets(new_prefix=prefix))
    assert [nth_subnet(network, prefix, index) for index in range(len(everyone))] == everyone
    for index in (-1, len(everyone)):
        with pytest.raises(IndexError):
            nth_subnet(network, prefix, index)


@given(st.integers(20, 28), st.data())
def test_machines_of_a_role_have_addresses_that_no_cloud_keeps(prefix: int, data: st.DataObject) -> None:
    subnet = nth_subnet(IPv4Network("10.0.0.0/16"), prefix, data.draw(st.integers(0, 2 ** (prefix - 16) - 1)))
    count = data.draw(st.integers(0, min(machine_capacity(subnet), 64)))
    addresses = role_addresses(subnet, count)
    assert len(set(addresses)) == count
    assert all(address in subnet for address in addresses)
    assert not {*list(subnet)[:4], subnet[-1], subnet[FRONTEND]} & set(addresses)
    assert machine_address(subnet, machine_capacity(subnet) - 1) == subnet[-2]
    with pytest.raises(IndexError):
        role_addresses(subnet, machine_capacity(subnet) + 1)


@given(layouts())
def test_the_services_have_the_addresses_that_kubernetes_expects(layout: Layout) -> None:
    addresses = planned(layout)
    assert addresses.kubernetes_service == addresses.services.network_address + 1
    assert addresses.dns_service in addresses.services
    assert addresses.dns_service != addresses.kubernetes_service


def error_of(supernet: str, ranges: dict[int, str]) -> PlanError:
    """Return the one error of sites with these ranges, or of a small site without any."""
    numbered = {index: IPv4Network(range_) for index, range_ in ranges.items()}
    sizes = [16] * (max(ranges) + 1) if ranges else [20]
    (error,) = plan_errors(with_sites(IPv4Network(supernet), sizes, ranges=numbered))
    return error


SHARED = "10.79.0.0/16 of the services, operators and laptops"
SUPERNET, FIRST, SECOND = ("supernet",), ("sites", "s0", "range"), ("sites", "s1", "range")


@pytest.mark.parametrize(
    ("supernet", "ranges", "key", "wrong", "write"),
    [
        ("10.0.0.0/17", {}, SUPERNET, "10.0.0.0/17", ["/16"]),
        ("192.168.1.0/24", {}, SUPERNET, "192.168.1.0/24", ["/16"]),
        *(
            (supernet, {}, SUPERNET, "not private", list(map(str, PRIVATE)))
            for supernet in ("8.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "0.0.0.0/4", "172.0.0.0/8", "240.0.0.0/8")
        ),
        ("10.64.0.0/12", {0: "10.80.0.0/16"}, FIRST, "10.80.0.0/16 of s0", []),
        ("10.64.0.0/12", {0: "10.80.0.0/16"}, FIRST, "10.64.0.0/12", []),
        # Over an earlier site, which does not move.
        ("10.64.0.0/12", {1: "10.64.0.0/16"}, SECOND, "10.64.0.0/16 of s0", []),
        ("10.64.0.0/12", {0: "10.79.0.0/16"}, FIRST, f"10.79.0.0/16 of s0 overlaps {SHARED}", []),
        ("10.64.0.0/12", {0: "10.64.0.0/21"}, FIRST, "/8 and /20", []),
        ("10.64.0.0/12", {0: "10.0.0.0/7"}, FIRST, "/8 and /20", []),
    ],
)
def test_what_does_not_fit_is_said(
    supernet: str, ranges: dict[int, str], key: tuple[str, ...], wrong: str, write: list[str]
) -> None:
    error = error_of(supernet, ranges)
    assert error.key == key
    assert wrong in error.wrong
    assert all(part in error.write for part in write)


def test_two_ranges_that_overlap_name_both_and_one_that_is_free() -> None:
    error = error_of("10.64.0.0/12", {0: "10.64.0.0/14", 1: "10.65.0.0/16"})
    assert error.key == SECOND
    assert error.wrong == "10.65.0.0/16 of s1 overlaps 10.64.0.0/14 of s0"
    assert "10.68.0.0/16" in error.write


def test_every_range_that_does_not_fit_is_named() -> None:
    environment = with_sites(
        IPv4Network("10.64.0.0/12"),
        [16, 16, 9, 16],
        ranges={0: IPv4Network("10.0.0.0/16"), 1: IPv4Network("10.79.0.0/16")},
    )
    assert [error.key for error in plan_errors(environment)] == [
        ("sites", "s0", "range"),
        ("sites", "s1", "range"),
        ("sites", "s2", "prefix"),
    ]
