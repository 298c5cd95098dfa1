"""Pods that run past a team's queue, by whatever hole in the policies, are seen and held within seconds. Nothing that
the queue admitted ever is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from components.model.teams.queues import KUEUE, webhooks_name
from components.objects.accountant import REFUSAL, WRITERS
from contract.kubernetes.connection import ApiError, Object
from contract.labels import HELD_LABEL
from contract.reasons.accountant import BeyondReason
from contract.users import ACCOUNTANT_USER
from services.accountant.metrics import PODS_BEYOND_QUEUE
from services.metrics import ServiceMetrics
from tests.redteam.running_accountant import condition, is_closed, looks, running_accountant
from tests.redteam.team_cluster import GPUS, PIN, TEAM, TeamCluster
from tests.support.api_server import eventually
from tests.support.queues import deployment, job, jobset
from tests.support.teams import pod

pytestmark = pytest.mark.engine

NAMESPACE = f"/api/v1/namespaces/{TEAM}"
PODS = f"{NAMESPACE}/pods"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
BINDINGS = ("validatingadmissionpolicybindings", "mutatingadmissionpolicybindings")
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads"
REPLICA_SETS = f"/apis/apps/v1/namespaces/{TEAM}/replicasets"
WEBHOOKS = f"{POLICIES}/mutatingwebhookconfigurations/{webhooks_name(KUEUE)}"
NODE = "node-of-nobody"


@pytest.fixture(name="metrics")
def _metrics(cluster: TeamCluster) -> Iterator[ServiceMetrics]:
    with running_accountant(cluster) as metrics:
        yield metrics


@pytest.fixture(name="unguarded")
def _unguarded(cluster: TeamCluster) -> Iterator[TeamCluster]:
    """Switch the teams' policies off for a test; what a test switches off of limits and webhooks comes back too."""
    limits = f"{NAMESPACE}/limitranges"
    limit, webhooks = cluster.admin.get(f"{limits}/longhaul"), cluster.admin.get(WEBHOOKS)["webhooks"]
    switched_off: list[tuple[str, Object]] = []
    for kind in BINDINGS:
        path = f"{POLICIES}/{kind}"
        for binding in cluster.admin.items(path, labelSelector="app.kubernetes.io/name=teams"):
            switched_off.append((path, binding))
            cluster.admin.delete(f"{path}/{binding['metadata']['name']}")
    assert len(switched_off) > 5
    grown = pod("a", terminationGracePeriodSeconds=3600)
    eventually(lambda: isinstance(cluster.person().makes(grown), dict), what="the policies are off")
    yield cluster
    cluster.admin.patch(WEBHOOKS, {"webhooks": webhooks})
    if cluster.admin.find(f"{limits}/longhaul") is None:
        cluster.admin.post(limits, {**limit, "metadata": {"name": "longhaul"}})
    eventually(lambda: has_requests(cluster), what="pods request something again")
    for path, binding in switched_off:
        metadata = {key: binding["metadata"][key] for key in ("name", "labels", "annotations")}
        cluster.admin.post(path, {**binding, "metadata": metadata})
    eventually(lambda: isinstance(cluster.person().makes(grown), str), what="the policies are on")


def grow_a_job_of_a_jobset(cluster: TeamCluster) -> None:
    ada = cluster.person()
    ada.made(jobset("js", {"w": 1}, pod("a", gpus=GPUS)["spec"], where=TEAM), dry=False)
    eventually(lambda: cluster.free_gpus() == GPUS, what="the set is admitted")
    patched(cluster, "jobs.batch/js-w-0", {"spec": {"parallelism": 10, "completions": 10}})


def start_a_stateful_set(cluster: TeamCluster) -> None:
    """Nothing holds its pods back, as after a change of the old revision's template."""
    cluster.person().made(stateful_set("free", copies=3, gpus=8), dry=False)


def grow_a_stateful_set(cluster: TeamCluster) -> None:
    cluster.person().made(stateful_set("grown", copies=1, gpus=1), dry=False)
    eventually(lambda: cluster.free_gpus() == 1, what="its pod is admitted")
    ungate(cluster)
    template = {"metadata": {"labels": {"app": "grown"}}, "spec": pod("a", gpus=8)["spec"]}
    patched(cluster, "statefulsets.apps/grown", {"spec": {"template": template}})
    replace_pods(cluster)


def grow_a_replica_set(cluster: TeamCluster) -> None:
    """Kueue ends pods that it knows and has not admitted, so the pods lose what it knows them by."""
    cluster.person().made(deployment("served", pod("a")["spec"], where=TEAM), dry=False)
    eventually(lambda: len(cluster.free_pods()) == 1, what="its pod is admitted")
    ungate(cluster)
    patched(cluster, "deployments.apps/served", {"spec": {"paused": True}})
    (item,) = cluster.admin.items(REPLICA_SETS)
    unknown = {
        part: {key: None for key in item["spec"]["template"]["metadata"].get(part, ()) if "kueue" in key}
        for part in ("labels", "annotations")
    }
    large = {"name": "a", "resources": {"requests": {"cpu": "16"}}}
    template = {"metadata": unknown, "spec": {"containers": [large]}}
    change = {"metadata": {"ownerReferences": None, **unknown}, "spec": {"template": template}}
    patched(cluster, f"replicasets.apps/{item['metadata']['name']}", change)
    replace_pods(cluster)


def keep_a_deleted_job(cluster: TeamCluster) -> None:
    """Kueue frees the quota of a job that is being deleted, and a finalizer keeps the job and its pods."""
    ada = cluster.person()
    ada.made(job("kept", GPUS, pod("a", gpus=1)["spec"], where=TEAM), dry=False)
    eventually(lambda: cluster.free_gpus() == GPUS, what="the job is admitted")
    patched(cluster, "jobs.batch/kept", {"metadata": {"finalizers": [PIN]}})
    assert "deleted" in ada.kubectl("delete", f"--namespace={TEAM}", "--wait=false", "job/kept")


def request_nothing(cluster: TeamCluster) -> None:
    limits = f"{NAMESPACE}/limitranges/longhaul"
    cluster.admin.delete(limits)
    eventually(lambda: not has_requests(cluster), what="pods may request nothing")
    cluster.person().made({**deployment("idle", pod("a")["spec"], where=TEAM)}, dry=False)
    patched(cluster, "deployments.apps/idle", {"spec": {"replicas": 5}})


ATTACKS: dict[str, tuple[Callable[[TeamCluster], None], set[BeyondReason]]] = {
    "a job of a JobSet grows": (grow_a_job_of_a_jobset, {BeyondReason.MORE_THAN_ADMITTED}),
    "a StatefulSet that was never admitted": (start_a_stateful_set, {BeyondReason.NOT_ADMITTED}),
    # Kueue admits a StatefulSet as a whole or pod by pod.
    "a StatefulSet grows": (grow_a_stateful_set, {BeyondReason.MORE_THAN_ADMITTED, BeyondReason.NOT_ADMITTED}),
    "a ReplicaSet grows": (grow_a_replica_set, {BeyondReason.NOT_ADMITTED}),
    "a deleted job that a finalizer keeps": (keep_a_deleted_job, {BeyondReason.NOT_ADMITTED}),
    "pods request nothing": (request_nothing, {BeyondReason.UNCOUNTED}),
}
UNGATED = ("a StatefulSet that was never admitted",)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_runs_past_the_queue_is_seen_and_held(
    unguarded: TeamCluster, metrics: ServiceMetrics, attack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The policies are off, and for attacks by StatefulSets and ReplicaSets also the webhook that holds pods back."""
    act, reasons = ATTACKS[attack]
    if attack in UNGATED:
        ungate(unguarded)
    act(unguarded)
    began = time.monotonic()
    eventually(lambda: (condition(unguarded) or {}).get("status") == "True", what="the condition tells")
    closed = time.monotonic() - began
    eventually(lambda: REFUSAL in str(unguarded.person().makes(pod("b"))), what="a new pod is refused")
    refused = time.monotonic() - began
    with capsys.disabled():
        print(f"\n{attack}: seen and closed after {closed:.1f} s, a new pod refused after {refused:.1f} s")
        print((condition(unguarded) or {})["message"])
    reason = (condition(unguarded) or {})["reason"]
    assert reason in reasons
    assert f'{PODS_BEYOND_QUEUE.name}{{team="{TEAM}",reason="{reason}"}} 0' not in metrics.text()
    # What is free already gets no node.
    with pytest.raises(ApiError, match="no nodes for its pods"):
        bind(unguarded, unguarded.free_pods()[0]["metadata"]["name"])
    assert {kind for _, kind in beyond_events(unguarded)} == {"LocalQueue"}
    if attack == next(iter(ATTACKS)):
        unguarded.clear()
        eventually(lambda: not is_closed(unguarded), what="the namespace is open again")
        eventually(lambda: (condition(unguarded) or {})["status"] == "False", what="the condition tells so")


def test_what_the_queue_has_admitted_is_never_held(cluster: TeamCluster, metrics: ServiceMetrics) -> None:
    ada, admin, spec = cluster.person(), cluster.admin, pod("a", terminationGracePeriodSeconds=600)["spec"]
    large = pod("a", gpus=1, terminationGracePeriodSeconds=600)["spec"]
    before = beyond_events(cluster)
    admin.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    ada.made(job("train", 2, large, where=TEAM), dry=False)
    ada.made(jobset("roles", {"lead": 1, "work": 2}, spec, where=TEAM), dry=False)
    ada.made(deployment("served", spec, where=TEAM), dry=False)
    ada.made(stateful_set("kept", copies=2, gpus=0), dry=False)
    ada.made({**pod("single", terminationGracePeriodSeconds=600), "metadata": {"name": "single"}}, dry=False)
    eventually(lambda: len(cluster.free_pods()) == 9, what="everything is admitted")
    for item in cluster.free_pods():
        bind(cluster, item["metadata"]["name"])
    names = [item["metadata"]["name"] for item in cluster.free_pods()]
    lasting(metrics)
    # A pod is deleted with its grace and replaced, a job ends, and another one gets the room of an evicted job whose
    # pods are still ending.
    admin.delete(f"{PODS}/{next(name for name in names if name.startswith('served'))}")
    for name in (name for name in names if name.startswith("roles")):
        admin.patch(f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}})
    evicted = next(item["metadata"]["name"] for item in admin.items(WORKLOADS) if "train" in item["metadata"]["name"])
    admin.patch(f"{WORKLOADS}/{evicted}", {"spec": {"active": False}})
    ada.made(job("next", 2, large, where=TEAM), dry=False)
    eventually(lambda: len([p for p in cluster.free_pods() if "next" in p["metadata"]["name"]]) == 2, what="it is next")
    lasting(metrics)
    ada.kubectl("delete", f"--namespace={TEAM}", "--wait=false", "jobs,deployments,pods", "--all")
    lasting(metrics)
    assert condition(cluster) is None
    assert beyond_events(cluster) == before
    admin.delete(f"/api/v1/nodes/{NODE}")


def test_the_accountant_alone_closes_and_opens_teams_namespaces(cluster: TeamCluster) -> None:
    accountant, path = cluster.acting(ACCOUNTANT_USER), f"/api/v1/namespaces/{TEAM}"
    close = {"metadata": {"labels": {HELD_LABEL: "true"}}}
    assert not cluster.person().may("patch", f"namespaces/{TEAM}")
    with pytest.raises(ApiError, match="cannot patch resource"):
        cluster.person().api().patch(path, close)
    names = ("create", "clusterrolebinding", "others", "--clusterrole=cluster-admin", "--user=other")
    cluster.server.kubectl(*names)
    other = cluster.acting("other")
    eventually(lambda: other.get(path), what="somebody else may write namespaces")
    with pytest.raises(ApiError, match=WRITERS):
        other.patch(path, close)
    accountant.patch(path, close)
    with pytest.raises(ApiError, match=WRITERS):
        other.patch(path, {"metadata": {"labels": {HELD_LABEL: None}}})
    accountant.patch(path, {"metadata": {"labels": {HELD_LABEL: None}}})
    for change in (
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"finalizers": ["other.example/pin"]}},
    ):
        with pytest.raises(ApiError, match="of namespaces, the accountant writes"):
            accountant.patch(path, change)
    with pytest.raises(ApiError, match="of namespaces, the accountant writes"):
        accountant.patch("/api/v1/namespaces/kube-system", close)
    with pytest.raises(ApiError, match="cannot delete resource"):
        accountant.delete(path)


def lasting(metrics: ServiceMetrics) -> None:
    """Wait for as many looks as a difference must last."""
    after = looks(metrics) + 3
    eventually(lambda: looks(metrics) >= after, what="several looks")


def beyond_events(cluster: TeamCluster) -> set[tuple[str, str]]:
    """Return the names of the Events about pods beyond the queue, and the kinds of what they are about."""
    events = cluster.admin.items(f"{NAMESPACE}/events", fieldSelector="reason=PodsBeyondQueue")
    return {(event["metadata"]["name"], event["involvedObject"]["kind"]) for event in events}


def bind(cluster: TeamCluster, name: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    cluster.admin.post(f"{PODS}/{name}/binding", body)


def patched(cluster: TeamCluster, name: str, change: Object) -> None:
    assert "patched" in cluster.person().changes(name, change, kind="strategic")


def replace_pods(cluster: TeamCluster) -> None:
    """Have a controller make its pods anew."""
    for item in cluster.free_pods():
        cluster.admin.delete(f"{PODS}/{item['metadata']['name']}", grace_s=0)


def has_requests(cluster: TeamCluster) -> bool:
    """Return whether a new pod that requests nothing gets the requests of the namespace."""
    return "requests" in cluster.person().made(pod("c"))["spec"]["containers"][0]["resources"]


def ungate(cluster: TeamCluster) -> None:
    """Have nothing hold pods back."""
    webhooks = cluster.admin.get(WEBHOOKS)["webhooks"]
    cluster.admin.patch(WEBHOOKS, {"webhooks": [each for each in webhooks if "pod" not in each["name"]]})
    eventually(
        lambda: not cluster.person().made(pod("c"))["spec"].get("schedulingGates"), what="nothing holds pods back"
    )


def stateful_set(name: str, *, copies: int, gpus: int) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod("a", gpus=gpus)["spec"]}
    spec = {"replicas": copies, "podManagementPolicy": "Parallel", "serviceName": name, "template": template}
    spec["selector"] = {"matchLabels": {"app": name}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}
