"""Registry of clouds: three are built in, and an installed package adds one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clouds.registry import cloud_of, clouds
from components.model import Environment, load
from components.model.places import place_of

ROOT = Path(__file__).parents[2]

SMALL = """
from typing import Literal
from clouds.base.site import SiteBase

class {name}Site(SiteBase):
    kind: Literal["{kind}"]

class {name}:
    kind = "{kind}"
    title = "{name}"
    site_type = {name}Site
    rents = False
"""


@pytest.fixture(scope="module")
def prod(root: Path) -> Environment:
    return load(root / "examples" / "Pulumi.prod.yaml")


def python(code: str, *, beside: Path) -> subprocess.CompletedProcess[str]:
    path = f"{ROOT}:{beside}"
    return subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


def install(folder: Path, *, kind: str, name: str) -> None:
    """Install a package with one cloud in it, as pip would."""
    (folder / f"{kind}_cloud.py").write_text(SMALL.format(kind=kind, name=name), encoding="utf-8")
    info = folder / f"{kind}_cloud-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {kind}-cloud\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[longhaul.clouds]\n{kind} = {kind}_cloud:{name}\n", encoding="utf-8")


def test_the_three_of_our_own_are_there_in_this_order() -> None:
    assert [(kind, cloud.kind, cloud.title) for kind, cloud in clouds().items()][:3] == [
        ("azure", "azure", "Azure"),
        ("aws", "aws", "AWS"),
        ("onprem", "onprem", "on-prem"),
    ]


def test_a_site_is_in_the_cloud_that_its_type_is_of(prod: Environment) -> None:
    assert {type(site) for site in prod.sites.values()} == {cloud_of(site).site_type for site in prod.sites.values()}


def test_an_installed_package_adds_a_cloud(tmp_path: Path) -> None:
    install(tmp_path, kind="shed", name="Shed")
    code = (
        "from components.model.schema import schema_of, values_of; from components.model import Environment\n"
        "print(*values_of(schema_of(Environment)['properties']['sites'])['discriminator']['mapping'])"
    )
    said = python(code, beside=tmp_path)
    assert said.stdout.split() == ["aws", "azure", "onprem", "shed"], said.stderr


def test_no_two_clouds_are_of_one_kind(tmp_path: Path) -> None:
    install(tmp_path, kind="azure", name="Other")
    said = python("import components.model", beside=tmp_path)
    assert said.returncode == 1
    assert "two clouds are of kind 'azure'" in said.stderr


def test_nothing_of_a_clouds_own_is_loaded_before_it_is_used() -> None:
    code = "import sys, components.model; print(*sys.modules)"
    loaded = set(python(code, beside=ROOT).stdout.split())
    assert {"clouds.azure.site", "clouds.aws.site"} <= loaded
    assert not loaded & {"azure.identity", "azure.core", "boto3", "botocore", "requests", "clouds.azure.made"}


@pytest.mark.parametrize("site", ["weu", "use1"])
def test_a_place_has_its_own_pools_alone(prod: Environment, site: str) -> None:
    place = place_of(prod, site)
    assert place.pools == {name: pool for name, pool in prod.pools.items() if pool.site == site}
    assert place.is_control == (prod.control_plane.site == site)
    assert place.cloud_name("a") == f"{place.prefix}a"
