"""Releases of Helm charts in a team's namespace: rendered by Helm, and written to the API as Helm writes them.

Helm 3 makes each object by a POST, in an order of kinds. An upgrade is a three-way strategic merge patch, and an
uninstallation deletes with ``propagationPolicy: Background`` (helm 3.22, pkg/kube/client.go, ``Create``,
``updateResource`` and ``deleteResource``). Helm 4 applies on the server's side, without force (helm 4.3,
pkg/cmd/install.go, ``--server-side``). kubectl does the same by the same libraries. Hooks are made before or after the
others, awaited, and deleted as their annotation says (pkg/action/hooks.go).
"""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.redteam.team_cluster import TEAM, TeamCluster
from tests.support.api_server import eventually
from tests.support.teams import Person

FOLDER = Path(__file__).parent / "charts"
HOOK, POLICY = "helm.sh/hook", "helm.sh/hook-delete-policy"
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
HELM_4 = ("grafana", "minio", "mlflow", "redis", "vllm-stack")
"""Charts that are written as Helm 4 writes them, the others as Helm 3 does."""
NEWER = "-newer"
"""End of the tags of images after an upgrade."""

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A chart that Helm rendered, and whoever installs it."""

    chart: str
    objects: list[Object]
    hooks: list[Object]

    def create(self, person: Person) -> str:
        """Make the objects, and return what kubectl says."""
        return self._write(person, self.objects, *(self._on_the_server() or ("create", "--save-config")))

    def newer(self) -> Release:
        """Return the release with newer images, and a replica more of each Deployment and StatefulSet that says how
        many it has."""
        objects = copy.deepcopy(self.objects)
        for made in objects:
            if made["kind"] in WORKLOADS:
                spec = made["spec"]["template"]["spec"]
                for container in (*spec["containers"], *spec.get("initContainers", [])):
                    container["image"] += NEWER
                if made["spec"].get("replicas"):
                    made["spec"]["replicas"] += 1
        return Release(chart=self.chart, objects=objects, hooks=self.hooks)

    def upgrade(self, person: Person) -> str:
        return self._write(person, self.objects, *(self._on_the_server() or ("apply",)))

    def uninstall(self, person: Person) -> str:
        words = ("--cascade=background", "--wait=false", "--ignore-not-found", "--filename=-")
        return person.kubectl("delete", f"--namespace={person.team}", *words, stdin=self.everything())

    def everything(self) -> Object:
        """Return all objects but those that Helm keeps after an uninstallation."""
        kept = "helm.sh/resource-policy"
        objects = [made for made in self.objects if kept not in (made["metadata"].get("annotations") or {})]
        return {"apiVersion": "v1", "kind": "List", "items": [*objects, *self.hooks]}

    def run_hooks(self, person: Person, cluster: TeamCluster, moment: str) -> str:
        """Make the hooks of a moment, such as ``pre-install``, by their weight; await the Jobs, and delete what is to
        be deleted."""
        hooks = [hook for hook in self.hooks if moment in hook["metadata"]["annotations"][HOOK].split(",")]
        hooks.sort(key=lambda hook: int(hook["metadata"]["annotations"].get("helm.sh/hook-weight", 0)))
        said = ""
        for hook in hooks:
            said += self._write(person, [hook], "create")
            if hook["kind"] == "Job":
                eventually(lambda hook=hook: _is_complete(cluster, person, hook), what=f"{moment} of {self.chart}")
        ended = [hook for hook in hooks if "hook-succeeded" in hook["metadata"]["annotations"].get(POLICY, "")]
        return said + (self._write(person, ended, "delete", "--wait=false") if ended else "")

    def missing(self, workloads: dict[tuple[str, str], Object]) -> str:
        """Return what lacks until the Deployments and StatefulSets run as the release says; nothing if they do."""
        for made in self.objects:
            if made["kind"] not in ("Deployment", "StatefulSet"):
                continue
            live = workloads[made["kind"], made["metadata"]["name"]]
            wanted, status = live["spec"]["replicas"], live["status"]
            counts = [status.get(f"{word}eplicas", 0) for word in ("r", "readyR", "updatedR")]
            images = [item["spec"]["template"]["spec"]["containers"][0]["image"] for item in (made, live)]
            if status.get("observedGeneration") != live["metadata"]["generation"] or counts != [wanted] * 3:
                return f"{made['metadata']['name']}: {counts} of {wanted}"
            if wanted != made["spec"].get("replicas", 1) or images[0] != images[1]:
                return f"{made['metadata']['name']} is not as in the release"
        return ""

    def _on_the_server(self) -> tuple[str, ...]:
        return ("apply", "--server-side", "--field-manager=helm") if self.chart in HELM_4 else ()

    def _write(self, person: Person, objects: list[Object], *words: str) -> str:
        everything = {"apiVersion": "v1", "kind": "List", "items": objects}
        return person.kubectl(*words, f"--namespace={person.team}", "--filename=-", stdin=everything)


@cache
def release(chart: str) -> Release:
    """Return the release in a file of the folder."""
    objects = [made for made in yaml.safe_load_all((FOLDER / f"{chart}.yaml").read_text(encoding="utf-8")) if made]
    hooks = [made for made in objects if HOOK in (made["metadata"].get("annotations") or {})]
    return Release(chart=chart, objects=[made for made in objects if made not in hooks], hooks=hooks)


def charts() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def lacks(cluster: TeamCluster, releases: list[Release]) -> dict[str, str]:
    """Run the pods of releases until all workloads are as wanted, and return for each release what lacks then."""
    missing = {made.chart: "" for made in releases}

    def is_done() -> bool:
        run_pods(cluster, TEAM)
        workloads = {
            (kind, made["metadata"]["name"]): made
            for kind, plural in (("Deployment", "deployments"), ("StatefulSet", "statefulsets"))
            for made in cluster.admin.items(f"/apis/apps/v1/namespaces/{TEAM}/{plural}")
        }
        missing.update({made.chart: made.missing(workloads) for made in releases})
        return not any(missing.values())

    with suppress(AssertionError):
        eventually(is_done, what="all run")
    return missing


def leftovers(cluster: TeamCluster, releases: list[Release]) -> dict[str, str]:
    """Return what is left of each release, and of its pods, after a while. Helm leaves claims of StatefulSets."""
    left = {made.chart: "" for made in releases}

    def is_done() -> bool:
        words = ("--output=name", f"--namespace={TEAM}")
        rest = cluster.server.kubectl("get", "pods,replicasets,workloads.kueue.x-k8s.io", *words).split()
        for made in releases:
            objects = cluster.server.kubectl(
                "get", "--ignore-not-found", "--filename=-", *words, stdin=json.dumps(made.everything())
            )
            left[made.chart] = " ".join([*objects.split(), *(name for name in rest if f"/{made.chart}" in name)])
        return not any(left.values()) and not rest

    with suppress(AssertionError):
        eventually(is_done, what="nothing is left")
    return left


def run_pods(cluster: TeamCluster, team: str) -> None:
    """Do what kubelets do: each pod that is free to be scheduled runs and is ready; a Job's has succeeded."""
    for pod in cluster.free_pods(team):
        metadata = pod["metadata"]
        ends = any(owner["kind"] == "Job" for owner in metadata.get("ownerReferences", []))
        phase = "Succeeded" if ends else "Running"
        condition = {"type": "Ready", "status": "False" if ends else "True"}
        path = f"/api/v1/namespaces/{team}/pods/{metadata['name']}/status"
        cluster.admin.patch(path, {"status": {"phase": phase, "conditions": [condition]}})


def _is_complete(cluster: TeamCluster, person: Person, job: Object) -> bool:
    run_pods(cluster, person.team)
    status = cluster.admin.get(f"/apis/batch/v1/namespaces/{person.team}/jobs/{job['metadata']['name']}")["status"]
    return any(item["type"] == "Complete" for item in status.get("conditions", []))
