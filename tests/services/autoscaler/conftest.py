"""A cluster to act on, for this folder's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path

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
from tests.support.shared_clusters import SharedClusters


@pytest.fixture(scope="module", name="everything")
def _everything(tmp_path_factory: pytest.TempPathFactory, shared_clusters: SharedClusters) -> World:
    return shared_clusters.take("autoscaler's clouds", _clouds_and_cluster(tmp_path_factory.mktemp("everything")))


@contextmanager
def _clouds_and_cluster(folder: Path) -> Iterator[World]:
    for name in ("cluster", "clouds"):
        (folder / name).mkdir()
    binaries = tools.ensure([*TOOLS, "kube-scheduler"], log_dir=folder, progress=print)
    with (
        api_server(folder / "cluster", tools=binaries, services=IPv4Network("10.80.0.0/17")) as server,
        clouds(folder / "clouds" / "cloud", running) as (live, site),
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


@pytest.fixture(scope="module", name="scheduled")
def _scheduled(tmp_path_factory: pytest.TempPathFactory, shared_clusters: SharedClusters) -> ApiServer:
    """An API server for questions to kube-scheduler."""
    return shared_clusters.take("scheduled clusters", scheduled_cluster(tmp_path_factory.mktemp("cluster")))


@pytest.fixture(name="groups")
def _groups(monkeypatch: pytest.MonkeyPatch) -> dict[str, Standing]:
    return groups_of_pools(monkeypatch)
