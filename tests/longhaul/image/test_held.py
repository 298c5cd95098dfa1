"""Versions that images hold, by the manifests that their bakes left, and a plan of a version that an image lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clouds.base.findings import Severity
from components.model import Environment
from longhaul.project.baked_images import image_versions
from longhaul.project.checkout import Project
from longhaul.project.context import Context, state_folder
from tests.longhaul.judgement.steps import judged, lab
from tests.model import make


def baked(folder: Path, image: str, versions: object) -> None:
    """Leave what a bake leaves."""
    folder.mkdir(parents=True)
    (folder / "image.json").write_text(json.dumps({"image": image}))
    (folder / "manifest.json").write_text(json.dumps({"format": 1, **({"versions": versions} if versions else {})}))


def of(environment: Environment, tmp_path: Path) -> dict[str, object]:
    where = Context(project=Project(root=tmp_path / "project"), env="test", lab=None)
    return dict(image_versions(where, environment, {"XDG_STATE_HOME": str(tmp_path / "state")}))


def test_an_image_that_was_baked_here_tells_its_versions(tmp_path: Path) -> None:
    environment = make.environment()
    assert of(environment, tmp_path) == {}
    where = Context(project=Project(root=tmp_path / "project"), env="test", lab=None)
    kept = state_folder(where, {"XDG_STATE_HOME": str(tmp_path / "state")}) / "images"
    baked(kept / "other", "ami-0123456789abcdef1", {"kubernetes": "9.9.9"})
    assert of(environment, tmp_path) == {}
    baked(kept / "own", make.IMAGE, {"kubernetes": "1.2.3"})
    assert of(environment, tmp_path) == {"weu": {"kubernetes": "1.2.3"}}
    (kept / "own" / "manifest.json").write_text("cut {")
    assert of(environment, tmp_path) == {}


@pytest.mark.parametrize(
    ("images", "refused"),
    [
        ({}, False),
        ({"weu": {"kubernetes": "1.30.3", "etcd": lab().versions.etcd}}, False),
        ({"weu": {"kubernetes": "1.30.2"}}, True),
        ({"weu": {"etcd": "3.1.1"}}, True),
        ({"use1": {"kubernetes": "1.30.2"}}, False),
    ],
)
def test_a_version_that_the_control_planes_image_lacks_is_refused(
    images: dict[str, dict[str, str]], refused: bool
) -> None:
    environment = lab(lambda raw: raw.update(versions={"kubernetes": "1.30.3"}))
    plan = judged(environment=environment, images=images)
    assert ("versions" in {one.check for one in plan.reasons}) is refused
    assert (plan.verdict is Severity.PROBLEM) is refused
