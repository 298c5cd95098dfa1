"""A cluster to act on, for this folder's tests."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network

import pytest

from contract.kubernetes.connection import ApiError
from lab import tools
from tests.lab.cloud.conftest import running
from tests.services.autoscaler.acting_cluster import REQUESTS, TEAM, World, clouds
from tests.services.autoscaler.listed_cluster import Standing, groups_of_pools
from tests.services.autoscaler.scheduled_cluster import scheduled_cluster
from tests.services.autoscaler.test_listed_cluster import REQUESTS as DEFINITION
from tests.services.autoscaler.test_listed_cluster import TOOLS
from tests.support.api_server import ApiServer, api_server, eventually


@pytest.fixture(scope="module", name="everything")
def _everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    binaries = tools.ensure([*TOOLS, "kube-scheduler"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    folder = tmp_path_factory.mktemp("cluster")
    with (
        api_server(folder, tools=binaries, services=IPv4Network("10.80.0.0/17")) as server,
        clouds(tmp_path_factory.mktemp("clouds") / "cloud", running) as (live, site),
    ):
        # No kubelet reports that a node is alive.
        server.start_controllers("--node-monitor-grace-period=1h")
        server.open_namespace(TEAM)
        server.define(DEFINITION)
        world = World(server, live, site)
        eventually(lambda: is_served(world), what="the new kind is served")
        yield world


def is_served(world: World) -> bool:
    try:
        return world.admin.find(REQUESTS) is not None
    except ApiError:
        return False


@pytest.fixture(name="world")
def _world(everything: World, monkeypatch: pytest.MonkeyPatch) -> World:
    everything.reset()
    everything.patch(monkeypatch)
    return everything


@pytest.fixture(scope="package", name="scheduled")
def _scheduled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server for questions to kube-scheduler."""
    with scheduled_cluster(tmp_path_factory.mktemp("cluster")) as server:
        yield server


@pytest.fixture(name="groups")
def _groups(monkeypatch: pytest.MonkeyPatch) -> dict[str, Standing]:
    return groups_of_pools(monkeypatch)
