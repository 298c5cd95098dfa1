"""Registry of clouds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clouds.registry import cloud_of, clouds
from components.model import Environment, load
from components.model.sites.places import place_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def prod(root: Path) -> Environment:
    return load(root / "examples" / "Pulumi.prod.yaml")


def test_the_clouds_are_there_in_this_order() -> None:
    assert [(kind, cloud.kind, cloud.title) for kind, cloud in clouds().items()] == [
        ("azure", "azure", "Azure"),
        ("aws", "aws", "AWS"),
        ("onprem", "onprem", "on-prem"),
    ]


def test_a_site_is_in_the_cloud_that_its_type_is_of(prod: Environment) -> None:
    assert {type(site) for site in prod.sites.values()} == {cloud_of(site).site_type for site in prod.sites.values()}


def test_nothing_of_a_clouds_own_is_loaded_before_it_is_used() -> None:
    code = "import sys, components.model; print(*sys.modules)"
    python = [sys.executable, "-c", code]
    done = subprocess.run(python, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"clouds.azure.site", "clouds.aws.site"} <= loaded
    assert not loaded & {"azure.identity", "azure.core", "boto3", "botocore", "requests", "clouds.azure.parts"}


@pytest.mark.parametrize("site", ["weu", "use1"])
def test_a_place_has_its_own_pools_alone(prod: Environment, site: str) -> None:
    place = place_of(prod, site)
    assert place.pools == {name: pool for name, pool in prod.pools.items() if pool.site == site}
    assert place.is_control == (prod.control_plane.site == site)
    assert place.cloud_name("a") == f"{place.prefix}a"
