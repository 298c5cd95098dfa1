"""Nothing of a team runs past its queue, whatever its people write; and what they are used to write works."""

from __future__ import annotations

from typing import Any

import pytest

from components.objects.team_policies import FROZEN, MADE, NAMED, ORPHANED, OWNED, PINNED, PLACED
from components.objects.team_tolerations import CLUSTERS, EVERYTHING
from tests.redteam.team_cluster import CORES, GPUS, TEAM, TeamCluster
from tests.support.api_server import eventually
from tests.support.queues import jobset
from tests.support.teams import Person, copies, pod

pytestmark = pytest.mark.engine

ROOM = "the queue has room"


def job(name: str = "train", *, pods: int = 1, gpus: int = 0, **resources: Any) -> dict[str, Any]:
    """Return an indexed Job."""
    container = {"name": "a", "image": "a:1"}
    if gpus or resources:
        container |= {"resources": resources or {"limits": {"nvidia.com/gpu": gpus}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def many(kind: str, *, gpus: int = 0, replicas: int = 1, **spec: Any) -> dict[str, Any]:
    """Return a Deployment or the like."""
    made = copies(kind)
    made["spec"] |= {"replicas": replicas, **spec}
    made["spec"]["template"]["spec"] = pod("served", gpus=gpus)["spec"]
    return made


def admitted(cluster: TeamCluster, gpus: int = GPUS) -> None:
    eventually(lambda: cluster.free_gpus() == gpus, what=f"{gpus} GPUs are given")


@pytest.fixture(name="ada")
def _ada(cluster: TeamCluster) -> Person:
    return cluster.person()


def test_a_child_of_an_admitted_jobset_stays_as_it_is(cluster: TeamCluster, ada: Person) -> None:
    ada.made(jobset("js", {"w": 1}, pod("a", gpus=GPUS)["spec"], where=TEAM), dry=False)
    admitted(cluster)
    grown = {"spec": {"parallelism": 10, "completions": 10}}
    for kind in ("merge", "strategic"):
        assert MADE in ada.changes("job/js-w-0", grown, kind=kind)
    assert MADE in ada.changes("job/js-w-0", [{"op": "add", "path": "/spec/parallelism", "value": 10}], kind="json")
    assert MADE in ada.changes("job/js-w-0", {"spec": {"suspend": True}})
    assert OWNED in ada.changes("job/js-w-0", {"metadata": {"ownerReferences": None}})
    child = cluster.server.get("job", "js-w-0", f"--namespace={TEAM}")
    child["spec"]["parallelism"] = 10
    child["metadata"].pop("managedFields", None)
    words = ("--filename=-", f"--namespace={TEAM}")
    assert MADE in ada.kubectl("replace", *words, stdin=child)
    child["metadata"].pop("resourceVersion")
    assert MADE in ada.kubectl("apply", "--server-side", "--force-conflicts", *words, stdin=child)
    assert cluster.free_gpus() == GPUS


def test_a_job_that_runs_grows_only_through_the_queue(cluster: TeamCluster, ada: Person) -> None:
    ada.made(job(pods=2, gpus=1), dry=False)
    admitted(cluster)
    grown = {"parallelism": 10, "completions": 10}
    assert FROZEN in ada.changes("job/train", {"spec": grown})
    assert "patched" in ada.changes("job/train", {"spec": {"suspend": True, **grown}})
    eventually(lambda: cluster.waiting() == ["job-train"], what="it queues with its new size")
    assert cluster.free_gpus() == 0
    assert "patched" in ada.changes("job/train", {"spec": {"parallelism": 1, "completions": 1}})
    admitted(cluster, 1)
    assert "patched" in ada.changes("job/train", {"spec": {"activeDeadlineSeconds": 600}})


def test_a_jobset_that_runs_stays_as_it_is(cluster: TeamCluster, ada: Person) -> None:
    ada.made(jobset("js", {"w": 2}, pod("a", gpus=1)["spec"], where=TEAM), dry=False)
    admitted(cluster)
    roles = cluster.server.get("jobset", "js", f"--namespace={TEAM}")["spec"]["replicatedJobs"]
    roles[0]["template"]["spec"] |= {"parallelism": 3, "completions": 3}
    assert FROZEN in ada.changes("jobset/js", {"spec": {"replicatedJobs": roles}})
    assert FROZEN in ada.changes(
        "jobset/js", [{"op": "replace", "path": "/spec/replicatedJobs/0/replicas", "value": 5}], kind="json"
    )
    assert "patched" in ada.changes("jobset/js", {"spec": {"ttlSecondsAfterFinished": 60}})
    assert "labeled" in ada.kubectl("label", f"--namespace={TEAM}", "jobset/js", "own=label")
    assert "patched" in ada.changes("jobset/js", {"spec": {"suspend": True}})
    admitted(cluster)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_pods_of_other_kinds_are_admitted_one_by_one(cluster: TeamCluster, ada: Person, kind: str) -> None:
    # No pod is ever ready here.
    more = {"Deployment": {"strategy": {"type": "Recreate"}}, "StatefulSet": {"podManagementPolicy": "Parallel"}}
    ada.made(many(kind, gpus=1, replicas=3, **more.get(kind, {})), dry=False)
    eventually(lambda: (cluster.free_gpus(), len(cluster.waiting())) == (GPUS, 1), what="two run, and one waits")
    what = f"{kind.lower()}/served"
    template = {"metadata": {"annotations": {"own": "note"}}}
    assert "patched" in ada.changes(what, {"spec": {"replicas": 1, "template": template}})
    eventually(lambda: (cluster.free_gpus(), cluster.waiting()) == (1, []), what="it shrinks, and rolls")


def test_a_rollout_lets_no_pod_past_the_queue(cluster: TeamCluster, ada: Person) -> None:
    """Kueue's own handling of StatefulSets lets pods of the former revision go during a rollout."""
    more = {"podManagementPolicy": "Parallel", "updateStrategy": {"rollingUpdate": {"partition": 4}}}
    ada.made(many("StatefulSet", gpus=8, replicas=3, **more), dry=False)
    eventually(lambda: len(cluster.waiting()) == 3, what="its pods queue")
    assert "patched" in ada.changes(
        "statefulset/served", {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
    )
    assert "scaled" in ada.kubectl("scale", f"--namespace={TEAM}", "statefulset/served", "--replicas=4")
    eventually(lambda: len(cluster.waiting()) == 4, what="pods of the new revision queue")
    assert cluster.free_pods() == []


def test_a_template_says_nothing_to_kueue(cluster: TeamCluster, ada: Person) -> None:
    """An annotation of Kueue's own would make it take a pod for one that something else holds back."""
    ada.made(many("StatefulSet", gpus=1), dry=False)
    admitted(cluster, 1)
    annotations = {"kueue.x-k8s.io/pod-suspending-parent": "other"}
    container = pod("a", gpus=8)["spec"]["containers"][0]
    change = {"template": {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}}
    assert "patched" in ada.changes("statefulset/served", {"spec": change}, kind="strategic")
    assert "deleted" in ada.kubectl("delete", f"--namespace={TEAM}", "pod/served-0", "--grace-period=0", "--force")
    events = ("get", "events", f"--namespace={TEAM}", "--output=jsonpath={.items[*].message}")
    eventually(lambda: NAMED in cluster.server.kubectl(*events), what="no pod is made of it")
    assert cluster.free_gpus() <= 1
    for made in (job(), jobset("js", {"w": 1}, pod("a")["spec"], where=TEAM)):
        spec = made["spec"] if made["kind"] == "Job" else made["spec"]["replicatedJobs"][0]["template"]["spec"]
        spec["template"]["metadata"] = {"annotations": annotations}
        assert NAMED in ada.makes(made)


def test_what_a_deployment_owns_stays_its_own(cluster: TeamCluster, ada: Person) -> None:
    ada.made(many("Deployment"), dry=False)
    eventually(lambda: len(cluster.free_pods()) == 1, what=ROOM)
    name = ada.kubectl("get", "replicasets", f"--namespace={TEAM}", "--output=name").strip()
    assert OWNED in ada.changes(name, {"metadata": {"ownerReferences": None, "labels": None}})
    one = ada.kubectl("get", "pods", f"--namespace={TEAM}", "--output=name").strip()
    assert OWNED in ada.changes(one, {"metadata": {"ownerReferences": None}})
    # Quarantine removes what keeps a pod, as an administrator.
    cluster.admin.patch(f"/api/v1/namespaces/{TEAM}/{one.replace('pod/', 'pods/')}", {"metadata": {"finalizers": None}})


def test_no_deletion_leaves_pods_without_their_job(cluster: TeamCluster, ada: Person) -> None:
    """A Job's pods stay where its deletion names no policy, which kubectl always does."""
    ada.made(job(gpus=1), dry=False)
    ada.made(jobset("js", {"w": 1}, pod("a", gpus=1)["spec"], where=TEAM), dry=False)
    admitted(cluster)
    jobs = f"/apis/batch/v1/namespaces/{TEAM}/jobs"
    for path in (f"{jobs}/train", f"{jobs}/js-w-0", jobs):
        assert ORPHANED in ada.kubectl("delete", f"--raw={path}"), path
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "orphanDependents": True}
    assert ORPHANED in ada.kubectl("delete", f"--raw={jobs}/train", "--filename=-", stdin=options)
    for what in ("job/train", "job/js-w-0", "jobset/js"):
        assert PINNED in ada.changes(what, {"metadata": {"finalizers": ["example.com/pin"]}}), what
    pinned = job("pinned")
    pinned["metadata"]["finalizers"] = ["example.com/pin"]
    assert PINNED in ada.makes(pinned)
    for words in (("job/train",), ("jobset/js", "--cascade=foreground", "--wait=false")):
        assert "deleted" in ada.kubectl("delete", f"--namespace={TEAM}", *words)
    eventually(lambda: cluster.free_pods() == [], what="their pods end with them")


def test_a_part_of_a_jobset_stays_the_part_that_it_is(cluster: TeamCluster, ada: Person) -> None:
    """JobSet counts the parts that succeeded by their labels, and Kueue gives back what these had; a label that it does
    not understand stops it."""
    ada.made(jobset("js", {"a": 1, "w": 1}, pod("a", gpus=1)["spec"], where=TEAM), dry=False)
    admitted(cluster)
    for label in ("jobset.sigs.k8s.io/replicatedjob-name=w", "jobset.sigs.k8s.io/restart-attempt=x", "own=label"):
        assert MADE in ada.kubectl("label", f"--namespace={TEAM}", "--overwrite", "job/js-a-0", label), label
    note = "jobset.sigs.k8s.io/restart-attempt=x"
    annotated = ada.kubectl("annotate", f"--namespace={TEAM}", "--overwrite", "job/js-a-0", note)
    assert MADE in annotated


def test_a_pod_of_a_job_stays_with_it(cluster: TeamCluster, ada: Person) -> None:
    """The Job's controller would make another pod for one that it has lost."""
    ada.made(job(pods=2, gpus=1), dry=False)
    admitted(cluster)
    name = ada.kubectl("get", "pods", f"--namespace={TEAM}", "--output=name").split()[0]
    for change in (
        {"labels": {"batch.kubernetes.io/controller-uid": "other", "controller-uid": "other"}},
        {"labels": {"batch.kubernetes.io/job-name": None}},
        {"finalizers": None},
        {"annotations": {"batch.kubernetes.io/job-completion-index": "7"}},
    ):
        assert MADE in ada.changes(name, {"metadata": change}), change
    assert OWNED in ada.changes(name, {"metadata": {"ownerReferences": None}})
    assert "annotated" in ada.kubectl("annotate", f"--namespace={TEAM}", name, "own=note")
    # To delete a pod that hangs is what people do.
    assert "deleted" in ada.kubectl("delete", f"--namespace={TEAM}", name, "--wait=false")


def test_a_pod_keeps_the_size_that_was_admitted(ada: Person) -> None:
    for verb in ("get", "patch", "update"):
        assert not ada.may(verb, "pods:resize", namespace=TEAM)


@pytest.mark.parametrize("none", ["cpu", "memory"])
def test_no_container_requests_nothing(cluster: TeamCluster, ada: Person, none: str) -> None:
    requests = {"cpu": "1", "memory": "1Gi", none: "0"}
    free = pod("free")
    free["spec"]["containers"][0]["resources"] = {"requests": requests}
    assert f"minimum {none} usage per Container" in ada.makes(free)
    ada.made(job(requests=requests), dry=False)
    eventually(lambda: cluster.waiting() == ["job-train"], what="it is not admitted")
    small = pod("sidecar")
    small["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "10m", "memory": "32Mi"}}
    assert ada.made(small)["kind"] == "Pod"


def test_limits_count_where_nothing_is_requested(cluster: TeamCluster, ada: Person) -> None:
    """Kueue would count the namespace's default, and the pod would get the limit."""
    small, large = ({"limits": {"cpu": cores, "memory": "1Gi"}} for cores in ("2", str(2 * CORES)))
    ada.made(job("small", **small), dry=False)
    eventually(lambda: len(cluster.free_pods()) == 1, what="a limit below the default is admitted")
    ada.made(job("large", **large), dry=False)
    roles = jobset("roles", {"a": 1, "b": 1}, {**job(**large)["spec"]["template"]["spec"]}, where=TEAM)
    ada.made(roles, dry=False)
    whole = job("whole", **large)
    whole["spec"]["template"]["spec"]["resources"] = {}
    ada.made(whole, dry=False)
    waiting = ["job-large", "job-whole", "jobset-roles"]
    eventually(lambda: cluster.waiting() == waiting, what="they wait for the cores")
    (container,) = cluster.free_pods()[0]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}


def test_no_pod_picks_its_node(ada: Person) -> None:
    assert "schedulingGates" in ada.makes(pod("picked", nodeName="n1"))
    picked = job()
    picked["spec"]["template"]["spec"]["nodeName"] = "n1"
    assert PLACED in ada.makes(picked)
    assert PLACED in ada.makes(jobset("js", {"w": 1}, pod("a", nodeName="n1")["spec"], where=TEAM))


def test_no_pod_tolerates_every_taint(ada: Person) -> None:
    def tolerating(*tolerations: dict[str, Any]) -> list[dict[str, Any]]:
        spec = pod("a", tolerations=[*tolerations])["spec"]
        plain, copied = job(), many("Deployment")
        plain["spec"]["template"]["spec"] |= {"tolerations": spec["tolerations"]}
        copied["spec"]["template"]["spec"] = spec
        timed = {"schedule": "0 0 * * *", "jobTemplate": {"spec": plain["spec"]}}
        scheduled = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "timed"}, "spec": timed}
        return [{**pod("a"), "spec": spec}, plain, copied, scheduled, jobset("js", {"w": 1}, spec, where=TEAM)]

    right = {"key": "nvidia.com/gpu", "operator": "Exists"}
    for wrong in ({"operator": "Exists"}, *({"key": key, "operator": "Exists"} for key in CLUSTERS)):
        for made in tolerating(right, wrong):
            assert EVERYTHING in ada.makes(made), (made["kind"], wrong)
    for made in tolerating(right, {"key": "node.kubernetes.io/unreachable", "operator": "Exists"}):
        assert ada.made(made)["kind"] == made["kind"]
    ada.made(pod("late"), dry=False)
    assert EVERYTHING in ada.changes(
        "pod/late", [{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}], kind="json"
    )


def test_a_job_without_a_template_is_refused_in_kubernetes_words(ada: Person) -> None:
    for template in ({}, {"template": {}}, {"template": {"spec": {"restartPolicy": "Never"}}}):
        made = job()
        made["spec"] = {"parallelism": 1, **template}
        assert "spec.template.spec.containers: Required value" in ada.makes(made), template


def test_a_jobset_as_people_write_it_is_admitted(cluster: TeamCluster, ada: Person) -> None:
    spec = pod("a", gpus=1)["spec"]
    (container,) = spec["containers"]
    container |= {"env": [{"name": "A", "value": "b"}], "envFrom": [{"configMapRef": {"name": "c", "optional": True}}]}
    spec["affinity"] = {
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {}}},
                }
            ]
        }
    }
    ada.made(jobset("first", {"w": 2}, spec, where=TEAM), dry=False)
    admitted(cluster)
    waits = jobset("waits", {"w": 2}, spec, where=TEAM)
    words = ("apply", "--server-side", f"--namespace={TEAM}", "--filename=-")
    for _ in range(2):
        assert "serverside-applied" in ada.kubectl(*words, stdin=waits)


def test_a_job_of_another_owner_waits_as_any(cluster: TeamCluster, ada: Person) -> None:
    """Such as a workflow's, which ends with it."""
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "none", "controller": True}
    made = job(gpus=100)
    made["metadata"]["ownerReferences"] = [owner]
    assert ada.made(made)["spec"]["suspend"]


def test_pods_of_an_operator_are_admitted_one_by_one(cluster: TeamCluster, ada: Person) -> None:
    """Kueue reads an owner of a kind that it knows, though its framework is off."""
    names = {"kind": "RayCluster", "plural": "rayclusters", "singular": "raycluster"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "ray.io", "names": names, "scope": "Namespaced", "versions": [version]}
    metadata = {"name": "rayclusters.ray.io"}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    cluster.server.define({**kind, "metadata": metadata, "spec": spec})
    try:
        path = f"/apis/ray.io/v1/namespaces/{TEAM}/rayclusters"
        head = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray"}}
        uid = cluster.admin.post(path, head)["metadata"]["uid"]
        owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "ray", "uid": uid, "controller": True}
        for made in (job(gpus=1), pod("worker", gpus=1)):
            made["metadata"]["ownerReferences"] = [owner]
            ada.made(made, dry=False)
        admitted(cluster)
    finally:
        cluster.server.kubectl("delete", "customresourcedefinition", metadata["name"])


def test_whoever_applies_the_same_again_changes_nothing(cluster: TeamCluster, ada: Person) -> None:
    kinds = [job(), many("Deployment"), many("StatefulSet")]
    for words in (("apply",), ("apply", "--server-side", "--force-conflicts")):
        for made in kinds:
            for _ in range(2):
                said = ada.kubectl(*words, f"--namespace={TEAM}", "--filename=-", stdin=made)
                assert "forbidden" not in said.lower(), said
                assert "rror" not in said, said
    eventually(lambda: len(cluster.free_pods()) == 3, what="all run")


def sizes(item: dict[str, Any]) -> dict[str, str]:
    """Return the cores and the memory that the container of a template requests."""
    requests = item["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    return {name: requests[name] for name in ("cpu", "memory")}


@pytest.mark.parametrize("how", [("apply",), ("apply", "--server-side"), ("patch",)], ids=" ".join)
def test_the_request_of_a_job_that_waits_follows_its_limit(
    cluster: TeamCluster, ada: Person, how: tuple[str, ...]
) -> None:
    """A request that stays as it was written would be counted, while the pod may use its new limit."""

    def change(limits: dict[str, str], **requests: str) -> dict[str, str]:
        resources = {"limits": {"nvidia.com/gpu": "100", **limits}, **({"requests": requests} if requests else {})}
        made = job(**resources)
        if how == ("patch",):
            # As Helm changes kinds of Kubernetes: three ways, and only what its chart says.
            said = ada.changes("job/train", {"spec": {"template": made["spec"]["template"]}}, kind="strategic")
        else:
            said = ada.kubectl(*how, f"--namespace={TEAM}", "--filename=-", stdin=made)
        assert "/train " in said, said
        return sizes(cluster.server.get("job", "train", f"--namespace={TEAM}"))

    ada.made(job(limits={"nvidia.com/gpu": "100"}), dry=False)
    assert change({"cpu": "2"}) == {"cpu": "2", "memory": "2Gi"}
    assert change({"cpu": "8", "memory": "1Gi"}) == {"cpu": "8", "memory": "1Gi"}
    workloads = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{TEAM}/workloads"

    def counted() -> list[str]:
        podsets = [item["spec"]["podSets"][0] for item in cluster.admin.items(workloads)]
        return [each["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] for each in podsets]

    eventually(lambda: counted() == ["8"], what="the queue counts the limit")
    assert change({"cpu": "500m"})["cpu"] == "500m"
    # Who writes a request of their own keeps it.
    assert change({"cpu": "8"}, cpu="3")["cpu"] == "3"
    assert change({"cpu": "9"}, cpu="3")["cpu"] == "3"


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_what_other_kinds_make_requests_the_new_limit(cluster: TeamCluster, ada: Person, kind: str) -> None:
    made = many("Deployment", strategy={"type": "Recreate"})
    template = made["spec"]["template"]["spec"]
    if kind == "CronJob":
        spec = job()["spec"]
        template = spec["template"]["spec"]
        made = {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "served"}}
        made["spec"] = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": spec}}
    for cores in ("1", "2"):
        template["containers"][0]["resources"] = {"limits": {"cpu": cores, "memory": "1Gi"}}
        said = ada.kubectl("apply", f"--namespace={TEAM}", "--filename=-", stdin=made)
        assert "served" in said, said
        if kind == "CronJob":
            assert "created" in ada.kubectl("create", "job", f"r{cores}", "--from=cronjob/served", f"-n={TEAM}")
    expected = ["2"] if kind == "Deployment" else ["1", "2"]
    eventually(
        lambda: (
            sorted(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in cluster.free_pods())
            == expected
        ),
        what="the pods request their limits",
    )


def test_a_jobset_that_waits_may_be_applied_again(cluster: TeamCluster, ada: Person) -> None:
    """A merge patch replaces its list of roles, and JobSet writes its defaults into new ones alone."""
    spec = pod("a")["spec"]
    spec["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "100"}}
    waits = jobset("waits", {"a": 1, "w": 2}, spec, where=TEAM)
    waits["spec"]["failurePolicy"] = {"maxRestarts": 1, "rules": [{"action": "FailJobSet"}]}
    roles = [role["template"]["spec"] for role in waits["spec"]["replicatedJobs"]]
    for role in roles:
        del role["template"]["spec"]["restartPolicy"]
    words = (f"--namespace={TEAM}", "--filename=-")
    for _ in range(2):
        said = ada.kubectl("apply", *words, stdin=waits)
        assert "jobset.jobset.x-k8s.io/waits" in said, said
    before = cluster.server.get("jobset", "waits", f"--namespace={TEAM}")["spec"]
    roles[0]["template"]["metadata"] = {"labels": {"own": "label"}}
    # The second is how Helm changes other kinds than Kubernetes' own: two ways.
    assert "configured" in ada.kubectl("apply", *words, stdin=waits)
    assert "patched" in ada.changes("jobset/waits", {"spec": {"replicatedJobs": waits["spec"]["replicatedJobs"]}})
    after = cluster.server.get("jobset", "waits", f"--namespace={TEAM}")["spec"]
    assert after["replicatedJobs"][0]["template"]["spec"]["template"].pop("metadata")["labels"] == {"own": "label"}
    before["replicatedJobs"][0]["template"]["spec"]["template"].pop("metadata", None)
    assert after == before
    # JobSet takes no other size, whoever asks; it is made again.
    roles[1]["parallelism"] = 1
    assert "field is immutable" in ada.kubectl("apply", *words, stdin=waits)
    assert "replaced" in ada.kubectl("replace", "--force", *words, stdin=waits)
