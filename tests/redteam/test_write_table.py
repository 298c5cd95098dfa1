"""The writes that are accepted in a team's namespace, by whom and in which field: those that golden/writes.txt and
golden/creations.txt list, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from components.model.secrets.certificates import AUTOSCALER_USER, NODE_CONTROLLER
from components.model.teams.queues import JOBSET, KUEUE
from components.objects.queue_changes import CONTENT, PARTS, QUOTAS
from contract.kubernetes.connection import ApiError
from tests.conftest import Golden
from tests.redteam.team_cluster import GROUP, TEAM, TeamCluster
from tests.redteam.test_queues import job, many
from tests.redteam.write_table import Kind, NewObject, Schemas, creations, table
from tests.support.api_server import eventually
from tests.support.queues import jobset
from tests.support.teams import pod

pytestmark = pytest.mark.engine

WHO = {
    "person": ("ada", GROUP.format(TEAM)),
    "account of the team": (f"system:serviceaccount:{TEAM}:default", "system:serviceaccounts"),
    "node": ("system:node:n1", "system:nodes"),
    "autoscaler": (AUTOSCALER_USER,),
    "node controller": (NODE_CONTROLLER,),
}
"""Users and their groups, by what they are."""
PROGRAMS = {"Kueue": KUEUE.user, "JobSet": JOBSET.user}
HANDLED = ("a job's pod", "a job that runs", "a job that waits", "a jobset's job", "a jobset that runs", "a workload")
"""Objects that the programs handle."""
OWNERLESS = {"metadata": {"ownerReferences": None}}
CHANGES = [
    OWNERLESS,
    {"metadata": {"finalizers": None}},
    {"metadata": {"finalizers": ["example.com/attack"]}},
    {"metadata": {"labels": None}},
    {"metadata": {"annotations": None}},
    *(
        {"metadata": {part: {key: "attack"}}}
        for part in ("labels", "annotations")
        for key in (
            "kueue.x-k8s.io/queue-name",
            "kueue.x-k8s.io/pod-suspending-parent",
            "kueue.x-k8s.io/multikueue-origin",
            "batch.kubernetes.io/controller-uid",
            "jobset.sigs.k8s.io/jobset-name",
            "jobset.sigs.k8s.io/replicatedjob-name",
            "jobset.sigs.k8s.io/restart-attempt",
        )
    ),
    {"spec": {"parallelism": 1000, "completions": 1000}},
    {"spec": {"suspend": False}},
    {"spec": {"schedulingGates": []}},
]
"""Changes that are tried on every kind, besides one of each field."""


RBAC = "rbac.authorization.k8s.io"


def rule(group: str, resource: str, verb: str) -> dict[str, Any]:
    """Return a change of a role."""
    return {"rules": [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}]}


def subject(kind: str, name: str, **more: str) -> dict[str, Any]:
    """Return a change of a binding."""
    return {"subjects": [{"kind": kind, "name": name, **(more or {"apiGroup": RBAC})}]}


RULES = (
    rule("", "pods", "create"),
    rule("", "*", "get"),
    rule("*", "*", "*"),
    rule("", "pods", "*"),
    rule("", "serviceaccounts/token", "create"),
    rule("", "*/token", "create"),
    rule("", "serviceaccounts", "impersonate"),
    rule("authentication.k8s.io", "serviceaccounts", "impersonate:serviceaccount"),
    rule("", "resourcequotas", "delete"),
    *(rule(RBAC, kind, verb) for kind in ("roles", "clusterroles") for verb in ("bind", "escalate", "create")),
)
"""Changes of a role."""
SUBJECTS = (
    subject("ServiceAccount", "default", namespace=TEAM),
    subject("ServiceAccount", "default", namespace="speech"),
    subject("ServiceAccount", "job-controller", namespace="kube-system"),
    subject("User", "eve"),
    subject("User", f"system:serviceaccount:{TEAM}:default"),
    subject("Group", "corp:speech"),
    subject("Group", f"system:serviceaccounts:{TEAM}"),
    {"subjects": None},
    {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"}},
    {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}},
)
"""Changes of a binding."""
ROLE = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "Role",
    "metadata": {"name": "hub"},
    **rule("", "pods", "get"),
}
BINDING = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "hub"},
    "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "hub"},
    **SUBJECTS[0],
}


def core(label: str, schema: str, name: str, *subresources: str, group: str = "", **more: Any) -> Kind:
    """Return a kind of Kubernetes itself."""
    return Kind(
        version=f"{group}/v1" if group else "v1",
        resource=f"{schema.lower()}s",
        schema=f"io.k8s.api.{group.split('.', maxsplit=1)[0] or 'core'}.v1.{schema}",
        name=name,
        label=label,
        subresources=subresources,
        **more,
    )


def queued(label: str, group: str, version: str, schema: str, name: str) -> Kind:
    """Return a kind of Kueue or JobSet."""
    return Kind(
        version=f"{group}.x-k8s.io/{version}",
        resource=f"{schema.lower()}s",
        schema=f"io.x-k8s.{group}.{version}.{schema}",
        name=name,
        label=label,
        subresources=("status",),
    )


@pytest.fixture(name="kinds")
def _kinds(cluster: TeamCluster) -> Iterator[list[Kind]]:
    """Return what the team has: a job that runs and one that waits, what makes pods, pods of all, and its queue."""
    ada = cluster.person()
    made = [
        job("train"),
        job("waits", gpus=100),
        jobset("js", {"w": 1}, pod("a", gpus=1)["spec"], where=TEAM),
        {**many("Deployment"), "metadata": {"name": "web"}},
        {**many("StatefulSet"), "metadata": {"name": "data"}},
        pod("box"),
        ROLE,
        BINDING,
    ]
    for number, item in enumerate(made):
        if "selector" in item.get("spec", ()):
            labels = {"app": f"served-{number}"}
            item["spec"]["selector"]["matchLabels"] = item["spec"]["template"]["metadata"]["labels"] = labels
        ada.made(item, dry=False)
    eventually(lambda: len(cluster.free_pods()) == 5, what="what fits is admitted")

    def name(resource: str, beginning: str) -> str:
        return next(
            item["metadata"]["name"]
            for item in cluster.server.get(resource, f"--namespace={TEAM}")["items"]
            if item["metadata"]["name"].startswith(beginning)
        )

    pods = ("status", "resize", "ephemeralcontainers")
    yield [
        core("a job's pod", "Pod", name("pods", "train-"), *pods),
        core("a deployment's pod", "Pod", name("pods", "web-"), *pods),
        core("a pod", "Pod", "box", *pods),
        core("a job that runs", "Job", "train", "status", group="batch"),
        core("a job that waits", "Job", "waits", "status", group="batch"),
        core("a jobset's job", "Job", "js-w-0", "status", group="batch"),
        core("a deployment's replicaset", "ReplicaSet", name("replicasets", "web-"), "status", "scale", group="apps"),
        core("a deployment", "Deployment", "web", "status", "scale", group="apps"),
        core("a statefulset", "StatefulSet", "data", "status", "scale", group="apps"),
        core("its revision", "ControllerRevision", name("controllerrevisions", "data-"), group="apps"),
        core("the quota", "ResourceQuota", "longhaul", "status"),
        core("the limits", "LimitRange", "longhaul"),
        core("the account", "ServiceAccount", "default"),
        core("the people's role", "RoleBinding", "longhaul:team", group=RBAC, changes=SUBJECTS),
        core("a program's role", "Role", "hub", group=RBAC, changes=RULES),
        core("a program's binding", "RoleBinding", "hub", group=RBAC, changes=SUBJECTS),
        core("a jobset's service", "Service", "js", "status"),
        queued("a jobset that runs", "jobset", "v1alpha2", "JobSet", "js"),
        queued("the queue", "kueue", "v1beta2", "LocalQueue", "default"),
        queued("a workload", "kueue", "v1beta2", "Workload", name("workloads", "job-train-")),
    ]
    for resource in ("rolebindings", "roles"):
        cluster.admin.delete(f"/apis/{RBAC}/v1/namespaces/{TEAM}/{resource}/hub")


def test_what_may_be_written_is_what_the_table_says(cluster: TeamCluster, kinds: list[Kind], golden: Golden) -> None:
    people = {who: cluster.acting(user, *groups) for who, (user, *groups) in WHO.items()}
    schemas = Schemas(cluster.admin)
    rows = table(people, kinds, schemas, namespace=TEAM, changes=CHANGES)
    programs = {name: cluster.acting(user) for name, user in PROGRAMS.items()}
    handled = [replace(kind, subresources=()) for kind in kinds if kind.label in HANDLED]
    rows += table(programs, handled, schemas, namespace=TEAM, changes=CHANGES)
    print(f"{len(rows)} requests, {sum(row.status == 403 for row in rows)} refused")
    print([row for row in rows if row.status >= 500])
    written = sorted({f"{row.who} | {row.what}" for row in rows if row.status == 200})
    golden("writes.txt", "\n".join([*written, ""]))


JOBSET_ROLE = "spec.replicatedJobs.0"
NEW = [
    NewObject(
        version="v1",
        resource="pods",
        schema="io.k8s.api.core.v1.Pod",
        label="a pod",
        item=pod("new"),
        parts={"metadata": 1, "spec": 2, "spec.containers.0": 2},
    ),
    NewObject(
        version="batch/v1",
        resource="jobs",
        schema="io.k8s.api.batch.v1.Job",
        label="a job",
        item=job("new"),
        parts={
            "metadata": 1,
            "spec": 2,
            "spec.template.metadata": 1,
            "spec.template.spec": 1,
            "spec.template.spec.containers.0": 1,
        },
    ),
    NewObject(
        version="jobset.x-k8s.io/v1alpha2",
        resource="jobsets",
        schema="io.x-k8s.jobset.v1alpha2.JobSet",
        label="a jobset",
        item=jobset("new", {"w": 1}, pod("a")["spec"], where=TEAM),
        parts={
            "metadata": 1,
            "spec": 2,
            JOBSET_ROLE: 1,
            f"{JOBSET_ROLE}.template.spec": 1,
            f"{JOBSET_ROLE}.template.spec.template.metadata": 1,
            f"{JOBSET_ROLE}.template.spec.template.spec": 1,
        },
    ),
    *(
        NewObject(
            version=f"{RBAC}/v1",
            resource=f"{item['kind'].lower()}s",
            schema=f"io.k8s.api.rbac.v1.{item['kind']}",
            label=label,
            item={**item, "metadata": {"name": "new"}},
            parts={"metadata": 1},
            changes=changes,
        )
        for label, item, changes in (("a role", ROLE, RULES), ("a binding", BINDING, SUBJECTS))
    ),
]
"""New objects of people, whose fields are tried."""


def test_what_may_be_made_is_what_the_table_says(cluster: TeamCluster, golden: Golden) -> None:
    who = {name: WHO[name] for name in ("person", "account of the team")}
    people = {name: cluster.acting(user, *groups) for name, (user, *groups) in who.items()}
    rows = list(creations(people, NEW, Schemas(cluster.admin), namespace=TEAM, changes=CHANGES))
    golden("creations.txt", "\n".join([*sorted(rows), ""]))


def test_a_stolen_certificate_of_the_queues_runs_no_other_program(cluster: TeamCluster) -> None:
    """Kueue and JobSet start, place and end what others have made; JobSet makes what belongs to a JobSet."""
    ada, kueue, jobsets = cluster.person(), cluster.acting(KUEUE.user), cluster.acting(JOBSET.user)
    ada.made(jobset("js", {"w": 1}, pod("a", gpus=1)["spec"], where=TEAM), dry=False)
    eventually(lambda: len(cluster.free_pods()) == 1, what="the set runs")
    core, queue = f"/api/v1/namespaces/{TEAM}", f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{TEAM}"
    name = cluster.free_pods()[0]["metadata"]["name"]
    other = {"spec": {"containers": [{"name": "a", "image": "other:1"}]}}
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{TEAM}/jobsets"
    roles = cluster.admin.get(f"{path}/js")["spec"]["replicatedJobs"]
    roles[0]["template"]["spec"]["template"]["spec"]["serviceAccountName"] = "other"
    service = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}
    cluster.admin.post(f"{core}/services", {"apiVersion": "v1", "kind": "Service", **service})

    def grow() -> None:
        """Kueue itself may write the queue's status at the same time: a conflict is no refusal."""
        grown = cluster.admin.get(queue)
        grown["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "100000"
        try:
            kueue.put(queue, grown)
        except ApiError as error:
            if error.status != 409:
                raise
            grow()

    def refused(send: Callable[[], Any], message: str) -> None:
        with pytest.raises(ApiError, match=message):
            send()

    try:
        for api in (kueue, jobsets):
            refused(lambda api=api: api.patch(f"{core}/pods/{name}", other, strategic=True), CONTENT)
            suspended = {"spec": {"suspend": True, "replicatedJobs": roles}}
            refused(lambda api=api, change=suspended: api.patch(f"{path}/js", change), "field is immutable")
        refused(grow, QUOTAS)
        refused(lambda: jobsets.post(f"/apis/batch/v1/namespaces/{TEAM}/jobs", job("other")), PARTS)
        refused(lambda: jobsets.post(path, jobset("other", {"w": 1}, pod("a")["spec"], where=TEAM)), PARTS)
        refused(lambda: jobsets.patch(f"{core}/services/web", {"spec": {"selector": {"app": "other"}}}), PARTS)
        refused(lambda: jobsets.delete(f"{core}/services/web"), PARTS)
        assert cluster.admin.get(queue)["metadata"]["finalizers"], "Kueue writes what is its own"
    finally:
        cluster.admin.delete(f"{core}/services/web")
