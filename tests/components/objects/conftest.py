"""A real API server for this folder's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from components.model import load, plan
from components.model.teams.queues import MANAGERS
from lab import tools
from tests.components.objects.stack import Stack
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.guarded import guarded_arguments
from tests.support.hosts import STACKS
from tests.support.queue_managers import QueueManagers
from tests.support.shared_clusters import SharedClusters

ALONE = "from components.objects import dns\ndns.standing_nodes = lambda environment: {}\n"
"""Patch for the program: no machine will join, so it must not wait for DNS."""
TOOLS = ["pulumi", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "coredns"]


@pytest.fixture(scope="session", name="binaries")
def _binaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tools.ensure(TOOLS, log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.fixture(scope="module", name="cluster")
def _cluster(tmp_path_factory: pytest.TempPathFactory, binaries: dict[str, Path]) -> Iterator[ApiServer]:
    with _controlled(tmp_path_factory.mktemp("cluster"), binaries) as server:
        yield server


@contextmanager
def _controlled(folder: Path, binaries: dict[str, Path]) -> Iterator[ApiServer]:
    """Run an API server that admits as the environment's, and the controllers."""
    environment = load(STACKS / "Pulumi.lab.yaml")
    arguments = guarded_arguments(environment, folder)
    services = plan(environment).services
    with api_server(folder, tools=binaries, services=services, arguments=arguments) as server:
        server.start_controllers()
        accounts = ("get", "serviceaccounts", "--namespace=default", "--output=name")
        eventually(lambda: server.kubectl(*accounts), what="the controllers work")
        yield server


@pytest.fixture(scope="module", name="applied")
def _applied(
    tmp_path_factory: pytest.TempPathFactory, binaries: dict[str, Path], shared_clusters: SharedClusters
) -> ApiServer:
    """Return an API server with the objects of an environment. Tests of several files share it: they leave what the
    environment has as it is."""
    folder = tmp_path_factory.mktemp("applied")
    return shared_clusters.take("an environment's objects", _with_objects(folder, binaries))


@contextmanager
def _with_objects(folder: Path, binaries: dict[str, Path]) -> Iterator[ApiServer]:
    for name in ("cluster", "stack"):
        (folder / name).mkdir()
    with _controlled(folder / "cluster", binaries) as cluster:
        stack = Stack(folder / "stack", pulumi=binaries["pulumi"], kubeconfig=cluster.kubeconfig)
        stack.build_infrastructure()
        stack.change(ALONE)
        stack.fill()
        yield cluster


@pytest.fixture(scope="module", name="managers")
def _managers(tmp_path_factory: pytest.TempPathFactory, cluster: ApiServer) -> Iterator[QueueManagers]:
    """Return Kueue and JobSet beside the API server, not started."""
    folder = tmp_path_factory.mktemp("managers")
    names = [manager.name for manager in MANAGERS]
    made = QueueManagers(folder, cluster, tools.ensure(names, log_dir=folder, progress=print))
    yield made
    made.close()
