"""Throughput of links: the largest, and that which the file wants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model import Environment, load
from components.model.network.link_throughput import link_limit
from components.model.network.links import links
from tests.model import make
from tests.model.files import problems_of, write

PEERED = {**make.AWS, "region": "us-west-2"}


def sites(size: str = "VpnGw2AZ", capacity: str = "") -> dict[str, Any]:
    gateway = {**make.ONPREM["gateways"][0], **({"capacity": capacity} if capacity else {})}
    weu = {**make.AZURE, "vpn_gateway_size": size}
    return {"weu": weu, "use1": make.AWS, "usw2": PEERED, "colo": {**make.ONPREM, "gateways": [gateway]}}


def limits(**changes: Any) -> dict[str, tuple[int, str]]:
    environment = Environment.model_validate({**make.minimal(), **changes})
    known = {link.name: link_limit(environment, link) for link in links(environment)}
    return {name: (limit.mbit, limit.of) for name, limit in known.items() if limit}


def test_a_link_carries_what_both_of_its_ends_carry() -> None:
    small, large = limits(sites=sites()), limits(sites=sites("VpnGw4AZ", "2 Gbit/s"))
    assert small["weu-use1"] == (1250, "one tunnel of VpnGw2AZ (Azure's benchmark) and one tunnel of AWS")
    assert large["weu-use1"] == (1250, "one tunnel of AWS")
    assert small["weu-colo"] == (1250, "one tunnel of VpnGw2AZ (Azure's benchmark)")
    assert large["weu-colo"] == (2000, "gw-0 (as the file declares)")
    assert "use1-usw2" not in small, "a peering has no limit of its own"


def test_a_circuit_carries_what_the_file_declares() -> None:
    circuit = {"between": ["colo", "weu"], "kind": "existing"}
    assert "weu-colo" not in limits(sites=sites(), links=[circuit])
    declared = limits(sites=sites(), links=[{**circuit, "capacity": "0.5 Gbit/s"}])
    assert declared["weu-colo"] == (500, "your circuit (as the file declares)")


@pytest.mark.parametrize(
    ("size", "wanted", "wrong", "write"),
    [
        ("VpnGw2AZ", {"colo": "1.25 Gbit/s", "use1": "1 Mbit/s"}, "together, more than the 1.25 Gbit/s", "VpnGw3AZ"),
        ("VpnGw2AZ", {"colo": "2 Gbit/s"}, "2 Gbit/s are more than the 1.25 Gbit/s of one tunnel", "VpnGw4AZ"),
        ("VpnGw2AZ", {"colo": "9 Gbit/s"}, "9 Gbit/s are more", "2.3 Gbit/s at most with `vpn_gateway_size: VpnGw4AZ`"),
        ("VpnGw5AZ", {"use1": "3 Gbit/s"}, "1.25 Gbit/s of one tunnel of AWS", "1.25 Gbit/s at most, or a circuit"),
    ],
)
def test_what_a_link_cannot_carry_is_refused(
    tmp_path: Path, size: str, wanted: dict[str, str], wrong: str, write: str
) -> None:
    declared = [{"between": ["weu", site], "bandwidth": bandwidth} for site, bandwidth in wanted.items()]
    (problem,) = problems_of(writing(tmp_path, sites=sites(size), links=declared))
    assert problem.key == f"links.{len(wanted) - 1}.bandwidth"
    assert wrong in problem.wrong
    assert write in problem.write


def test_what_the_links_carry_is_taken(tmp_path: Path) -> None:
    wanted = {"colo": "2.3 Gbit/s", "use1": "1250 Mbit/s", "usw2": "1.25 Gbit/s"}
    declared = [{"between": ["weu", site], "bandwidth": bandwidth} for site, bandwidth in wanted.items()]
    load(writing(tmp_path, sites=sites("VpnGw4AZ"), links=declared))


def test_a_link_says_something_and_only_a_circuit_has_a_capacity(tmp_path: Path) -> None:
    declared = [
        {"between": ["weu", "use1"]},
        {"between": ["weu", "colo"], "bandwidth": "1 Gbit/s", "capacity": "1 Gbit/s"},
        {"between": ["use1", "colo"], "kind": "existing", "bandwidth": "2 Gbit/s", "capacity": "1 Gbit/s"},
        {"between": ["use1", "usw2"], "bandwidth": "50 Gbit/s"},
    ]
    problems = problems_of(writing(tmp_path, sites=sites(), links=declared))
    assert {problem.key for problem in problems} == {"links.0", "links.1.capacity", "links.2.bandwidth"}


def writing(folder: Path, **changes: Any) -> Path:
    return write(folder, {**make.minimal(), **changes})
