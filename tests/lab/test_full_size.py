"""A control plane of full size, five members in each etcd cluster and five API servers, comes up from nothing with two
workers for all dynamic resources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.project import REPOSITORY, Project, environment

pytestmark = [pytest.mark.lab, pytest.mark.drill]


def test_it_comes_up_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.make(tmp_path, environment("full", supernet="10.160.0.0/12", etcd=5, events=5, api=5))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "tests" / "support" / "two_workers"))
    monkeypatch.setenv("TWO_WORKERS", str(tmp_path / "workers"))
    try:
        project.up()
        assert (tmp_path / "workers").read_text(encoding="utf-8") == "2"
        found = project.await_healthy()
    finally:
        project.lab("down", "--all", check=False)
    members = {name: len(cluster["members"]) for name, cluster in found["etcd_clusters"].items()}
    assert members == {"etcd": 5, "events": 5}
    assert len([machine for machine in found["machines"] if machine["role"] == "api"]) == 5
