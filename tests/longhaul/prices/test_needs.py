"""Parts of an environment that have a price, counted as the components make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clouds.azure import prices as azure
from clouds.azure.vpn_gateway import SIZES
from clouds.base.prices import HostKey, MachineKey, PartKey
from clouds.registry import cloud_of
from components.model import Environment, load
from components.model.autoscaler.section import Autoscaler
from components.model.prices.book import name_of
from components.model.sites.places import place_of
from longhaul.costs.priced_needs import price_keys, priced_needs
from tests.longhaul.prices.conftest import hybrid_with_pools


def counted(environment: Environment) -> dict[str, tuple[int, int]]:
    return {f"{need.group}: {need.what}": (need.least, need.most) for need in priced_needs(environment)}


def test_of_the_hybrid_environment(environment: Environment) -> None:
    """Azure's gateway has one address and its site has one more. AWS has a NAT gateway in each of two zones, and two
    VPN connections with two addresses each: one to Azure, one to the rack's gateway."""
    assert counted(environment) == {
        "control plane: etcd": (3, 3),
        "control plane: etcd for events": (3, 3),
        "control plane: API servers": (2, 2),
        "control plane: load balancer": (1, 1),
        "pool cpu: machines": (1, 10),
        "pool gpu-spot: machines": (0, 4),
        "pool h100: machines": (1, 2),
        "site weu: NAT gateway": (1, 1),
        "site weu: public address": (2, 2),
        "site weu: VPN gateway": (1, 1),
        "site use1: NAT gateway": (2, 2),
        "site use1: public address": (6, 6),
        "site use1: VPN connection": (2, 2),
        "racks rack: hosts": (2, 2),
    }


def test_of_production(root: Path) -> None:
    """Peering has no price by the hour. Each AWS site has one connection to Azure and two to the colocation."""
    found = counted(load(root / "examples" / "Pulumi.prod.yaml"))
    assert found["site use1: VPN connection"] == (3, 3)
    assert found["site use1: public address"] == (9, 9)
    assert found["site euw1: NAT gateway"] == (2, 2)
    assert found["pool h100: machines"] == (0, 128)
    assert found["racks colo: hosts"] == (40, 40)


@pytest.mark.parametrize(("dry_run", "least"), [(False, 3), (True, 1)])
def test_spare_nodes_are_kept_where_an_autoscaler_acts(environment: Environment, dry_run: bool, least: int) -> None:
    """More than the maximum is never kept, whatever nobody checked."""
    pools = {
        name: pool.model_copy(update={"spare": spare})
        for (name, pool), spare in zip(environment.pools.items(), (3, 9, 0), strict=True)
    }
    scaled = environment.model_copy(update={"pools": pools, "autoscaler": Autoscaler(dry_run=dry_run)})
    found = counted(scaled)
    assert found["pool cpu: machines"] == (least, 10)
    assert found["pool gpu-spot: machines"] == (0 if dry_run else 4, 4)
    assert found["pool h100: machines"] == (1, 2)


@pytest.mark.parametrize(("machines", "addresses"), [(195, 1), (196, 2), (600, 4), (7500, 16)])
def test_a_large_site_has_more_addresses(environment: Environment, machines: int, addresses: int) -> None:
    """Each machine counts 256 of an address' 50,000 connections to one destination. A gateway has at most 16 addresses.
    Checks of policies know them by name."""
    pool = environment.pools["cpu"].model_copy(update={"site": "weu", "max": machines})
    larger = environment.model_copy(update={"pools": {"cpu": pool}})
    assert counted(larger)["site weu: public address"] == (1 + addresses, 1 + addresses)
    names = {name for name in cloud_of(larger.sites["weu"]).policy.public(place_of(larger, "weu")) if "egress" in name}
    assert names == {"dev-weu-egress", *(f"dev-weu-egress-{number}" for number in range(1, addresses))}


@pytest.mark.parametrize(
    ("machines", "zones", "addresses"),
    [(214, ("a",), (1, 1)), (215, ("a",), (2, 1)), (428, (), (1, 1)), (429, (), (2, 2)), (7500, ("b",), (1, 8))],
)
def test_a_large_zone_on_aws_has_more_addresses(
    environment: Environment, machines: int, zones: tuple[str, ...], addresses: tuple[int, int]
) -> None:
    """Each machine counts 256 of an address' 55,000 connections, and its zone's share alone. A gateway has at most 8
    addresses. Checks of policies know them by name."""
    pool = environment.pools["cpu"].model_copy(update={"site": "use1", "max": machines, "zones": zones})
    larger = environment.model_copy(update={"pools": {"cpu": pool}})
    tunnels = counted(environment)["site use1: public address"][0] - 2
    assert counted(larger)["site use1: public address"][0] - tunnels == sum(addresses)
    names = cloud_of(larger.sites["use1"]).policy.public(place_of(larger, "use1"))
    for zone, number in zip("ab", addresses, strict=True):
        first = f"dev-use1-network-egress-{zone}"
        wanted = {first, *(f"{first}-{more}" for more in range(1, number))}
        assert {name for name in names if name.startswith(first)} == wanted


def test_without_tunnels_there_is_no_gateway(load_raw: Callable[[dict[str, Any]], Environment]) -> None:
    raw = hybrid_with_pools()
    raw["links"] = [
        {"between": pair, "kind": "existing"} for pair in (["weu", "use1"], ["weu", "rack"], ["use1", "rack"])
    ]
    found = counted(load_raw(raw))
    assert {name for name in found if name.startswith("site")} == {
        "site weu: NAT gateway",
        "site weu: public address",
        "site use1: NAT gateway",
        "site use1: public address",
    }
    assert (found["site weu: public address"], found["site use1: public address"]) == ((1, 1), (2, 2))


def test_what_is_asked_for(environment: Environment) -> None:
    keys = price_keys(environment)
    assert len(keys) == len(set(keys))
    assert not [key for key in keys if isinstance(key, HostKey)]
    spot = MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge", spot=True)
    assert keys.index(spot) == keys.index(spot.on_demand()) + 1
    assert PartKey(cloud="aws", region="us-east-1", part="load-balancer") not in keys
    assert [name_of(key) for key in keys if isinstance(key, MachineKey)] == [
        "Standard_L8s_v3, Azure westeurope",
        "Standard_D8s_v5, Azure westeurope",
        "m6id.xlarge, AWS us-east-1",
        "p5.48xlarge, AWS us-east-1",
        "p5.48xlarge spot, AWS us-east-1",
        "Standard_ND96isr_H100_v5, Azure westeurope",
        "Standard_ND96isr_H100_v5 spot, Azure westeurope",
    ]


def test_a_gateways_price_is_that_of_its_size(environment: Environment) -> None:
    def gateway(**changes: Any) -> tuple[str, str]:
        weu = environment.sites["weu"].model_copy(update=changes)
        sized = environment.model_copy(update={"sites": {**environment.sites, "weu": weu}})
        (need,) = [need for need in priced_needs(sized) if "VPN gateway" in need.what]
        assert isinstance(need.key, PartKey)
        return need.what, azure.meters()[need.key.part].meter

    assert gateway() == ("VPN gateway", "VpnGw2AZ")
    assert gateway(vpn_gateway_size="VpnGw4AZ") == ("VPN gateway VpnGw4AZ", "VpnGw4AZ")
    assert set(SIZES) == {meter.meter for meter in azure.meters().values() if meter.service == "VPN Gateway"}
