"""Regions that an environment cannot be in, and the zones of a site that names none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.aws.site import AwsSite
from clouds.registry import clouds
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


def test_built_in_types_have_the_processors_of_images() -> None:
    for cloud in clouds().values():
        assert {cloud.machine_types.architecture(name) for name in cloud.machine_types.known()} <= {"amd64"}
