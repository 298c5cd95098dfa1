"""A running lab is given images and another depot, and nothing that it has is changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.model import load
from lab import project
from lab.config import LabConfig
from lab.project import LabProject, RootParts
from lab.start import give
from lab.state import LabError, LabState
from tests.support.project import Project, environment

CONFIG = LabConfig(
    rootfs="/images/a",
    operators="10.64.0.0/24",
    supernet="10.64.0.0/12",
    port=1,
    depot="/d",
    images={"one": "/images/a"},
)


@pytest.fixture(name="state")
def _state(tmp_path: Path) -> LabState:
    state = LabState.of("lab", root=tmp_path)
    state.create()
    CONFIG.write(state)
    return state


def test_nothing_new_is_nothing_given(state: LabState) -> None:
    assert give(state, CONFIG) is False
    assert LabConfig.read(state) == CONFIG


@pytest.mark.parametrize(
    "more", [{"images": {"one": "/images/a", "two": "/images/b"}}, {"depot": "/other"}], ids=["image", "depot"]
)
def test_another_image_and_another_depot_are_given(state: LabState, more: dict[str, Any]) -> None:
    assert give(state, replace(CONFIG, **more)) is True
    assert LabConfig.read(state) == replace(CONFIG, **more)


@pytest.mark.parametrize(
    "other",
    [
        {"images": {"one": "/images/b"}},
        {"images": {"two": "/images/b"}},
        {"rootfs": "/images/b"},
        {"port": 2},
    ],
    ids=str,
)
def test_what_it_has_is_not_changed(state: LabState, other: dict[str, Any]) -> None:
    with pytest.raises(LabError, match="runs with other parameters"):
        give(state, replace(CONFIG, **other))
    assert LabConfig.read(state) == CONFIG


def test_a_tenant_is_given_nothing(state: LabState) -> None:
    tenant = replace(CONFIG, beside="host")
    tenant.write(state)
    with pytest.raises(LabError, match="runs with other parameters"):
        give(state, replace(tenant, depot="/other"))


def _root(folder: Path, etcd: str) -> Path:
    """Return an image's root file system, with a manifest that tells this version."""
    (folder / "rootfs").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"versions": {"etcd": etcd}}), encoding="utf-8")
    return folder / "rootfs"


def test_an_image_of_other_versions_stays_under_its_id_and_another_id_is_new(tmp_path: Path) -> None:
    raw = environment("lab", supernet="10.64.0.0/12")
    made = Project.make(tmp_path / "project", raw)
    chosen = LabProject(path=made.path, env="lab")
    old, new = _root(tmp_path / "old", "3.6.8"), _root(tmp_path / "new", "3.7.3")

    def config(node: Path) -> LabConfig:
        return project.config(load(made.stack_file), chosen, RootParts(node=node, tools=Path("/tools")))

    first = config(old)
    id_ = raw["sites"]["weu"]["image"]
    assert first.images == {id_: str(old)}
    chosen.state.create()
    first.write(chosen.state)
    assert config(new) == first
    raw["sites"]["weu"]["image"] = later = f"{id_.rpartition('/')[0]}/1.0.1"
    made.write(raw)
    given = config(new)
    assert given.images == {id_: str(old), later: str(new)}
    assert give(chosen.state, given) is True
    raw["sites"]["weu"]["image"] = id_
    made.write(raw)
    assert config(old) == given


def test_an_image_that_was_made_anew_with_the_same_versions_is_not_the_one_that_machines_run(tmp_path: Path) -> None:
    raw = environment("lab", supernet="10.64.0.0/12")
    made = Project.make(tmp_path / "project", raw)
    chosen = LabProject(path=made.path, env="lab")
    before, after = _root(tmp_path / "before", "3.6.8"), _root(tmp_path / "after", "3.6.8")
    parts = RootParts(node=before, tools=Path("/tools"))
    chosen.state.create()
    project.config(load(made.stack_file), chosen, parts).write(chosen.state)
    with pytest.raises(LabError, match="runs with other parameters"):
        give(chosen.state, project.config(load(made.stack_file), chosen, replace(parts, node=after)))
