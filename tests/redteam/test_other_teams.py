"""A team takes nothing from others, where Kueue and Kubernetes by themselves would let it."""

from __future__ import annotations

from typing import Any

import pytest

from components.model.teams.queues import KUEUE
from components.objects.team_admissions import STALE
from components.objects.team_lengths import LONG
from contract.kubernetes.connection import ApiError
from tests.redteam.team_cluster import GPUS, TEAM, TeamCluster
from tests.redteam.test_queues import admitted, job, many
from tests.support.api_server import eventually
from tests.support.queues import jobset
from tests.support.teams import Person, pod

pytestmark = pytest.mark.engine


@pytest.fixture(name="ada")
def _ada(cluster: TeamCluster) -> Person:
    return cluster.person()


def end_pod(cluster: TeamCluster, beginning: str, *, phase: str) -> set[str]:
    """End a pod, as its kubelet would, and return its name."""
    names = [free["metadata"]["name"] for free in cluster.free_pods()]
    (name,) = (name for name in names if name.startswith(beginning))
    cluster.admin.patch(f"/api/v1/namespaces/{TEAM}/pods/{name}/status", {"status": {"phase": phase}})
    return {name}


def test_a_jobset_that_restarts_has_the_quota_of_all_its_pods(cluster: TeamCluster, ada: Person) -> None:
    """By default Kueue gives back the quota of pods that have succeeded, and never takes it again (kueue issue 14609):
    each restart would win as much as these pods have."""
    made = jobset("js", {"a": 1, "w": 1}, pod("a", gpus=1)["spec"], where=TEAM)
    for role in made["spec"]["replicatedJobs"]:
        role["template"]["spec"]["backoffLimit"] = 0
    made["spec"]["failurePolicy"] = {"maxRestarts": 5}
    ada.made(made, dry=False)
    admitted(cluster)
    ended = end_pod(cluster, "js-a-", phase="Succeeded")
    eventually(
        lambda: cluster.server.get("job", "js-a-0", f"--namespace={TEAM}")["status"].get("succeeded"), what="it is done"
    )
    ada.made(job("second", gpus=1), dry=False)
    eventually(lambda: cluster.waiting() == ["job-second"], what="another job waits")
    ended |= end_pod(cluster, "js-w-", phase="Failed")
    eventually(
        lambda: cluster.free_gpus() == GPUS and not ended & {free["metadata"]["name"] for free in cluster.free_pods()},
        what="the JobSet runs again",
    )
    assert cluster.waiting() == ["job-second"]


def test_kueue_admits_what_it_has_counted_and_nothing_that_grew_meanwhile(cluster: TeamCluster, ada: Person) -> None:
    """Somebody who changes a waiting job in a loop had eight GPUs instead of two after a minute, and kept them."""
    ada.made(job(gpus=100), dry=False)
    eventually(lambda: cluster.waiting() == ["job-train"], what="it waits")
    assert "patched" in ada.changes("job/train", {"spec": {"parallelism": 2, "completions": 2}})
    workloads = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads"

    def waiting() -> dict[str, Any]:
        return next(iter(cluster.admin.items(workloads)))

    eventually(lambda: waiting()["spec"]["podSets"][0]["count"] == 2, what="its workload has its new size")
    generation, name = waiting()["metadata"]["generation"], waiting()["metadata"]["name"]
    assert generation > 1
    kueue = cluster.acting(KUEUE.user)

    def admits(counted: int) -> Any:
        flavors, usage = {"cpu": "cpu"}, {"cpu": "2"}
        pods = {"name": "main", "count": 2, "flavors": flavors, "resourceUsage": usage}
        condition = {
            "type": "QuotaReserved",
            "status": "True",
            "reason": "QuotaReserved",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "observedGeneration": counted,
        }
        status = {"admission": {"clusterQueue": TEAM, "podSetAssignments": [pods]}, "conditions": [condition]}
        return kueue.send(
            "PATCH",
            f"{workloads}/{name}/status",
            body={"status": status},
            query={"dryRun": "All"},
            content_type="application/merge-patch+json",
        )

    with pytest.raises(ApiError, match=STALE):
        admits(generation - 1)
    assert admits(generation)["status"]["admission"]


def test_no_pod_keeps_other_teams_pods_away(ada: Person) -> None:
    """One small pod would keep the pods of the whole cluster from every node of one operating system."""
    term = {"topologyKey": "kubernetes.io/os", "labelSelector": {}}
    own = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert ada.made(pod("apart", affinity=own))["kind"] == "Pod"
    for others in ({"namespaceSelector": {}}, {"namespaces": ["speech"]}):
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term | others]}}
        assert "exceeded quota: longhaul-affinity" in ada.makes(pod("apart", affinity=affinity)), others


def test_ports_of_nodes_are_left_for_other_teams(ada: Person) -> None:
    """All teams share 2,768 of them."""

    def service(ports: int, **spec: Any) -> dict[str, Any]:
        listed = [{"name": f"p{port}", "port": port} for port in range(1, ports + 1)]
        metadata = {"name": "ports"}
        return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": listed, **spec}}

    for kind in ("NodePort", "LoadBalancer"):
        assert "services.nodeports=101" in ada.makes(service(101, type=kind)), kind
    assert ada.made(service(10, type="NodePort"))["kind"] == "Service"
    assert ada.made(service(101))["kind"] == "Service"


def test_one_object_fills_no_store(ada: Person) -> None:
    """A JobSet of a megabyte and 5,000 replicas would be 5 GB of Jobs, before it is admitted."""

    def large(size: int) -> dict[str, Any]:
        spec: dict[str, Any] = pod("a")["spec"]
        spec["containers"][0]["env"] = [{"name": f"E{n}", "value": "x" * size} for n in range(10)]
        return spec

    def every(size: int) -> list[dict[str, Any]]:
        plain, copied = job(), many("Deployment")
        plain["spec"]["template"]["spec"] |= large(size)
        copied["spec"]["template"]["spec"] = large(size)
        timed = {"schedule": "0 0 * * *", "jobTemplate": {"spec": plain["spec"]}}
        return [
            plain,
            copied,
            {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "timed"}, "spec": timed},
            {**pod("a"), "spec": large(size)},
            jobset("js", {"a": 1, "b": 1}, large(size), where=TEAM),
        ]

    for made in every(100_000):
        assert LONG in ada.makes(made), made["kind"]
    for made in every(10_000):
        assert ada.made(made)["kind"] == made["kind"]
    noted = pod("noted")
    noted["metadata"]["annotations"] = {"a": "x" * 200_000}
    assert LONG in ada.makes(noted)
