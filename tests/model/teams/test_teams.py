"""Teams in the environment file: what of them is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model import load
from components.model.pools.capacity_kinds import kinds
from tests.model import make
from tests.model.files import only, write
from tests.model.make import issuer

VISUAL = {"groups": ["corp:visual"], "shares": {"h100": {"gpus": 8}, "cpu": {"cores": 16}}}
POOLS = {
    "cpu": {"site": "use1", "machine_type": "m7i.4xlarge", "max": 2},
    "near": {"site": "use1", "machine_type": "p5.48xlarge", "max": 1},
    "far": {"site": "use1", "machine_type": "p5.48xlarge", "max": 2, "spot": True},
}


def teams(**declared: dict[str, Any]) -> dict[str, Any]:
    """Return an environment with teams."""
    raw = make.minimal()
    raw["sites"]["use1"] = make.AWS
    return {**raw, "pools": POOLS, "identity": {"issuers": {"corp": issuer()}}, "teams": declared}


def share(kind: str, **fields: int) -> dict[str, Any]:
    return {**VISUAL, "shares": {kind: fields}}


def test_kinds_are_models_of_gpus_and_how_they_are_bought(tmp_path: Path) -> None:
    found = kinds(load(write(tmp_path, teams(visual=VISUAL))))
    assert {name: (one.gpus, one.cores, one.cores_each) for name, one in found.items()} == {
        "cpu": (0, 32, None),
        "h100": (8, 192, 24),
        "h100-spot": (16, 384, 24),
    }


@pytest.mark.parametrize(
    ("declared", "key", "wrong"),
    [
        ({"visual": share("h200", gpus=1)}, "visual.shares.h200", "neither a pool nor a host is of the kind 'h200'"),
        ({"visual": share("near", gpus=1)}, "visual.shares.near", "'near' is a pool, of the kind h100"),
        ({"visual": share("cpu", gpus=1)}, "visual.shares.cpu.gpus", "machines of the kind cpu have no GPUs"),
        ({"visual": share("h100", gpus=9)}, "visual.shares.h100.gpus", "9 gpus of h100 together, and near have at"),
        ({"visual": share("cpu", cores=33)}, "visual.shares.cpu.cores", "33 cores of cpu together, and cpu have at"),
        ({"visual": share("h100", gpus=2, lend=3)}, "visual.shares.h100.lend", "3 are more than the guarantee, 2"),
        ({"visual": {**VISUAL, "groups": ["corp:a", "corp:a"]}}, "visual.groups.1", "'corp:a' is named before"),
        (
            {"visual": {**VISUAL, "groups": ["other:a"]}},
            "visual.groups.0",
            "no issuer gives groups the prefix 'other:'",
        ),
        ({"kube-visual": VISUAL}, "kube-visual", "is a namespace of the cluster's own"),
        ({"default": VISUAL}, "default", "is a namespace of the cluster's own"),
        (
            {"visual": share("h100", gpus=4), "speech": {**share("h100", gpus=5), "groups": ["corp:speech"]}},
            "speech.shares.h100.gpus",
            "at most 8: visual 4, speech 5",
        ),
        (
            {"visual": VISUAL, "sight": {**VISUAL, "shares": {"cpu": {}}}},
            "sight.groups",
            "the team visual has the same people",
        ),
        ({"visual": {"groups": [], "shares": {"cpu": {}}}}, "visual.groups", ""),
        ({"visual": {"groups": ["corp:a"], "shares": {}}}, "visual.shares", ""),
    ],
)
def test_what_cannot_hold_is_refused(declared: dict[str, Any], key: str, wrong: str, tmp_path: Path) -> None:
    problem = only(write(tmp_path, teams(**declared)))
    assert problem.key == f"teams.{key}"
    assert wrong in problem.wrong


def test_a_resource_that_queues_know_is_not_named_again(tmp_path: Path) -> None:
    problem = only(write(tmp_path, teams(visual=VISUAL) | {"extended_resources": ["a.com/b", "nvidia.com/gpu"]}))
    assert (problem.key, problem.write) == ("extended_resources.1", "leave it out")


def test_a_pool_s_name_is_answered_with_its_kind(tmp_path: Path) -> None:
    assert only(write(tmp_path, teams(visual=share("far", gpus=1)))).write == "h100-spot"


def test_cores_that_follow_from_gpus_are_told_as_such(tmp_path: Path) -> None:
    """Of two types of one kind, each GPU is counted with the cores of the one that has more."""
    raw = teams(visual=share("h100", gpus=16))
    raw["pools"] = {**POOLS, "azure": {"site": "weu", "machine_type": "Standard_ND96isr_H100_v5", "max": 1}}
    problem = only(write(tmp_path, raw))
    assert problem.key == "teams.visual.shares.h100.gpus"
    assert problem.wrong == (
        "teams are guaranteed 384 cores of h100 together (24 for each GPU, the most of any of its machine types), and "
        "near, azure have at most 288: visual 384"
    )
    assert problem.write == "`cores` beside `gpus`: 288 together at most"
    raw["teams"]["visual"]["shares"]["h100"]["cores"] = 288
    load(write(tmp_path, raw))


def test_a_team_s_namespace_keeps_pod_security(tmp_path: Path) -> None:
    raw = {**teams(visual=VISUAL), "pod_security": {"exempt_namespaces": ["visual"]}}
    assert "Pod Security does not hold" in only(write(tmp_path, raw)).wrong


def test_cores_of_hosts_are_not_guessed(tmp_path: Path) -> None:
    raw = teams(visual=share("gpu", gpus=8))
    raw["sites"]["colo"], raw["bare_metal"] = make.ONPREM, "hosts.test.yaml"
    hosts = {"hosts": [{"name": "gpu-0", "site": "colo", "gpus": 8}]}
    problem = only(write(tmp_path, raw, hosts=hosts))
    assert (problem.key, problem.write) == ("teams.visual.shares.gpu.cores", "the number of cores")
    raw["teams"]["visual"]["shares"]["gpu"]["cores"] = 1_000
    load(write(tmp_path, raw, hosts=hosts))


def test_spare_nodes_are_among_the_most(tmp_path: Path) -> None:
    raw = teams()
    raw["pools"] = {"cpu": {**POOLS["cpu"], "spare": 3}}
    assert only(write(tmp_path, raw)).wrong == "3 is more than max, 2"


def test_where_nobody_signs_in_a_team_has_people_by_impersonation(tmp_path: Path) -> None:
    raw = teams(visual={**VISUAL, "groups": ["any:visual"]})
    del raw["identity"]
    load(write(tmp_path, raw))
