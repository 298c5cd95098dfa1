"""The drawing: complete boxes, nothing twice, nothing beyond the width."""

from __future__ import annotations

import re
from typing import Any

import pytest

from components.model import Environment
from longhaul.report.text import WIDTH
from longhaul.show.drawing import drawing
from longhaul.show.gather import gather_overview
from longhaul.show.text import DRAWN
from tests.longhaul.show.environments import NAMES, environment
from tests.model import make


def drawn(shown: Environment, *, pools: int | None = DRAWN) -> list[str]:
    return drawing(gather_overview(shown), pools=pools)


def boxes(lines: list[str]) -> dict[str, list[str]]:
    """Return the content of every box by its title; AssertionError where a box is not closed or its sides are not
    straight."""
    found: dict[str, list[str]] = {}
    for row, line in enumerate(lines):
        for match in re.finditer(r"┌─ (\S+) ─*┐", line):
            left, right = match.start(), match.end() - 1
            height = next(down for down, below in enumerate(lines[row + 1 :]) if below[left] == "└")
            inside = lines[row + 1 : row + 1 + height]
            assert all(each[left] == each[right] == "│" for each in inside)
            assert set(lines[row + 1 + height][left + 1 : right]) == {"─"}
            assert match[1] not in found
            found[match[1]] = [each[left + 2 : right - 1].rstrip() for each in inside]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_site_is_one_whole_box_within_the_width(name: str) -> None:
    lines = drawn(environment(name))
    assert all(len(line) <= WIDTH for line in lines)
    assert set(boxes(lines)) == set(environment(name).sites)


@pytest.mark.parametrize("name", NAMES)
def test_with_nothing_folded_every_pool_is_in_its_sites_box(name: str) -> None:
    found = boxes(drawn(environment(name), pools=None))
    for pool, about in environment(name).pools.items():
        assert any(line.split()[0] == pool for line in found[about.site])


def test_what_is_folded_is_counted() -> None:
    found = boxes(drawn(environment("large")))["aws-us-east-1"]
    assert sum(line.startswith("pool-") for line in found) == DRAWN
    assert found[-1] == "and 2 more pools"
    one_more = boxes(drawn(environment("large")))["aws-ap-northeast-1"]
    assert sum(line.startswith("pool-") for line in one_more) == DRAWN + 1


def test_one_site_has_nothing_to_be_joined_to() -> None:
    assert drawn(environment("one-site")) == [
        "  ┌─ weu ─────────────────────┐",
        "  │ Azure westeurope          │",
        "  │ 10.64.0.0/16              │",
        "  │ control plane:            │",
        "  │   2 API, 3 etcd, 1 events │",
        "  └───────────────────────────┘",
    ]


def test_sites_of_one_cloud_are_joined_by_its_backbone_alone() -> None:
    raw = make.minimal()
    raw["sites"]["neu"] = {**make.AZURE, "region": "northeurope"}
    lines = drawn(make.environment(raw))
    assert "      ║ backbone" in lines
    assert not any("IPsec" in line for line in lines)


def test_racks_are_joined_by_tunnels() -> None:
    raw = make.minimal()
    for number in range(3):
        gateway = {"name": f"gw-{number}", "public_address": f"203.0.113.{number + 1}"}
        raw["sites"][f"rack-{number}"] = {"kind": "onprem", "gateways": [gateway]}
    lines = drawn(make.environment(raw))
    assert sum("┆ IPsec, each to each" in line for line in lines) == 1
    assert lines[0] == "  IPsec, each site to each site of the other columns"


def test_a_circuit_among_tunnels_is_named() -> None:
    lines = drawn(environment("every-key"))
    assert lines[0] == "  IPsec, each site to each site of the other columns"
    assert lines[-1] == "  but weu to colo: existing circuit"


def test_where_all_are_circuits_the_rail_is_one() -> None:
    raw = make.minimal()
    raw["sites"]["colo"] = make.ONPREM
    raw["links"] = [{"between": ["weu", "colo"], "kind": "existing"}]
    lines = drawn(make.environment(raw))
    assert lines[0] == "  existing circuit, each site to each site of the other columns"
    assert lines[1].strip("━ ") == "┏" + lines[1].strip("━ ")[1:-1] + "┓"
    assert not any("but" in line for line in lines)


def test_long_names_are_cut_so_that_it_fits() -> None:
    long: dict[str, Any] = {"site": "a" * 20, "max": 960, "machine_type": "Standard_NC24ads_A100_v4"}
    raw = make.minimal()
    raw["sites"] = {"a" * 20: make.AZURE, "b" * 20: make.AWS, "c" * 20: make.ONPREM}
    raw["control_plane"]["site"] = "a" * 20
    raw["pools"] = {"p" * 20: long, "q" * 20: {**long, "site": "b" * 20, "machine_type": "p4d.24xlarge"}}
    lines = drawn(make.environment(raw))
    assert all(len(line) <= WIDTH for line in lines)
    found = boxes(lines)
    assert list(found) == list(raw["sites"])
    assert any(line.startswith("pppp") and line.endswith("…") for line in found["a" * 20])
