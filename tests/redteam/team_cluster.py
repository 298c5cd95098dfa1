"""A cluster without nodes in which teams share queues: what an environment renders for it, the controllers with their
own accounts, Kueue and JobSet, and who attacks. Nothing runs there: a pod without a scheduling gate is free to be
scheduled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.model import load, plan
from components.model.teams.queues import MANAGERS
from components.objects.team_policies import ANOTHER
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.resources import GPU_RESOURCE
from tests.components.objects.conftest import ALONE, TOOLS
from tests.components.objects.stack import Stack
from tests.model.make import issuer
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.guarded import guarded_arguments
from tests.support.hosts import STACKS
from tests.support.queue_managers import QueueManagers
from tests.support.teams import JOB, Person, api_of

GPUS = 2
"""GPUs that each team is guaranteed, and may not exceed."""
CORES = 40
PIN = "example.com/pin"
"""Finalizer with which a test keeps an object that is deleted."""
GROUP = "corp:{}"
TEAM, OTHER = "visual", "speech"
TEAMS = {
    name: {
        "groups": [GROUP.format(name)],
        "priority": priority,
        "shares": {"cpu": {"cores": CORES, "borrow": 0}, "h100": {"gpus": GPUS, "borrow": 0}},
    }
    for name, priority in ((TEAM, 10), (OTHER, 0))
}
GPU_POOL = """\
      gpu:
        site: use1
        machine_type: p5.48xlarge
        min: 0
        max: 2
"""
KINDS = (
    ("jobset.x-k8s.io/v1alpha2", "jobsets"),
    ("batch/v1", "cronjobs"),
    ("batch/v1", "jobs"),
    ("apps/v1", "deployments"),
    ("apps/v1", "statefulsets"),
    ("apps/v1", "daemonsets"),
    ("apps/v1", "replicasets"),
    ("v1", "replicationcontrollers"),
    ("v1", "pods"),
    ("apps/v1", "controllerrevisions"),
    ("v1", "persistentvolumeclaims"),
)
"""Kinds of which nothing is left between two tests: API version and resource, owners first."""


@dataclass(frozen=True, kw_only=True)
class TeamCluster:
    """The running cluster."""

    server: ApiServer
    managers: QueueManagers
    admin: Api

    def person(self, team: str = TEAM) -> Person:
        """Return somebody of a team, who has nothing but what the team's people have."""
        return Person(
            server=self.server, team=team, kubeconfig=self.server.user("ada", organizations=(GROUP.format(team),))
        )

    def acting(self, user: str, *organizations: str) -> Api:
        """Return the API as somebody else: a controller, a node, a program."""
        return api_of(self.server, self.server.user(user, organizations=organizations))

    def free_pods(self, team: str = TEAM) -> list[dict[str, Any]]:
        """Return the pods of a team that the scheduler would place."""
        return [
            pod
            for pod in self.admin.items(f"/api/v1/namespaces/{team}/pods")
            if not pod["spec"].get("schedulingGates")
            if pod.get("status", {}).get("phase") == "Pending" and "deletionTimestamp" not in pod["metadata"]
        ]

    def free_gpus(self, team: str = TEAM) -> int:
        """Return the number of GPUs that pods of a team would get."""
        return sum(
            int(container.get("resources", {}).get("requests", {}).get(GPU_RESOURCE, 0))
            for pod in self.free_pods(team)
            for container in pod["spec"]["containers"]
        )

    def waiting(self, team: str = TEAM) -> list[str]:
        """Return the workloads of a team that its queue holds back, by name without the hash at its end."""
        workloads = self.admin.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{team}/workloads")
        return sorted(
            item["metadata"]["name"].rpartition("-")[0]
            for item in workloads
            if "admission" not in item.get("status", {})
        )

    def clear(self) -> None:
        """Delete everything that tests made in teams' namespaces, and return when nothing is left, in the queues
        neither."""
        for team in TEAMS:
            eventually(lambda team=team: self._cleared(team), what=f"{team} is empty")

    def _cleared(self, team: str) -> bool:
        left = 0
        for version, resource in (*KINDS, ("kueue.x-k8s.io/v1beta2", "workloads")):
            path = f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/{team}/{resource}"
            for item in list(self.admin.items(path)):
                left += 1
                # Others go with their owners.
                if resource != "workloads" or not item["metadata"].get("ownerReferences"):
                    self._remove(f"{path}/{item['metadata']['name']}", item)
        return left == 0

    def _remove(self, path: str, item: dict[str, Any]) -> None:
        """Delete an object at once: without a node nobody else would end a pod."""
        try:
            if "deletionTimestamp" not in item["metadata"]:
                self.admin.delete(path, uid=item["metadata"]["uid"], grace_s=0)
            elif PIN in item["metadata"].get("finalizers", ()):
                self.admin.patch(path, {"metadata": {"finalizers": None}})
        except ApiError as error:
            if error.status not in (404, 409):
                raise


@contextmanager
def team_cluster(folder: Path, ensure: Callable[..., dict[str, Path]]) -> Iterator[TeamCluster]:
    """Run the cluster below ``folder``; everything is in force when the block begins."""
    binaries = ensure([*TOOLS, *(manager.name for manager in MANAGERS)], log_dir=folder, progress=print)
    environment = load(STACKS / "Pulumi.lab.yaml")
    arguments = guarded_arguments(environment, folder)
    with api_server(folder, tools=binaries, services=plan(environment).services, arguments=arguments) as server:
        server.start_controllers("--use-service-account-credentials=true")
        managers = QueueManagers(folder / "managers", server, binaries)
        try:
            _render(folder, server, pulumi=binaries["pulumi"])
            managers.start_all()
            cluster = TeamCluster(server=server, managers=managers, admin=server.client(timeout_s=30.0))
            # A policy holds some time after it was made, and quotas refuse what they have yet to count.
            eventually(lambda: _admits_no_other_queue(cluster), what="the teams' policies are in force")
            eventually(lambda: all(_is_counted(server, team) for team in TEAMS), what="the teams' objects are counted")
            yield cluster
        finally:
            managers.close()


def _render(folder: Path, server: ApiServer, *, pulumi: Path) -> None:
    """Make the objects of an environment with teams and GPUs."""
    stack = Stack(folder / "stack", pulumi=pulumi, kubeconfig=server.kubeconfig)
    file = stack.project / "stacks" / "Pulumi.lab.yaml"
    # Of hosts nobody knows the cores.
    text = file.read_text().replace("    bare_metal: hosts.lab.yaml\n", "")
    file.write_text(text.replace("    pools:\n", f"    pools:\n{GPU_POOL}").replace("max: 10\n", "max: 40\n"))
    stack.declare(f"    identity: {json.dumps({'issuers': {'corp': issuer()}})}\n    teams: {json.dumps(TEAMS)}\n")
    stack.build_infrastructure(kubernetes_ca=server.own_authority.certificate)
    stack.change(ALONE)
    stack.fill()


def _admits_no_other_queue(cluster: TeamCluster) -> bool:
    other = {**JOB, "metadata": {"name": "other", "labels": {"kueue.x-k8s.io/queue-name": "other"}}}
    return ANOTHER in str(cluster.person().makes(other))


def _is_counted(server: ApiServer, team: str) -> bool:
    """Return whether every quota of a team tells what is used."""
    quotas = server.get("resourcequotas", f"--namespace={team}")["items"]
    return all(quota["spec"]["hard"].keys() <= quota.get("status", {}).get("used", {}).keys() for quota in quotas)
