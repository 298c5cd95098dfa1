"""Existing parts that are named instead of made, and names of resources: checks that need the file alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.aws.names import node_role
from clouds.azure.existing_networks import network_faults
from clouds.azure.names import resource_group, subnet_name
from clouds.base.existing_networks import FoundNetwork, FoundSubnet, ranges_of
from components.model import Environment, plan, vault_name
from components.model.sites.cloud_names import pool_group
from components.model.sites.places import place_of, site_ranges
from components.model.versions.section import nearest_offered
from tests.model import make
from tests.model.files import only, problems_of, write

OTHER = "/subscriptions/00000000-0000-4000-8000-000000000009/resourceGroups/g/providers/Microsoft.Network"
WEU = "sites.weu.existing"
GATEWAY = f"{WEU}.vpn_gateway.addresses"


def changed(at: str, to: Any) -> dict[str, Any]:
    """Return the full environment with another value at a key, or without the key."""
    raw = make.full()
    place: Any = raw
    *above, last = at.split(".")
    for part in above:
        place = place[part]
    if to is None:
        del place[last]
    else:
        place[last] = to
    return raw


@pytest.mark.parametrize(
    ("at", "to", "key", "wrong"),
    [
        (f"{WEU}.network", f"{OTHER}/virtualNetworks/v", f"{WEU}.network", "another subscr"),
        (f"{WEU}.subnets.api", "snet-etcd", f"{WEU}.subnets.api", "the subnet of etcd already"),
        (f"{WEU}.subnets.gateway", "gw", f"{WEU}.subnets.gateway", "'gw'"),
        (f"{WEU}.dns_zone", None, f"{WEU}.dns_zone_linked", "no DNS zone is named"),
        ("domain", "other.internal", f"{WEU}.dns_zone", "not the environment's domain"),
        ("sites.weu.range", None, f"{WEU}.network", "the range of weu in it is not"),
        ("sites.use1.zones", ["a", "c"], "sites.use1.existing.node_subnets.b", "'b' is not a zone"),
        ("sites.use1.account", "12345", "sites.use1.account", "12345"),
        (GATEWAY, ["198.51.100.10", "10.64.0.4"], f"{GATEWAY}.1", "10.64.0.4 is not public"),
        (GATEWAY, ["100.64.0.4"], f"{GATEWAY}.0", "100.64.0.4 is not public"),
        (GATEWAY, ["169.254.21.1"], f"{GATEWAY}.0", "169.254.21.1 is not public"),
        ("naming.prefix", "Corp", "naming.prefix", "'Corp'"),
        ("naming.prefix", "eleven-long", "naming.prefix", "11"),
    ],
)
def test_what_does_not_go_together_is_said(tmp_path: Path, at: str, to: Any, key: str, wrong: str) -> None:
    problem = only(write(tmp_path, changed(at, to), hosts=make.hosts()))
    assert problem.key == key
    assert wrong in problem.wrong


@pytest.mark.parametrize(
    ("written", "wrong", "instead"),
    [
        ("012345678901", "012345678901 is not text", '"012345678901", in quotes'),
        ("000000000017", "000000000017 is not text", '"000000000017", in quotes'),
        ("123456789012", "123456789012 is not text", '"123456789012", in quotes'),
        ("12345678901", "12345678901 is not text", "an account's id, 12 digits in quotes"),
        ('"12345678901"', "'12345678901' is not an account's id", 'for example "123456789012"'),
    ],
)
def test_an_account_without_its_quotes(tmp_path: Path, written: str, wrong: str, instead: str) -> None:
    path = write(tmp_path, changed("sites.use1.account", "ACCOUNT"), hosts=make.hosts())
    path.write_text(path.read_text(encoding="utf-8").replace("ACCOUNT", written), encoding="utf-8")
    problem = only(path)
    assert (problem.key, problem.write) == ("sites.use1.account", instead)
    assert wrong in problem.wrong


def test_a_version_is_three_numbers(tmp_path: Path) -> None:
    raw = changed("versions.kubernetes", "v1.35")
    problem = only(write(tmp_path, raw, hosts=make.hosts()))
    assert problem.wrong == "'v1.35' is not three numbers without a leading v"
    raw["versions"]["kubernetes"] = 1.10
    problem = only(write(tmp_path, raw, hosts=make.hosts()))
    assert problem.write == nearest_offered("kubernetes", "1.10")


def test_parts_of_a_network_need_the_network(tmp_path: Path) -> None:
    raw = changed(f"{WEU}.network", None)
    del raw["sites"]["use1"]["existing"]["vpc"]
    keys = {problem.key for problem in problems_of(write(tmp_path, raw, hosts=make.hosts()))}
    assert keys == {
        "sites.weu.existing.subnets",
        "sites.weu.existing.vpn_gateway",
        *(f"sites.use1.existing.{part}" for part in ("internet_gateway", "node_subnets", "vpn_gateway")),
    }


def test_an_environment_has_one_account_and_a_network_one_site(tmp_path: Path) -> None:
    raw = make.full()
    raw["sites"]["usw2"] = {**make.AWS, "account": "210987654321", "range": "10.66.0.0/16"}
    raw["sites"]["usw2"]["existing"] = {"vpc": raw["sites"]["use1"]["existing"]["vpc"]}
    found = {problem.key: problem.wrong for problem in problems_of(write(tmp_path, raw, hosts=make.hosts()))}
    assert found.keys() == {"sites.usw2.account", "sites.usw2.existing.vpc"}
    assert "the network of use1 already" in found["sites.usw2.existing.vpc"]


@pytest.mark.parametrize(("key", "value"), [("encrypted", True), ("vpn_gateway_size", "VpnGw3AZ")])
def test_an_existing_part_is_changed_by_whoever_has_it(tmp_path: Path, key: str, value: object) -> None:
    raw = make.full()
    raw["sites"]["weu"][key] = value
    (problem,) = problems_of(write(tmp_path, raw, hosts=make.hosts()))
    assert problem.key == f"sites.weu.{key}"
    assert "is not Longhaul's" in problem.wrong


def names(environment: Environment) -> tuple[str, ...]:
    return resource_group(place_of(environment, "weu")), pool_group(environment, "p"), vault_name(environment)


def test_names_are_as_ever_without_a_prefix_and_begin_with_it_otherwise() -> None:
    pools = {"p": {"site": "weu", "machine_type": "Standard_D8s_v5", "max": 1}}
    group, pool, vault = names(make.environment(pools=pools))
    assert (group, pool, vault[:8]) == ("test-weu", "test-p", "lh-test-")
    with_prefix = names(make.environment(pools=pools, naming={"prefix": "ten-letter"}))
    assert with_prefix == ("ten-letter-test-weu", "ten-letter-test-p", f"ten-letter-test-{vault[8:]}")
    assert len(with_prefix[2]) <= 24


def test_a_named_group_is_called_as_it_is() -> None:
    environment = make.environment(make.full() | {"bare_metal": None})
    assert resource_group(place_of(environment, "weu")) == "rg-training"
    assert node_role(place_of(environment, "use1")) == "corp-test-use1-node"


def test_names_too_long_for_their_cloud_are_said(tmp_path: Path) -> None:
    raw = make.full()
    raw["naming"]["prefix"] = "ten-letter"
    raw["sites"] = {name: site for name, site in raw["sites"].items() if name != "colo"}
    raw["sites"]["c" * 20] = {**make.ONPREM, "range": "10.68.0.0/14"}
    raw["sites"]["c" * 20]["gateways"] = [{"name": "g" * 20, "public_address": "203.0.113.10"}]
    raw["sites"]["w" * 20] = {**make.AZURE, "range": "10.67.0.0/16"}
    raw["links"] = []
    problem = only(write(tmp_path, raw, hosts=make.rack()))
    assert problem.key == "naming.prefix"
    assert "the name of a connection" in problem.wrong


def test_a_network_is_held_against_the_plan() -> None:
    environment = make.environment(make.full() | {"bare_metal": None})
    addresses = plan(environment)
    subnets = {
        "gatewaysubnet": FoundSubnet(ranges=ranges_of(["10.64.0.0/24"])),
        "snet-etcd": FoundSubnet(
            ranges=ranges_of(["10.64.1.0/24"]), endpoints=("Microsoft.KeyVault", "Microsoft.Storage")
        ),
        "snet-events": FoundSubnet(ranges=ranges_of(["10.64.2.0/24"])),
        "snet-api": FoundSubnet(ranges=ranges_of(["10.64.3.0/25"]), endpoints=("Microsoft.KeyVault",), delegated="X"),
    }
    found = FoundNetwork(region="West Europe", ranges=ranges_of(["10.64.0.0/15", "fd00::/64"]), subnets=subnets)
    assert [
        fault.split(";")[0]
        for fault in network_faults(found, place_of(environment, "weu"), site_ranges(addresses, "weu"))
    ] == [
        "it has 10.65.0.0/16 besides, in 10.64.0.0/12, where the other sites are: traffic to them would stay in "
        "the network",
        "its subnet snet-events, named for events, lacks the service endpoint Microsoft.KeyVault, through which "
        "machines reach the vault",
        "its subnet snet-events, named for events, lacks the service endpoint Microsoft.Storage, through which "
        "members reach the backups",
        "its subnet snet-api, named for api, has 10.64.3.0/25, and the address plan 10.64.3.0/24",
        "its subnet snet-api, named for api, is delegated to X",
        "it has no subnet snet-vpn, named for vpn",
        "it has no subnet snet-nodes, named for nodes",
    ]


def test_what_an_earlier_up_has_made_is_not_in_its_own_way() -> None:
    raw = make.full() | {"bare_metal": None}
    weu = raw["sites"]["weu"]["existing"]
    weu["subnets"] = {}
    del weu["vpn_gateway"]
    environment = make.environment(raw)
    ranges, place = site_ranges(plan(environment), "weu"), place_of(environment, "weu")
    made = {subnet_name(place, part).lower(): FoundSubnet(ranges=(range_,)) for part, range_ in ranges.parts.items()}
    assert {"corp-test-weu-etcd", "gatewaysubnet"} < made.keys()
    network = FoundNetwork(region="westeurope", ranges=ranges_of(["10.64.0.0/16"]), subnets=made)
    assert list(network_faults(network, place, ranges)) == []
    others = {f"snet-{name}": subnet for name, subnet in made.items()}
    other = FoundNetwork(region="westeurope", ranges=ranges_of(["10.64.0.0/16"]), subnets=others)
    assert len(list(network_faults(other, place, ranges))) == len(ranges.parts)
