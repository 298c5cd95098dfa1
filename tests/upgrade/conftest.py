"""Runs the tests for each recorded release."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import tools
from tests.upgrade.releases import Release, releases


@pytest.fixture(scope="module", name="release", params=releases(), ids=lambda one: one.version)
def _release(request: pytest.FixtureRequest) -> Release:
    found: Release = request.param
    return found


@pytest.fixture(scope="session", name="pulumi")
def _pulumi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tools.ensure(["pulumi"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)["pulumi"]
