"""A company: three AWS regions, a control plane on Azure, 120 racked hosts. One command, no copied file."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from clouds.base.pool_section import Reservation
from components.model import plan
from longhaul.terminal.exits import Exit
from tests.longhaul.init.asked import ACCESS, AZURE, KEY, LEAST, LEAST_TYPED, Here, Person

COMPANY = (
    *("--env", "train", *AZURE, *ACCESS, "--size", "large"),
    *("--aws-site", "us-east-1 a,b,c", "--aws-site", "us-west-2 a,b,c", "--aws-site", "eu-west-1 a,b"),
    *("--pool", "us-east-1 m7i.4xlarge 40 cpu", "--pool", "us-east-1 p5.48xlarge 128"),
    *("--pool", "us-west-2 p5.48xlarge 64", "--pool", "eu-west-1 g5.12xlarge 1400 a10g"),
    *("--onprem-site", "colo 198.51.100.20 198.51.100.21", "--hosts", "96x8", "--hosts", "24"),
)

NORTH, WEST = ("northeurope Standard_D8s_v5", "westeurope Standard_D8s_v5")


def test_a_company_is_one_command(here: Here) -> None:
    done = here.init(*COMPANY)
    assert (done.code, done.err) == (Exit.OK, "")
    environment = here.load()
    assert list(environment.sites) == ["westeurope", "us-east-1", "us-west-2", "eu-west-1", "colo"]
    assert {name: (pool.site, pool.min, pool.max) for name, pool in environment.pools.items()} == {
        "cpu": ("us-east-1", 1, 40),
        "us-east-1-gpu": ("us-east-1", 0, 128),
        "us-west-2-gpu": ("us-west-2", 0, 64),
        "a10g": ("eu-west-1", 0, 1400),
    }
    assert [site.gateways[1].name for site in environment.sites.values() if site.gateways] == ["gw-1"]
    names = [host.name for host in environment.hosts]
    assert (len(names), names[0], names[96], sum(host.gpus for host in environment.hosts)) == (
        *(120, "colo-gpu-000", "colo-cpu-000"),
        96 * 8,
    )


def test_the_command_of_the_page_makes_the_same(here: Here, root: Path) -> None:
    page = (root / "docs" / "many-regions.md").read_text(encoding="utf-8").replace("\\\n", " ")
    line = next(line for line in page.splitlines() if line.startswith("    longhaul init"))
    words = {"E": "train", "~/.ssh/id_ed25519.pub": KEY}
    done = here.init(*(words.get(word, word) for word in shlex.split(line)[2:]))
    assert (done.code, done.err) == (Exit.OK, "")
    found = here.load()
    assert [str(range_) for range_ in found.used] == ["10.0.0.0/12"]
    assert here.init(*COMPANY, "--force", "--used", "10.0.0.0/12").code == Exit.OK
    same = here.load()
    assert (found.sites.keys(), found.pools, found.hosts, found.supernet, found.control_plane) == (
        *(same.sites.keys(), same.pools, same.hosts, same.supernet, same.control_plane),
    )


def test_no_range_is_taken_that_a_file_beside_it_has_or_uses(here: Here) -> None:
    neighbour = here.stacks / "Pulumi.other.yaml"
    neighbour.write_text(
        "config:\n  longhaul:environment:\n    supernet: 10.0.0.0/12\n    used: [10.16.0.0/12, 10.33.4.0/24, x]\n"
    )
    assert here.init(*LEAST).code == Exit.OK
    assert str(here.load().supernet) == "10.48.0.0/12"
    done = here.init(*LEAST, "--force", "--supernet", "10.32.0.0/12")
    assert done.code == Exit.USAGE
    assert f"10.33.4.0/24 of something else of yours (`used` in {neighbour}): 10.48.0.0/12 is free" in done.err


def test_pools_are_said_whole(here: Here) -> None:
    """Spot, reservations, zones, and a type that is not built in; a zone's pool gets as large a block as it needs."""
    done = here.init(
        *("--env", "train", *AZURE, *ACCESS, "--aws-site", "us-east-1 a,b,c"),
        *("--machine-type", "g5.24xlarge aws vcpus=96 memory_gib=384 gpus=4 gpu_model=A10G local_ssd_gb=3800"),
        *("--pool", "us-east-1 g5.24xlarge 500 a10g spot zones=a", "--pool", "us-east-1 m7i.xlarge 8 cpu min=2"),
        *("--pool", "us-east-1 p5.48xlarge 16 h100 reservation=cr-0123456789abcdef0 zones=b"),
        *("--pool", "us-east-1 p5.48xlarge 8 block capacity-block=cr-0123456789abcdef1 zones=c"),
    )
    assert (done.code, done.err) == (Exit.OK, "")
    found = here.load()
    assert found.machine_types["g5.24xlarge"].gpus == 4
    said = {name: (pool.min, pool.spot, pool.zones, pool.reservation) for name, pool in found.pools.items()}
    assert said == {
        "a10g": (0, True, ("a",), None),
        "cpu": (2, False, (), None),
        "h100": (0, False, ("b",), Reservation(id="cr-0123456789abcdef0")),
        "block": (0, False, ("c",), Reservation(id="cr-0123456789abcdef1", kind="capacity-block")),
    }
    assert found.pools["a10g"].taints
    assert found.sites["us-east-1"].prefix == 15


def test_what_it_promises_has_addresses(here: Here) -> None:
    """Two zones of a /16 hold 1,024 nodes, not the 1,400 declared: the block is one bit larger."""
    assert here.init(*COMPANY).code == Exit.OK
    environment = here.load()
    assert {name: site.prefix for name, site in environment.sites.items() if site.prefix != 16} == {"eu-west-1": 15}
    zone = plan(environment).sites["eu-west-1"].zone_pods(1)
    assert 2 * zone.num_addresses // 16 >= 1400


def test_many_large_sites_get_a_larger_range(here: Here) -> None:
    regions = ("us-east-1", "us-east-2", "us-west-1", "us-west-2", "eu-west-1")
    words = [word for one in regions for word in ("--aws-site", one, "--pool", f"{one} m7i.xlarge 3840")]
    assert here.init("--env", "train", *AZURE, *ACCESS, *words).code == Exit.OK
    environment = here.load()
    assert {site.prefix for name, site in environment.sites.items() if name != "westeurope"} == {14}
    assert str(environment.supernet) == "10.0.0.0/11"


def test_the_most_that_sites_hold_validates(here: Here) -> None:
    """EC2's largest block, and all addresses of peered networks of Azure."""
    words = [
        "--aws-site",
        "us-east-1 a,b",
        "--pool",
        "us-east-1 m7i.xlarge 7500",
        "--pool",
        "us-east-1 m7i.4xlarge 180",
    ]
    words += ["--azure-site", "northeurope", "--azure-machine-type", "Standard_D8s_v5", "--azure-max", "3851"]
    assert here.init("--env", "train", *AZURE, *ACCESS, *words, "--pool", f"{NORTH} 3670").code == Exit.OK
    assert {name: site.prefix for name, site in here.load().sites.items()} == {
        "westeurope": 15,
        "northeurope": 15,
        "us-east-1": 13,
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            [
                "--aws-site",
                "us-east-1 a,b",
                "--pool",
                "us-east-1 m7i.xlarge 7500",
                "--pool",
                "us-east-1 m7i.xlarge 181",
            ],
            "us-east-1: 7,681 machines, but one site holds 7,680: the others need a second site",
        ),
        (
            ["--azure-site", "northeurope", "--pool", f"{NORTH} 3852"],
            "northeurope: 3,852 machines, but one site holds 3,851: the others need a second site",
        ),
        (
            ["--azure-site", "northeurope", "--pool", f"{NORTH} 3761", "--pool", f"{WEST} 3761"],
            "westeurope, northeurope: 7,522 machines, and sites of one environment on Azure hold 7,521 together",
        ),
        (["--aws-site", "us-east-1 a", "--pool", "x"], "--aws-site: 'a' is not 2 to 4 different zones"),
        (["--pool", "us-east-1 p5.48xlarg 4"], "'p5.48xlarg' is not a machine type that Longhaul knows"),
        (
            ["--pool", "us-east-1 4"],
            "--pool: 'us-east-1 4' is not a site, a machine type, a maximum number of machines",
        ),
        (["--pool", "us-east-1 m7i.xlarge 4 spott=1"], "--pool: 'spott=1': 'spott' is no key: "),
        (["--pool", "us-east-1 m7i.xlarge 4 min=5"], "--pool: min=5 is not a number of machines, 0 to 4"),
        (["--pool", "us-east-1 m7i.xlarge 4 spot reservation=cr-0"], "reservation and spot exclude each other"),
        (["--pool", "us-east-1 m7i.xlarge 4 zones=a zones=b"], "'zones=b' is given twice"),
        (["--aws-site", "us-east-1 a,b", "--pool", "us-east-1 m7i.xlarge 4 zones=c"], "'c' is not a zone of us-east-1"),
        (["--machine-type", "g5.24xlarge"], "--machine-type: 'g5.24xlarge' is not a machine type, its cloud, and"),
        (["--machine-type", "g5.24xlarge aws vcpus=96"], "--machine-type: g5.24xlarge: memory_gib is missing"),
        (["--machine-type", "x aws vcpus=0 memory_gib=1"], "x: vcpus 0 is less than 1: write a whole number, 1 to"),
        (["--machine-type", "x aws vcpus=1 memory=1"], "'memory' is no key: memory_gib"),
        (["--machine-type", "m7i.xlarge aws vcpus=4 memory_gib=16"], "--machine-type: m7i.xlarge is built in"),
        (["--onprem-site", "colo"], "--onprem-site: 'colo' is not a site's name and the public address"),
        (["--onprem-site", "colo 203.0.113.1", "--hosts", "4x99"], "--hosts: '4x99' is not a number of hosts"),
        (["--onprem-site", "colo 203.0.113.1", "--hosts", "4 cola"], "no site of racks is called 'cola': colo"),
        (
            ["--onprem-site", "a 203.0.113.1", "--onprem-site", "b 203.0.113.2", "--host", "n-0"],
            "--host: it needs the name of its site: a or b",
        ),
        (["--hosts", "4"], "--gateway 'ADDRESS [HOSTKEY]' is missing"),
        (["--aws-site", "us-east-1", "--aws-site", "us-east-1"], "us-east-1 is given as 2 sites"),
        (["--azure-site", "northeurope 1 2 3"], "is not a region, its zones with commas between them"),
    ],
)
def test_what_is_wrong_is_said(here: Here, words: list[str], said: str) -> None:
    done = here.init("--env", "train", *AZURE, *ACCESS, *words)
    assert done.code == Exit.USAGE
    assert said in done.err
    assert here.names() == []


def test_a_person_hears_of_too_many_before_the_rest_is_asked(here: Here) -> None:
    person = Person(*LEAST_TYPED[:5], "yes", "Standard_D8s_v5", "3852", "no", "no", *LEAST_TYPED[8:])
    done = here.init("--env", "train", typed=person)
    assert "westeurope: 3,852 machines, but one site holds 3,851" in done.err
    assert person.left == len(LEAST_TYPED[8:])


def test_an_overlap_names_all_owners_and_a_free_range(here: Here) -> None:
    assert here.init("--env", "first", *AZURE, *ACCESS).code == Exit.OK
    words = ("--env", "next", *AZURE, *ACCESS, "--used", "10.16.0.0/12")
    done = here.init(*words, "--supernet", "10.0.0.0/11")
    assert f"10.0.0.0/12 of first, {here.stacks / 'Pulumi.first.yaml'}:8" in done.err
    assert "and 10.16.0.0/12 of what you use already (--used): 10.32.0.0/11 is free" in done.err
    assert here.init(*words).code == Exit.OK
    assert str(here.load("next").supernet) == "10.32.0.0/12"
