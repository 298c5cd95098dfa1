"""The survey of an environment agrees with its file."""

from __future__ import annotations

import json
from ipaddress import IPv4Address

import pytest

from components.model import plan
from components.model.autoscaler.section import Autoscaler
from components.model.control_plane.machines import Role
from components.model.network.links import LinkKind
from longhaul.show.counts import Bounds, GpuCount, by_model, exactly, total
from longhaul.show.gather import gather_overview
from longhaul.show.text import to_json
from tests.longhaul.show.environments import NAMES, environment
from tests.longhaul.show.large import HOSTS, POOLS, SITES, raw
from tests.model import make
from tests.support.hosts import GPUS


def test_counts_move_between_their_bounds() -> None:
    assert str(Bounds(min=0, max=1024)) == "0..1,024"
    assert str(exactly(7500)) == "7,500"
    assert total([Bounds(min=1, max=2), exactly(3)]) == Bounds(min=4, max=5)
    assert total([]) == exactly(0)
    assert Bounds(min=1, max=2).times(8) == Bounds(min=8, max=16)


def test_gpus_of_one_model_are_one_count() -> None:
    counts = [
        GpuCount(model="H100", count=Bounds(min=0, max=8)),
        GpuCount(model="", count=exactly(0)),
        GpuCount(model="A10G", count=Bounds(min=1, max=9)),
        GpuCount(model="H100", count=exactly(8)),
    ]
    assert [str(each) for each in by_model(counts)] == ["8..16 H100", "1..9 A10G"]
    assert str(GpuCount(model="", count=exactly(4))) == "4 of any model"


def test_the_totals_of_an_example_that_is_counted_by_hand() -> None:
    totals = gather_overview(environment("hybrid")).totals
    assert (totals.sites, totals.regions, totals.onprem_sites, totals.control_machines) == (3, 2, 1, 8)
    assert totals.nodes == Bounds(min=2 + 4, max=10 + 8 + 4 + 4)
    assert totals.gpus == Bounds(min=32, max=32 + 8 + 4)
    assert {each.model: each.count.max for each in totals.gpus_by_model} == {"H100": 32, "A10G": 8, "A100 80GB": 4}


def test_no_more_nodes_are_told_than_the_autoscaler_allows() -> None:
    held = environment("hybrid").model_copy(update={"autoscaler": Autoscaler(), "max_nodes": 20})
    totals = gather_overview(held).totals
    assert (totals.nodes, totals.gpus.max) == (Bounds(min=6, max=20), 44)


def test_the_totals_of_the_largest() -> None:
    overview = gather_overview(environment("large"))
    assert (overview.totals.sites, len(overview.pools)) == (SITES, POOLS)
    assert overview.totals.nodes.min == HOSTS
    assert overview.totals.nodes.max == HOSTS + sum(pool["max"] for pool in raw()["pools"].values())
    assert overview.totals.gpus.min == HOSTS * GPUS
    assert len(overview.links) == SITES * (SITES - 1) // 2


def test_two_sites_of_one_region_are_one_region() -> None:
    two = make.minimal()
    two["sites"]["second"] = make.AZURE
    assert gather_overview(make.environment(two)).totals.regions == 1


@pytest.mark.parametrize("name", NAMES)
def test_ranges_are_the_plans(name: str) -> None:
    overview, addresses = gather_overview(environment(name)), plan(environment(name))
    assert {site.name: site.block for site in overview.sites} == {
        site: ranges.block for site, ranges in addresses.sites.items()
    }
    assert overview.services == addresses.services
    control = addresses.sites[overview.control_plane.site]
    for role in overview.control_plane.roles:
        assert all(machine.address in control.subnet(role.role) for machine in role.machines)
    for onprem in overview.hosts:
        assert all(gateway.address in addresses.sites[onprem.site].subnet("gateway") for gateway in onprem.gateways)


@pytest.mark.parametrize(("members", "survives"), [(1, 0), (3, 1), (5, 2), (7, 3)])
def test_a_store_survives_as_long_as_it_has_a_quorum(members: int, survives: int) -> None:
    sized = make.minimal()
    sized["control_plane"]["etcd"]["members"] = members
    roles = {role.role: role for role in gather_overview(make.environment(sized)).control_plane.roles}
    assert roles[Role.ETCD].survives == survives
    assert roles[Role.API].survives == len(roles[Role.API].machines) - 1


def test_each_host_has_its_address_and_the_range_that_routers_send_to_it() -> None:
    (onprem,) = gather_overview(environment("every-key")).hosts
    assert [(one.name, str(one.address), str(one.pods)) for one in onprem.machines] == [
        ("test-rack-1", "10.68.128.11", "10.70.0.16/28"),
        ("test-rack-0", "10.68.128.200", "10.70.0.0/28"),
    ]


def test_hosts_with_addresses_of_their_own_are_within_the_racks_bounds() -> None:
    (onprem,) = gather_overview(environment("every-key")).hosts
    assert (onprem.first, onprem.last) == (IPv4Address("10.68.128.11"), IPv4Address("10.68.128.200"))


def test_pools_stand_by_site_and_keep_what_they_say() -> None:
    pools = gather_overview(environment("every-key")).pools
    assert [(pool.site, pool.name) for pool in pools] == [("weu", "big"), ("use1", "gpu")]
    gpu = pools[1]
    assert (gpu.nodes, gpu.gpus, gpu.gpus_each) == (
        Bounds(min=1, max=4),
        GpuCount(model="H100", count=Bounds(min=8, max=32)),
        8,
    )
    assert (gpu.spot, gpu.priority, gpu.fallbacks) == (True, 5, ("big",))


def test_links_are_those_of_the_site() -> None:
    overview = gather_overview(environment("every-key"))
    assert overview.linked("colo") == {LinkKind.EXISTING: ["weu"], LinkKind.IPSEC: ["use1"]}


@pytest.mark.parametrize("name", NAMES)
def test_json_has_all_of_it(name: str) -> None:
    overview = gather_overview(environment(name))
    shown = json.loads(to_json(overview, cost=None))
    assert [pool["name"] for pool in shown["pools"]] == [pool.name for pool in overview.pools]
    assert shown["supernet"] == str(overview.supernet)
    assert [(link["first"], link["kind"]) for link in shown["links"]] == [
        (link.first, link.kind.value) for link in overview.links
    ]
    machines = [machine["name"] for role in shown["control_plane"]["roles"] for machine in role["machines"]]
    machines += [shown["control_plane"]["learner"]["name"]] if shown["control_plane"]["learner"] else []
    assert len(machines) == overview.totals.control_machines
