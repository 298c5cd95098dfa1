"""The text for people: the whole of the example, and the content of each section."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from components.model import Environment, plan
from components.model.autoscaler.section import Autoscaler
from longhaul.report.text import WIDTH
from longhaul.show.gather import gather_overview
from longhaul.show.text import LISTED, to_text
from tests.longhaul.show.environments import NAMES, environment
from tests.longhaul.show.large import POOLS
from tests.model import make
from tests.support.golden import Golden

NO_PRICES = "no prices are known; `longhaul prices --env E` reads those of your machine types"


def text(shown: Environment, *, everything: bool = False, unicode: bool = True) -> str:
    return to_text(gather_overview(shown), cost=NO_PRICES, everything=everything, unicode=unicode) + "\n"


def section(whole: str, title: str) -> str:
    """Return a section's lines below its title, including its paragraphs."""
    _, _, after = whole.partition(f"\n\n{title}\n")
    kept = []
    for line in after.splitlines():
        if line and not line.startswith(" "):
            break
        kept.append(line)
    return "\n".join(kept).rstrip()


@pytest.mark.parametrize(
    ("file", "everything", "unicode"),
    [("hybrid.txt", False, True), ("hybrid-all.txt", True, True), ("hybrid-ascii.txt", False, False)],
)
def test_the_example_reads_as_it_did(file: str, everything: bool, unicode: bool, golden: Golden) -> None:
    golden(file, text(environment("hybrid"), everything=everything, unicode=unicode))


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_it_keeps_to_its_width_and_ends_no_line_with_blanks(name: str, everything: bool) -> None:
    lines = text(environment(name), everything=everything).splitlines()
    assert [line for line in lines if len(line) > WIDTH or line != line.rstrip()] == []


def test_production_in_two_lines() -> None:
    first, second, *_ = text(environment("prod")).splitlines()
    assert first.startswith("prod: 5 sites (4 cloud regions, 1 on-prem), ")
    assert first.endswith("control plane of 15 machines in weu")
    assert second.startswith("      GPUs: 320..5,180 (0..2,560 H100, ")


def test_who_may_do_what() -> None:
    shown = text(environment("every-key"))
    assert section(shown, "People").splitlines() == [
        "  ISSUER  URL",
        "  corp    https://corp.example.com",
        "  GROUP    EVERYWHERE  NAMESPACES        LAPTOPS",
        "  corp:ml  view        edit in research  yes",
        "  laptops connect to vpn.example.com from 198.51.100.0/24, tunnels in 10.79.192.0/18",
    ]
    assert section(shown, "Teams").splitlines() == [
        "  TEAM    PRIORITY  GROUPS       KIND       GUARANTEED       BORROWS  LENDS",
        "  visual  5         corp:visual  h100-spot  2 GPUs, 8 cores  1        1",
    ]
    assert "1..4, 1 spare" in section(shown, "Pools")


@pytest.mark.parametrize(
    ("autoscaler", "said"),
    [
        (None, "no autoscaler: you change pools' sizes yourself"),
        (Autoscaler(dry_run=True), "the autoscaler changes no size"),
        (Autoscaler(), "the autoscaler sizes pools"),
    ],
)
def test_who_sizes_pools(autoscaler: Autoscaler | None, said: str) -> None:
    shown = environment("every-key").model_copy(update={"autoscaler": autoscaler})
    assert said in section(text(shown), "Control plane")


def test_queues_without_a_team() -> None:
    assert section(text(make.environment({**make.minimal(), "queues": True})), "Teams") == (
        "  jobs may queue (Kueue, JobSet); no team is declared"
    )


def test_what_there_is_not_has_no_section() -> None:
    shown = text(environment("one-site"))
    assert "no GPUs" in shown
    assert [title for title in ("Pools", "Racks", "Links") if f"\n\n{title}\n" in shown] == []
    assert section(shown, "Sites").splitlines()[1].split()[-1] == "-"


def test_a_pool_has_everything_that_is_asked_of_it() -> None:
    rows = section(text(environment("every-key")), "Pools").splitlines()
    assert [row.split() for row in rows] == [
        ["POOL", "SITE", "MACHINE", "TYPE", "NODES", "GPUS", "FALLBACKS"],
        ["big", "weu", "Huge,", "reserved", "2027-03-01..2027-03-28", "0..1", "0..1", "A100", "80GB", "-"],
        ["gpu", "use1", "p5.48xlarge,", "spot", "1..4,", "1", "spare", "8..32", "H100", "big"],
    ]


def test_reserved_capacity_has_its_days() -> None:
    raw = make.minimal() | {"sites": {"weu": make.AZURE, "use1": make.AWS}}
    gpus = {"site": "use1", "machine_type": "p5en.48xlarge", "max": 4, "zones": ["a"]}
    block = {"kind": "capacity-block", "id": "cr-0123456789abcdef0", "begins": "2199-02-01", "ends": "2199-02-28"}
    raw["pools"] = {"b": gpus | {"reservation": block}, "r": gpus | {"reservation": {"id": "cr-0123456789abcdef1"}}}
    rows = section(text(make.environment(raw)), "Pools").splitlines()
    assert "p5en.48xlarge, block 2199-02-01..2199-02-28  0..4" in rows[1]
    assert "p5en.48xlarge, reserved" in rows[2]


def test_many_pools_of_a_site_are_folded_and_summed() -> None:
    raw = make.minimal()
    pool = {"site": "weu", "machine_type": "Standard_NC24ads_A100_v4", "max": 10}
    raw["pools"] = {f"pool-{index:02}": {**pool, "min": index % 2} for index in range(LISTED + 4)}
    shown = make.environment(raw)
    rows = section(text(shown), "Pools").splitlines()[1:]
    assert len(rows) == LISTED + 1
    assert rows[-1].split() == ["…", "4", "more", "weu", "(--all", "lists", "them)", "2..40", "2..40"]
    assert len(section(text(shown, everything=True), "Pools").splitlines()[1:]) == LISTED + 4


def test_the_largest_lists_every_pool() -> None:
    rows = section(text(environment("large")), "Pools").splitlines()[1:]
    assert sum("scale sets" not in row for row in rows) == POOLS
    assert "  azure-0 takes 2 scale sets: large-azure-0 (100), large-azure-0-s1 (50)" in rows


def test_addresses_of_machines_are_those_of_the_plan() -> None:
    rows = section(text(environment("prod")), "Control plane").splitlines()
    assert rows[0] == "  https://api.prod.longhaul.internal:6443, a load balancer at 10.0.3.5"
    assert " ".join(rows[4].split()) == "etcd 5 × Standard_L16s_v3 prod-etcd-0..4 10.0.1.10..14 the loss of 2"


def test_every_machine_and_zone_is_there_for_who_wants_all() -> None:
    whole = text(environment("prod"), everything=True)
    machines = section(whole, "Control plane")
    assert all(f"prod-events-{index} " in machines for index in range(5))
    zones = [line.split() for line in section(whole, "Address plan").splitlines()]
    assert ["usw2", "c", "10.2.48.0/21", "10.2.192.0/19"] in zones


def test_ranges_of_laptops_and_of_vpn_machines_are_in_the_address_plan() -> None:
    raw = make.minimal() | {"vpn": {"machine_type": "Standard_D2s_v5"}}
    with_vpn, without = (text(make.environment(each)) for each in (raw, make.minimal()))
    addresses = plan(make.environment(raw))
    assert re.search(rf"laptops +{addresses.laptops}", with_vpn)
    assert str(addresses.sites["weu"].subnet("vpn")) in with_vpn
    assert str(addresses.sites["weu"].subnet("vpn")) not in without


def test_the_page_names_every_key_for_programs(root: Path) -> None:
    page = (root / "docs" / "show.md").read_text(encoding="utf-8").partition("## For programs")[2]
    keys = {*asdict(gather_overview(make.environment())), "cost"}
    assert {key for key in keys if f"`{key}`" not in page} == set()
    assert {key for key in ("learner", "teams", "vpn") if f"`{key}`" not in page} == set()
