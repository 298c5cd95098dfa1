"""No JobSet refuses its eviction: what JobSet's controller needs for a whole pass stays, and what it cannot finish the
accountant ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from components.objects.team_lengths import LARGE
from components.objects.team_parts import FOREIGN, KEPT
from components.objects.team_policies import MADE, NAMED_SERVICES, OWNED
from contract.kubernetes.connection import ApiError
from contract.users import ACCOUNTANT_USER
from services.accountant import accountant
from services.accountant.metrics import JOBS_ENDED
from services.metrics import ServiceMetrics
from tests.redteam.running_accountant import condition, is_closed, running_accountant
from tests.redteam.team_cluster import GPUS, TEAM, TeamCluster
from tests.redteam.test_queues import admitted, job, many
from tests.support.api_server import eventually
from tests.support.queues import jobset
from tests.support.teams import Person, pod

pytestmark = pytest.mark.engine

CORE = f"/api/v1/namespaces/{TEAM}"
JOBS, JOBSETS = f"/apis/batch/v1/namespaces/{TEAM}/jobs", f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{TEAM}/jobsets"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads"
IN_TEAM = f"--namespace={TEAM}"
SOON_S = 4.0


@pytest.fixture(name="ada")
def _ada(cluster: TeamCluster) -> Person:
    return cluster.person()


@pytest.fixture(name="metrics")
def _metrics(cluster: TeamCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServiceMetrics]:
    """Run an accountant that gives evicted jobs a short time."""
    monkeypatch.setattr(accountant, "EVICTED_S", SOON_S)
    with running_accountant(cluster) as metrics:
        yield metrics


@pytest.fixture(name="quota")
def _quota(cluster: TeamCluster) -> Iterator[None]:
    """Fill the quota of Services for a test."""
    path = f"{CORE}/resourcequotas/longhaul"
    before = cluster.admin.get(path)["spec"]["hard"]["services"]
    yield
    cluster.admin.patch(path, {"spec": {"hard": {"services": before}}})


def service(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"clusterIP": "None", "selector": {"app": name}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, **metadata}, "spec": spec}


def a_set(roles: dict[str, int] | None = None, *, gpus: int = 1) -> dict[str, Any]:
    return jobset("js", roles or {"w": 1}, pod("a", gpus=gpus)["spec"], where=TEAM)


def evict(cluster: TeamCluster) -> None:
    """End the JobSet as Kueue does when an owner takes its capacity back."""
    (name,) = [
        item["metadata"]["name"] for item in cluster.admin.items(WORKLOADS) if "jobset-js" in item["metadata"]["name"]
    ]
    cluster.admin.patch(f"{WORKLOADS}/{name}", {"spec": {"active": False}})
    suspended = lambda: cluster.admin.get(f"{JOBSETS}/js")["spec"]["suspend"]  # noqa: E731
    eventually(suspended, what="Kueue suspends the JobSet")


def ready(cluster: TeamCluster) -> None:
    """Have the pods that run be ready, as a node says it."""
    for item in cluster.free_pods():
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        cluster.admin.patch(f"{CORE}/pods/{item['metadata']['name']}/status", {"status": status})


def running(cluster: TeamCluster) -> list[str]:
    return [
        item["metadata"]["name"]
        for item in cluster.admin.items(f"{CORE}/pods")
        if "deletionTimestamp" not in item["metadata"] and item["metadata"]["name"].startswith("js-")
    ]


def test_the_parts_of_a_jobset_stay(cluster: TeamCluster, ada: Person) -> None:
    """JobSet's controller would make them anew before it suspends anything, and may not be able to."""
    ada.made(a_set(), dry=False)
    admitted(cluster, 1)
    uid = cluster.admin.get(f"{JOBSETS}/js")["metadata"]["uid"]
    for words in (("service/js",), ("services", "--all"), (f"--raw={CORE}/services/js",)):
        assert KEPT in ada.kubectl("delete", IN_TEAM, "--wait=false", *words), words
    assert KEPT in ada.changes("service/js", {"spec": {"selector": {"app": "other"}}})
    assert KEPT in ada.changes("service/js", {"metadata": {"ownerReferences": None}})
    for words in (("job/js-w-0",), ("jobs", "--all")):
        assert MADE in ada.kubectl("delete", IN_TEAM, "--wait=false", *words), words
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "js", "uid": uid, "controller": True}
    assert FOREIGN in ada.makes(service("other", ownerReferences=[owner]))
    # People label what they like, and their own Services are theirs.
    assert "labeled" in ada.kubectl("label", IN_TEAM, "service/js", "own=label")
    ada.made(service("beside"), dry=False)
    assert FOREIGN in ada.changes("service/beside", {"metadata": {"ownerReferences": [owner]}})
    assert "patched" in ada.changes("service/beside", {"spec": {"selector": {"app": "other"}}})
    assert "deleted" in ada.kubectl("delete", IN_TEAM, "service/beside")
    for cascade in ("background", "foreground"):
        assert "deleted" in ada.kubectl("delete", IN_TEAM, "jobset/js", f"--cascade={cascade}", "--wait=false")
        services = f"{CORE}/services/js"
        eventually(lambda there=services: cluster.admin.find(there) is None, what="its Service ends with it")
        eventually(lambda: cluster.admin.find(f"{JOBSETS}/js") is None, what="it is gone")
        if cascade == "background":
            ada.made(a_set(), dry=False)
            admitted(cluster, 1)


def test_a_jobset_keeps_its_network(cluster: TeamCluster, ada: Person) -> None:
    """JobSet's definition lets it be left out, and its controller then ends each pass by an error."""
    ada.made(a_set(), dry=False)
    admitted(cluster, 1)
    before = cluster.admin.get(f"{JOBSETS}/js")["spec"]["network"]
    assert "patched" in ada.changes("jobset/js", {"spec": {"suspend": True, "network": None}})
    assert cluster.admin.get(f"{JOBSETS}/js")["spec"]["network"] == before
    claims = [{"templates": [{"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}]
    assert NAMED_SERVICES in ada.changes("jobset/js", {"spec": {"suspend": True, "volumeClaimPolicies": claims}})


def test_no_object_grows_until_nobody_can_change_it(cluster: TeamCluster, ada: Person) -> None:
    """Labels and fields of many clients have no limit of their own; etcd has one."""
    ada.made(a_set(), dry=False)
    ada.made(many("Deployment", gpus=1), dry=False)
    admitted(cluster, 2)
    labels = {f"{index:05}.{'x' * 200}/{'y' * 50}": "z" * 60 for index in range(1000)}
    served = next(item["metadata"]["name"] for item in cluster.free_pods() if "served" in item["metadata"]["name"])
    for path in (f"{JOBSETS}/js", f"{CORE}/pods/{served}", f"/apis/apps/v1/namespaces/{TEAM}/deployments/served"):
        with pytest.raises(ApiError, match=LARGE):
            ada.api().patch(path, {"metadata": {"labels": labels}})
    # What each client has applied is in the object once more.
    notes = {f"{index:03}.{'x' * 150}/a": "b" for index in range(200)}
    note = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "js-w-0", "annotations": notes}}
    words = ("apply", "--server-side", IN_TEAM, "--filename=-")
    answers = [ada.kubectl(*words, f"--field-manager=client-{index}", stdin=note) for index in range(8)]
    assert "serverside-applied" in answers[0]
    assert LARGE in answers[-1]


def test_a_part_whose_name_is_taken_ends_no_eviction(
    cluster: TeamCluster, ada: Person, metrics: ServiceMetrics
) -> None:
    """The second role begins when the first is ready, and JobSet then fails to make its Job at each pass."""
    ada.made({**job("js-b-0", gpus=100)}, dry=False)
    made = a_set({"a": 1, "b": 1}, gpus=1)
    made["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "a", "status": "Ready"}]
    ada.made(made, dry=False)
    admitted(cluster, 1)
    ready(cluster)
    count = lambda: cluster.admin.get(f"{JOBS}/js-a-0")["status"].get("ready")  # noqa: E731
    eventually(lambda: count() == 1, what="its first role is ready")
    evict(cluster)
    eventually(lambda: running(cluster) == [], what="its pods are told to end")
    assert f'{JOBS_ENDED.name}{{team="{TEAM}"}} 1' in metrics.text()
    next_runs(cluster, ada)


def test_a_service_that_cannot_be_made_ends_no_eviction(
    cluster: TeamCluster, ada: Person, metrics: ServiceMetrics, quota: None
) -> None:
    """A Service of people's own has the name, so that JobSet makes none; then they delete it."""
    ada.made(service("js"), dry=False)
    ada.made(a_set(gpus=GPUS), dry=False)
    admitted(cluster)
    cluster.admin.patch(f"{CORE}/resourcequotas/longhaul", {"spec": {"hard": {"services": "0"}}})
    assert "deleted" in ada.kubectl("delete", IN_TEAM, "service/js")
    evict(cluster)
    eventually(lambda: (condition(cluster) or {}).get("status") == "True", what="it is told")
    eventually(lambda: running(cluster) == [], what="its pods are told to end")
    next_runs(cluster, ada)


def next_runs(cluster: TeamCluster, ada: Person) -> None:
    """Return when the queue has given the capacity of the evicted JobSet to another job."""
    eventually(lambda: not is_closed(cluster), what="the namespace is open again")
    ada.made(job("next", pods=GPUS, gpus=1), dry=False)
    of_next = lambda: [p for p in cluster.free_pods() if p["metadata"]["name"].startswith("next")]  # noqa: E731
    eventually(lambda: len(of_next()) == GPUS, what="another job has its quota")
    assert running(cluster) == []


def test_the_accountant_ends_jobs_and_changes_nothing_else_of_them(cluster: TeamCluster, ada: Person) -> None:
    ada.made(a_set(gpus=GPUS), dry=False)
    admitted(cluster)
    acting = cluster.acting(ACCOUNTANT_USER)
    counted = lambda: cluster.admin.get(f"{JOBSETS}/js")["status"]["replicatedJobsStatus"]  # noqa: E731
    eventually(lambda: counted()[0]["active"] == 1, what="its Job is counted")
    zero = [{**each, "active": 0} for each in counted()]
    job_changes: tuple[dict[str, Any], ...] = (
        {"spec": {"suspend": True, "parallelism": 0}},
        {"spec": {"suspend": True}, "metadata": {"labels": {"a": "b"}}},
        {"spec": {"suspend": True}, "metadata": {"finalizers": ["example.com/a"]}},
        {"spec": {"suspend": True}, "metadata": {"ownerReferences": None}},
    )
    for change in job_changes:
        with pytest.raises(ApiError, match="forbidden"):
            acting.patch(f"{JOBS}/js-w-0", change)
    for change in (
        {"replicatedJobsStatus": zero},
        {"replicatedJobsStatus": []},
        {"terminalState": "Completed"},
    ):
        with pytest.raises(ApiError, match="the accountant suspends Jobs"):
            acting.patch(f"{JOBSETS}/js/status", {"status": change})
    for path, change in ((f"{JOBSETS}/js", {"spec": {"suspend": True}}), (f"{CORE}/pods/a", {"spec": {}})):
        with pytest.raises(ApiError, match="cannot patch resource"):
            acting.patch(path, change)
    acting.patch(f"{JOBS}/js-w-0", {"spec": {"suspend": True}})
    with pytest.raises(ApiError, match="forbidden"):
        acting.patch(f"{JOBS}/js-w-0", {"spec": {"suspend": False}})
    assert OWNED in ada.changes("job/js-w-0", {"metadata": {"ownerReferences": None}})
