"""An environment, its API in memory, and the subject of the checks, which has both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.model import Environment, load
from longhaul.acceptance.target import AcceptanceTarget
from longhaul.acceptance.time_limit import Deadline
from tests.longhaul.acceptance.fake_api import FakeApi
from tests.longhaul.acceptance.stand_ins import FakeCommands, Time
from tests.support.project import hybrid

Load = Callable[[dict[str, Any]], Environment]


def raw_environment() -> dict[str, Any]:
    """Return the lab's environment with another name and its own version of Kubernetes."""
    return {**hybrid("dev", supernet="10.64.0.0/12"), "versions": {"kubernetes": "1.2.3"}}


@pytest.fixture(name="load_raw")
def _load_raw(tmp_path: Path) -> Load:
    def loaded(raw: dict[str, Any]) -> Environment:
        folder = tmp_path / "stacks"
        folder.mkdir(exist_ok=True)
        (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {"longhaul:environment": raw}}))
        (folder / str(raw["bare_metal"])).write_text("hosts:\n  - {name: node-0, site: rack}\n")
        return load(folder / "Pulumi.dev.yaml")

    return loaded


@pytest.fixture(name="environment")
def _environment(load_raw: Load) -> Environment:
    return load_raw(raw_environment())


@pytest.fixture(name="time")
def _time() -> Time:
    return Time()


@pytest.fixture(name="api")
def _api(time: Time) -> FakeApi:
    api = FakeApi(time)
    api.node("i-1", site="use1", pool="cpu")
    api.node("dev-node-0", site="rack", pool="bare-metal")
    return api


@pytest.fixture(name="target")
def _subject(environment: Environment, api: FakeApi, time: Time) -> AcceptanceTarget:
    return AcceptanceTarget(
        environment=environment,
        commands=FakeCommands(),
        api=lambda user: api,
        exported=dict,
        limit=Deadline(3600, clock=time.clock, wait=time.wait),
        within_s=60,
        image="agnhost:1",
    )
