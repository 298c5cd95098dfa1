"""Regions that an environment cannot be in, and the zones of a site that names none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from clouds.azure.zones import address_zones
from clouds.registry import clouds
from components.model import load
from components.model.loading.load import examine
from components.model.sites.places import place_of
from tests.model import make
from tests.model.files import problems_of, write


def in_region(site: str, region: str) -> dict[str, Any]:
    """Return an environment with a site in a region."""
    raw = make.full()
    raw["sites"][site]["region"] = region
    return raw


@pytest.mark.parametrize(
    ("site", "region", "words"),
    [
        ("use1", "us-gov-west-1", "in the partition aws-us-gov"),
        ("use1", "cn-north-1", "in the partition aws-cn"),
        ("weu", "usgovvirginia", "in another cloud of Azure's"),
        ("weu", "chinaeast2", "in another cloud of Azure's"),
    ],
)
def test_another_partition_is_refused(tmp_path: Path, site: str, region: str, words: str) -> None:
    """Nodes' proofs, policies and trust documents name the ARNs and services of one partition."""
    problems = problems_of(write(tmp_path, in_region(site, region), hosts=make.hosts()))
    (problem,) = [problem for problem in problems if problem.key == f"sites.{site}.region"]
    assert words in problem.wrong


@pytest.mark.parametrize(
    ("region", "zones"), [("us-east-1", ("a", "b")), ("ap-northeast-1", ("a", "c")), ("xx-new-1", ("a", "b"))]
)
def test_zones_are_those_of_the_region(region: str, zones: tuple[str, ...]) -> None:
    """Tokyo has no b (AWS's table of regions)."""
    assert AwsSite(kind="aws", region=region, image="ami-00000000000000001").zones == zones


@pytest.mark.parametrize(
    ("region", "zones", "of_addresses"),
    [
        ("westus", None, None),
        ("westeurope", None, ["1", "2", "3"]),
        ("westeurope", (), ["1", "2", "3"]),
        ("westeurope", ("2",), ["2"]),
    ],
)
def test_addresses_have_zones_where_the_region_has(
    region: str, zones: tuple[str, ...] | None, of_addresses: list[str] | None
) -> None:
    """A VPN gateway takes an address without zones in a region without zones, and nowhere else."""
    named = {} if zones is None else {"zones": zones}
    site = AzureSite.model_validate({**make.AZURE, "region": region, **named})
    assert address_zones(region, site.zones) == of_addresses


def test_zones_that_the_region_lacks_are_doubted(tmp_path: Path) -> None:
    """Azure refuses them; the list may be older than the zones."""
    raw = make.full()
    raw["sites"]["far"] = {**make.AZURE, "region": "ukwest", "zones": ["1"]}
    report = examine(write(tmp_path, raw, hosts=make.hosts()))
    (warning,) = [warning for warning in report.warnings if warning.key == "sites.far.zones"]
    assert warning.wrong == "ukwest has no zones in Azure's list of 2025-09-23; 1 is named"
    assert warning.write.startswith("`zones: []`; or keep yours")


def test_a_control_plane_needs_zones(tmp_path: Path) -> None:
    raw = in_region("weu", "westus")
    raw["sites"]["weu"]["zones"] = []
    problems = problems_of(write(tmp_path, raw, hosts=make.hosts()))
    (problem,) = [problem for problem in problems if problem.key == "sites.weu.zones"]
    assert problem.wrong == "the control plane's machines are spread over zones, and westus has none"


def test_a_pool_s_site_has_no_zones(tmp_path: Path) -> None:
    raw = make.full()
    raw["sites"]["far"] = {**make.AZURE, "region": "westus", "zones": []}
    raw["pools"]["far"] = {"site": "far", "machine_type": "Standard_D8s_v5", "max": 4}
    place = place_of(load(write(tmp_path, raw, hosts=make.hosts())), "far")
    assert place.site.zones == ()
    assert clouds()["azure"].groups.zone_labels(place, "far") == ("westus",)


def test_built_in_types_have_the_processors_of_images() -> None:
    for cloud in clouds().values():
        assert {cloud.machine_types.architecture(name) for name in cloud.machine_types.known()} <= {"amd64"}
