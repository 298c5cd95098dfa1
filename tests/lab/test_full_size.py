"""A control plane of full size, five members in each etcd cluster and five API servers: it comes up from nothing with
two workers for all dynamic resources, and its machines are replaced one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.control_plane import (
    changed,
    generations,
    lifecycle,
    one_at_a_time,
    repeated,
    tried_twice,
    up,
    with_part,
)
from tests.support.project import REPOSITORY, Project, environment

pytestmark = [pytest.mark.lab, pytest.mark.drill]

SIZE = 5
QUORUM = 3
SERVERS = {f"full-api-{index}" for index in range(SIZE)}
MEMBERS = {f"full-etcd-{index}" for index in range(SIZE)}
WRITE = ("annotate", "configmap", "kept", "--overwrite", "longhaul.test/written=again")


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = environment("full", supernet="10.160.0.0/12", etcd=SIZE, events=SIZE, api=SIZE)
    project = Project.make(tmp_path_factory.mktemp("full"), raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(REPOSITORY / "tests" / "support" / "two_workers"))
        patch.setenv("TWO_WORKERS", str(project.path / "workers"))
        try:
            yield project
        finally:
            project.lab("down", "--all", check=False)


def _whole(found: dict[str, Any]) -> None:
    members = {name: cluster["members"] for name, cluster in found["etcd_clusters"].items()}
    assert {name: len(ones) for name, ones in members.items()} == {"etcd": SIZE, "events": SIZE}
    assert all(one["healthy"] and not one["learner"] for ones in members.values() for one in ones)
    assert len([machine for machine in found["machines"] if machine["role"] == "api"]) == SIZE


def _lost(project: Project) -> str:
    """Return the etcd clusters in which fewer members than the quorum are healthy and vote."""
    try:
        clusters = project.status()["etcd_clusters"]
    except (ValueError, KeyError) as error:
        return f"there is no status: {error!r}"
    voters = {
        name: [one["name"] for one in cluster["members"] if one["healthy"] and not one["learner"]]
        for name, cluster in clusters.items()
    }
    lost = {name: names for name, names in voters.items() if len(names) < QUORUM}
    return json.dumps(lost) if lost else ""


def test_it_comes_up_whole(project: Project) -> None:
    project.up()
    assert (project.path / "workers").read_text(encoding="utf-8") == "2"
    _whole(project.await_healthy())
    project.kubectl("create", "configmap", "kept", "--from-literal=a=b")


@pytest.mark.parametrize(
    ("part", "change", "machines"),
    [("api", {"machine_type": "Standard_D4s_v5"}, SERVERS), ("etcd", {"quota_gib": 7}, MEMBERS)],
    ids=["api", "etcd"],
)
def test_one_machine_at_a_time_is_replaced_and_writes_go_on(
    project: Project, part: str, change: dict[str, Any], machines: set[str]
) -> None:
    before = generations(project)
    project.write(with_part(project.read(), part, **change))
    with repeated(lambda: tried_twice(project, *WRITE)) as unwritten, repeated(lambda: _lost(project)) as unvoted:
        up(project)
    assert changed(before, generations(project)) == machines
    assert set(one_at_a_time(lifecycle(project))) == machines
    assert (unwritten, unvoted) == ([], [])
    _whole(project.await_healthy())
