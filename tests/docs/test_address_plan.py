"""The address plan's page agrees with the code: its tables are generated, its prose is checked here."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from components.model import AddressPlan, Environment, load, plan
from components.model.hosts.places import host_places
from components.model.network.address_plan import INFRA_SUBNETS, machine_capacity, site_plan


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return " ".join((root / "docs" / "address-plan.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def environment(root: Path) -> Environment:
    return load(root / "examples" / "Pulumi.prod.yaml")


@pytest.fixture(scope="module")
def addresses(environment: Environment) -> AddressPlan:
    return plan(environment)


def test_the_line_that_is_followed_by_hand(page: str, environment: Environment, addresses: AddressPlan) -> None:
    colo = addresses.sites["colo"]
    assert list(environment.sites).index("colo") == 4
    assert all(site.block.prefixlen == 16 for name, site in addresses.sites.items() if name != "colo")
    assert f"begins, at {colo.block.network_address}, and that is where a /14 may begin" in page
    assert f"so the block is {colo.block}. Its infrastructure is the first /{colo.infra.prefixlen} of it" in page
    assert f"its nodes the second /{colo.nodes.prefixlen}, its pods the second /{colo.pods.prefixlen}" in page
    place = list(host_places(environment, addresses))[39]
    assert place.address == colo.nodes.network_address + 10 + 39
    assert place.pods.network_address == colo.pods.network_address + 39 * 16
    assert 39 * 16 == 624 == 2 * 256 + 112
    assert "39 × 16 = 624 addresses in: 2 × 256 + 112" in page
    assert "10 + 39 = 49" in page


@pytest.mark.parametrize(
    ("statement", "range_"),
    [
        ("the first sixteenth for infrastructure", IPv4Network("10.0.0.0/20")),
        ("the second eighth for nodes", IPv4Network("10.0.32.0/19")),
        ("the second half for pods", IPv4Network("10.0.128.0/17")),
    ],
)
def test_how_a_block_is_cut(page: str, statement: str, range_: IPv4Network) -> None:
    assert statement in page
    site = site_plan(IPv4Network("10.0.0.0/16"))
    assert range_ in (site.infra, site.nodes, site.pods)


def test_the_last_sixteenth(page: str, addresses: AddressPlan) -> None:
    last = list(addresses.supernet.subnets(prefixlen_diff=4))[15]
    quarters = list(last.subnets(prefixlen_diff=2))
    assert "Its first half is for services, its third quarter for the operators' machines" in page
    assert addresses.services == next(last.subnets(prefixlen_diff=1))
    assert addresses.operators == quarters[2]


def test_how_much_fits(page: str) -> None:
    assert "A site of 16 racks with 32 machines each fits into a /18" in page
    assert site_plan(IPv4Network("10.0.0.0/18")).hosts >= 16 * 32 > site_plan(IPv4Network("10.0.0.0/19")).hosts
    assert "the default, /16, holds 2,048 nodes" in page
    assert site_plan(IPv4Network("10.0.0.0/16")).hosts == 2048


def test_the_tables_agree_with_the_plan(root: Path, environment: Environment, addresses: AddressPlan) -> None:
    lines = (root / "docs" / "address-plan.md").read_text(encoding="utf-8").splitlines()
    cells = [tuple(cell.strip(" `—") for cell in line.split("|")[1:-1]) for line in lines if line.startswith("|")]
    rows = {row[0]: row for row in cells if len(row) == 3}
    for name, site in addresses.sites.items():
        assert IPv4Network(rows[name][1]) == site.block
    assert IPv4Network(rows["services"][1]) == addresses.services
    assert IPv4Address(rows["address of the DNS service"][1]) == addresses.dns_service
    for part in INFRA_SUBNETS:
        # The racks' table comes last, so its row is the one that stays in the dictionary.
        assert IPv4Network(rows[f"{part}` subnet"][1]) == addresses.sites["colo"].subnet(part)
    sizes = {row[0]: row for row in cells if len(row) == 4}
    for prefix in range(8, 21):
        site = site_plan(IPv4Network((10 << 24, prefix)))
        said = [int(cell.replace(",", "")) for cell in sizes[f"/{prefix}"][1:]]
        assert said == [site.hosts, site.nodes.num_addresses, machine_capacity(site.subnet("api"))]
