"""A real API server with the admission and the cipher suites of ours, and a member of a team in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from components.model import Environment, load, plan
from lab import tools
from tests.redteam.attacks import TEAM
from tests.redteam.team_cluster import TeamCluster, team_cluster
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.guarded import guarded_arguments
from tests.support.hosts import STACKS
from tests.support.shared_clusters import SharedClusters

OPEN = "monitoring"
"""Namespace that the environment's file exempts."""

POD_CERTIFICATES = (
    "--feature-gates=PodCertificateRequest=true",
    "--runtime-config=certificates.k8s.io/v1beta1/podcertificaterequests=true",
)
"""Flags for requests that kubelets make from Kubernetes 1.37 on without them."""


@pytest.fixture(scope="session", name="environment")
def _environment() -> Environment:
    environment = load(STACKS / "Pulumi.lab.yaml")
    exempt = environment.pod_security.model_copy(update={"exempt_namespaces": (OPEN,)})
    return environment.model_copy(update={"pod_security": exempt})


@pytest.fixture(scope="module", name="guarded")
def _guarded(
    tmp_path_factory: pytest.TempPathFactory, environment: Environment, shared_clusters: SharedClusters
) -> ApiServer:
    cluster = _guarded_cluster(tmp_path_factory.mktemp("guarded"), environment)
    return shared_clusters.take("guarded API server", cluster)


@contextmanager
def _guarded_cluster(folder: Path, environment: Environment) -> Iterator[ApiServer]:
    """Run an API server with the flags of the unit and the files of the environment."""
    names = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]
    binaries = tools.ensure(names, log_dir=folder, progress=print)
    arguments = [*guarded_arguments(environment, folder), *POD_CERTIFICATES]
    with api_server(folder, tools=binaries, services=plan(environment).services, arguments=arguments) as server:
        server.start_controllers()
        for name in (TEAM, OPEN):
            server.kubectl("create", "namespace", name)
            server.kubectl("create", "rolebinding", "a", "--clusterrole=edit", "--user=alice", f"--namespace={name}")
            # As `kubectl debug` needs it, which `edit` alone may not.
            server.kubectl(
                "create", "role", "debug", "--verb=get,patch", "--resource=pods/ephemeralcontainers", f"-n={name}"
            )
            server.kubectl("create", "rolebinding", "debug", "--role=debug", "--user=alice", f"-n={name}")
        for name in (TEAM, OPEN, "kube-system"):
            there = ("get", "serviceaccounts", "default", f"--namespace={name}", "--ignore-not-found", "--output=name")
            eventually(lambda there=there: server.kubectl(*there), what=f"{name} has its service account")
        yield server


@pytest.fixture(scope="module", name="member")
def _member(guarded: ApiServer) -> Path:
    """Kubeconfig of somebody with the role ``edit`` in two namespaces."""
    return guarded.user("alice")


@pytest.fixture(scope="session", name="running_cluster")
def _running_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamCluster]:
    with team_cluster(tmp_path_factory.mktemp("teams"), tools.ensure) as running:
        yield running


@pytest.fixture(name="cluster")
def _cluster(running_cluster: TeamCluster) -> Iterator[TeamCluster]:
    """Return a cluster with teams and queues, in which nothing of another test is left."""
    yield running_cluster
    running_cluster.clear()
