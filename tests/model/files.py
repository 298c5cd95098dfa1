"""Writes stack files for tests and returns the problems that are found in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model import ConfigurationError, Problem, load
from components.model.loading.schema import CONFIG_KEY
from tests.support.project import dumped


def write(directory: Path, environment: dict[str, Any], *, hosts: object = None, name: str = "test") -> Path:
    """Write the stack file of ``environment`` and its hosts file beside it; return the stack file."""
    path = directory / f"Pulumi.{name}.yaml"
    path.write_text(dumped({"config": {CONFIG_KEY: environment}}, sort_keys=False))
    if hosts is not None:
        (directory / f"hosts.{name}.yaml").write_text(dumped(hosts))
    return path


def problems_of(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    return caught.value.problems


def only(path: Path) -> Problem:
    (problem,) = problems_of(path)
    return problem
