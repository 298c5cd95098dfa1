"""A cloud with AWS in two regions, and a small site made in it through AWS's own SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.cloud.aws.site import REGIONS, Site
from tests.lab.cloud.conftest import Live, running


@pytest.fixture
def aws(tmp_path: Path) -> Iterator[Live]:
    """A cloud without any resource."""
    with running(tmp_path / "cloud", regions=REGIONS) as found:
        yield found


@pytest.fixture
def site(aws: Live) -> Site:
    """A VPC with one node subnet, its egress, a group's template and an instance profile."""
    return Site(aws)
