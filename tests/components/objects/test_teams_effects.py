"""Teams in a real API server: what their people may do, and what happens to their jobs before anybody queues them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.model.teams.queues import JOBSET, KUEUE
from components.objects.queue_changes import PARTS
from components.objects.team_conditions import KUEUES
from components.objects.team_endings import LATE
from components.objects.team_policies import (
    ANOTHER,
    GATE,
    LIFTED,
    NAMED,
    ORPHANED,
    OWNED,
    PAST_THE_QUEUE,
    PINNED,
    STARTED,
)
from contract.grace_periods import TEAM_GRACE_S
from longhaul.client.capacity.reader import CapacityReader
from longhaul.client.capacity.text import to_plain, to_text
from longhaul.client.cli import main
from longhaul.client.tokens import Tokens, TokenStore
from tests.components.objects.conftest import ALONE
from tests.components.objects.stack import Stack
from tests.longhaul.client.test_profile import PROFILE
from tests.model.make import issuer
from tests.support.api_server import ApiServer, eventually
from tests.support.queue_managers import QueueManagers
from tests.support.teams import JOB, ROLES, Person, api_of, controller, copies, of_a_job, owned_by_a_job, pod

pytestmark = pytest.mark.engine

GROUP = "corp:{}"
CORES = 20
"""Cores that each team is guaranteed: together they are all that the lab's one pool may have."""
TEAMS = {
    name: {"groups": [GROUP.format(name)], "priority": priority, "shares": {"cpu": {"cores": CORES, "borrow": 15}}}
    for name, priority in (("visual", 10), ("speech", 0))
}
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"


@pytest.fixture(scope="module", name="server")
def _server(
    tmp_path_factory: pytest.TempPathFactory, binaries: dict[str, Path], cluster: ApiServer, managers: QueueManagers
) -> ApiServer:
    """Return the API server with the objects of an environment that has teams, and Kueue and JobSet, which begin once
    these are there."""
    stack = Stack(tmp_path_factory.mktemp("teams"), pulumi=binaries["pulumi"], kubeconfig=cluster.kubeconfig)
    file = stack.project / "stacks" / "Pulumi.lab.yaml"
    # Of hosts nobody knows the cores; jobs ask for nodes where the autoscaler acts.
    text = file.read_text().replace("bare_metal: hosts.lab.yaml", "max_nodes: 10")
    file.write_text(text.replace("autoscaler: {dry_run: true}", "autoscaler: {}"))
    stack.declare(f"    identity: {json.dumps({'issuers': {'corp': issuer()}})}\n    teams: {json.dumps(TEAMS)}\n")
    stack.build_infrastructure(kubernetes_ca=cluster.own_authority.certificate)
    stack.change(ALONE)
    stack.fill()
    managers.start_all()
    # A policy holds some time after it was made.
    eventually(lambda: _admits_no_other_queue(cluster), what="the teams' policies are in force")
    eventually(lambda: all(_counted(cluster, team) for team in TEAMS), what="the teams' objects are counted")
    return cluster


def _counted(cluster: ApiServer, team: str) -> bool:
    """Return whether every quota of a team says what is used. Kubernetes looks every half minute for new kinds, and
    refuses until then what it has yet to count."""
    quotas = cluster.get("resourcequotas", f"--namespace={team}")["items"]
    return all(one["spec"]["hard"].keys() <= one.get("status", {}).get("used", {}).keys() for one in quotas)


def _admits_no_other_queue(cluster: ApiServer) -> bool:
    other = {**JOB, "metadata": {"name": "other", "labels": {QUEUE: "other"}}}
    words = ("create", "--dry-run=server", "--namespace=visual", "--filename=-")
    return ANOTHER in cluster.kubectl(*words, stdin=json.dumps(other), check=False)


@pytest.fixture(scope="module", name="person")
def _person(server: ApiServer) -> Callable[[str], Person]:
    def of(team: str) -> Person:
        return Person(server=server, team=team, kubeconfig=server.user("ada", organizations=(GROUP.format(team),)))

    return of


@pytest.fixture(scope="module", name="ada")
def _ada(person: Callable[[str], Person]) -> Person:
    """Somebody of the team visual."""
    return person("visual")


def test_a_member_runs_jobs_in_the_team_s_namespace_and_nowhere_else(ada: Person) -> None:
    assert ada.made(JOB)["kind"] == "Job"
    assert ada.made(ROLES)["kind"] == "JobSet"
    for namespace in ("speech", "default", "kube-system"):
        assert 'cannot create resource "jobs"' in ada.makes(JOB, namespace=namespace)
    for verb, what in (("get", "pods:log"), ("create", "pods:exec"), ("get", "workloads"), ("get", "localqueues")):
        assert ada.may(verb, what, namespace="visual"), what
        assert not ada.may(verb, what, namespace="speech"), what


def test_a_member_sees_nodes_and_queues_and_changes_neither(ada: Person) -> None:
    for what in ("nodes", "clusterqueues", "resourceflavors", "cohorts"):
        assert ada.may("list", what), what
        assert not ada.may("update", what), what
    for verb, what in (
        ("create", "localqueues"),
        ("update", "resourcequotas"),
        ("update", "limitranges"),
        ("update", "workloads"),
        ("create", "clusterrolebindings"),
    ):
        assert not ada.may(verb, what, namespace="visual"), what
    assert not ada.may("update", "namespaces/visual")
    assert not ada.may("get", "secrets", namespace="kube-system")
    assert not ada.may("get", "configmaps/longhaul-environment", namespace="kube-system")


def test_nobody_else_is_of_the_team(server: ApiServer) -> None:
    stranger = Person(server=server, team="visual", kubeconfig=server.user("eve", organizations=("corp:other",)))
    assert "cannot create" in stranger.makes(JOB)
    assert not stranger.may("list", "clusterqueues")


def test_jobs_wait_in_the_team_s_queue_with_its_priority(ada: Person, person: Callable[[str], Person]) -> None:
    for kind in (JOB, ROLES):
        for one in (ada, person("speech")):
            labels = one.made(kind)["metadata"]["labels"]
            assert (labels[QUEUE], labels[PRIORITY]) == ("default", one.team)
    named = ada.made(JOB, **{QUEUE: "default", "own": "label"})["metadata"]["labels"]
    assert (named["own"], named[PRIORITY]) == ("label", "visual")


@pytest.mark.parametrize("labels", [{QUEUE: "other"}, {PRIORITY: "speech"}])
def test_another_queue_or_priority_is_refused(ada: Person, labels: dict[str, str]) -> None:
    for kind in (JOB, ROLES):
        assert ANOTHER in ada.makes(kind, **labels)


def test_a_job_leaves_its_queue_no_more(ada: Person) -> None:
    made = ada.makes(JOB, dry=False)
    assert made["kind"] == "Job"
    for label in (f"{QUEUE}-", f"{PRIORITY}=speech"):
        assert ANOTHER in ada.kubectl("label", "--overwrite", "--namespace=visual", "job/train", label)
    assert "labeled" in ada.kubectl("label", "--namespace=visual", "job/train", "own=label")
    assert "deleted" in ada.kubectl("delete", "--namespace=visual", "job/train")


def test_what_jobset_itself_makes_needs_no_queue(ada: Person, server: ApiServer) -> None:
    server.kubectl("create", "clusterrolebinding", "jobset", "--clusterrole=cluster-admin", f"--user={JOBSET.user}")
    jobset = Person(server=server, team="visual", kubeconfig=server.user(JOBSET.user))
    roles = ada.made(ROLES, dry=False)["metadata"]
    owner = {key: ROLES[key] for key in ("apiVersion", "kind")} | {key: roles[key] for key in ("name", "uid")}
    owner["controller"] = True
    part = {**JOB, "metadata": {**JOB["metadata"], "ownerReferences": [owner]}}
    assert PRIORITY not in jobset.made(part)["metadata"]["labels"]
    assert PARTS in jobset.makes(JOB)
    ada.kubectl("delete", "jobset", roles["name"], "--namespace=visual")


def test_no_pod_has_gpus_past_the_queue(ada: Person, server: ApiServer) -> None:
    """Kueue holds pods back, but not those that say that a Job of the queue made them."""
    held = ada.made(pod("held", gpus=1))
    assert GATE in [one["name"] for one in held["spec"]["schedulingGates"]]
    first = [{"name": "b", "image": "b:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    owner = ada.made(JOB, dry=False)["metadata"]["uid"]
    gate = [{"name": GATE}]
    for one in (pod("past", gpus=1), pod("before", initContainers=first), pod("held", gpus=1, schedulingGates=gate)):
        assert OWNED in ada.makes(of_a_job(one, owner))
    # Nor without GPUs: it would run on any machine, of no quota.
    assert OWNED in ada.makes(of_a_job(pod("plain"), owner))
    maker = controller(server, "replicaset")
    assert PAST_THE_QUEUE in maker.makes(of_a_job(pod("past", gpus=1), owner))
    assert controller(server, "job").made(of_a_job(pod("part", gpus=1), owner))["kind"] == "Pod"
    ada.kubectl("delete", "job", "train", "--namespace=visual")
    words = ("create", "--dry-run=server", "--namespace=default", "--filename=-")
    assert "created" in server.kubectl(*words, stdin=json.dumps(pod("elsewhere", gpus=1)))


def test_nobody_makes_a_job_a_part_of_another(ada: Person) -> None:
    """Kueue lets parts of an admitted job run, and takes none of its queue for them."""
    owner = ada.made(JOB, dry=False)["metadata"]["uid"]
    other = {**JOB, "metadata": {"name": "other"}}
    for kind in (other, ROLES):
        assert OWNED in ada.makes(of_a_job(kind, owner))
    assert ada.made(other, dry=False)["kind"] == "Job"
    assert OWNED in ada.changes("job/other", {"metadata": {"ownerReferences": [owned_by_a_job(owner)]}})
    for kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        assert OWNED in ada.makes(of_a_job(copies(kind), owner))
    assert ada.made(copies("Deployment"))["kind"] == "Deployment"
    assert ada.made(copies("StatefulSet"))["kind"] == "StatefulSet"
    assert "deleted" in ada.kubectl("delete", "--namespace=visual", "job", "train", "other")


def test_a_job_of_a_cronjob_waits_as_any(ada: Person) -> None:
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {**JOB["spec"], "suspend": False}}}
    assert ada.made({**cron, "spec": spec}, dry=False)["kind"] == "CronJob"
    words = ("create", "job", "--namespace=visual", "now", "--from=cronjob/nightly", "--dry-run=server")
    made = json.loads(ada.kubectl(*words, "--output=json"))
    assert made["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    assert made["spec"]["suspend"]
    assert "deleted" in ada.kubectl("delete", "--namespace=visual", "cronjob/nightly")


def test_kueue_alone_starts_jobs(ada: Person, server: ApiServer) -> None:
    kueue = Person(server=server, team="visual", kubeconfig=server.user(KUEUE.user))
    start = {"spec": {"suspend": False}}
    for kind, plural in ((JOB, "job/train"), (ROLES, "jobset/roles")):
        assert ada.made(kind, dry=False)["kind"] == kind["kind"]
        assert STARTED in ada.changes(plural, start)
        assert "patched" in kueue.changes(plural, start, dry=True)
        assert "deleted" in ada.kubectl("delete", "--namespace=visual", plural)


def test_what_a_job_made_ends_with_it(ada: Person) -> None:
    orphans = {**JOB["metadata"], "finalizers": ["orphan"]}
    assert PINNED in ada.makes({**JOB, "metadata": orphans})
    for kind, plural in ((JOB, "job/train"), (ROLES, "jobset/roles")):
        assert ada.made(kind, dry=False)["kind"] == kind["kind"]
        assert ORPHANED in ada.kubectl("delete", "--namespace=visual", plural, "--cascade=orphan")
        assert PINNED in ada.changes(plural, {"metadata": {"finalizers": ["orphan"]}})
        assert "deleted" in ada.kubectl("delete", "--namespace=visual", plural)


def test_pods_end_in_time(ada: Person, server: ApiServer) -> None:
    """Kueue gives their quota on at once, so that who ends slowly would have it twice."""
    most, late = ({"terminationGracePeriodSeconds": TEAM_GRACE_S + more} for more in (0, 1))

    def templates(grace: dict[str, int]) -> Iterator[dict[str, Any]]:
        spec = {**JOB["spec"]["template"]["spec"], **grace}
        job_spec = {**JOB["spec"], "template": {"spec": spec}}
        yield pod("plain", **grace)
        yield {**JOB, "spec": job_spec}
        yield {**ROLES, "spec": {**ROLES["spec"], "replicatedJobs": [{"name": "a", "template": {"spec": job_spec}}]}}
        for kind in ("Deployment", "StatefulSet"):
            made = copies(kind)
            made["spec"]["template"]["spec"] |= grace
            yield made

    def of(kind: str, seconds: dict[str, int], **more: Any) -> dict[str, Any]:
        made = copies(kind)
        made["spec"] |= more
        made["spec"]["template"]["spec"] |= seconds
        return made

    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}}
    (job_of,) = (one for one in templates(late) if one["kind"] == "Job")
    nightly = {**cron, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job_of["spec"]}}}
    for refused in (nightly, of("DaemonSet", late), of("ReplicaSet", late)):
        assert LATE in ada.makes(refused), refused["kind"]
    assert ada.made(of("Deployment", most, replicas=0), dry=False)["kind"] == "Deployment"
    for seconds, said in ((late, LATE), ({"terminationGracePeriodSeconds": 5}, "patched")):
        assert said in ada.changes("deployment/served", {"spec": {"template": {"spec": seconds}}})
    assert "deleted" in ada.kubectl("delete", "--namespace=visual", "deployment/served")
    for one in templates(most):
        assert ada.made(one)["kind"] == one["kind"]
    for one in templates(late):
        assert LATE in ada.makes(one), one["kind"]
    # One that has no node ends at once, whatever is asked for.
    owner = ada.made(JOB, dry=False)["metadata"]["uid"]
    controller(server, "job").made(of_a_job(pod("held", nodeName="node", **most), owner), dry=False)
    longer = f"--grace-period={TEAM_GRACE_S + 1}"
    assert LATE in ada.kubectl("delete", "--namespace=visual", "pod/held", "--wait=false", longer)
    assert LATE in ada.kubectl("delete", "--namespace=visual", "pods", "--all", "--wait=false", longer)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "held", "namespace": "visual"}}
    path = "/api/v1/namespaces/visual/pods/held/eviction"
    for seconds, refused in ((TEAM_GRACE_S + 1, True), (TEAM_GRACE_S, False)):
        options = {"deleteOptions": {"gracePeriodSeconds": seconds, "dryRun": ["All"]}}
        said = ada.kubectl("create", "--raw", path, "--filename=-", stdin={**eviction, **options})
        assert (LATE in said) is refused, said
    assert "deleted" in ada.kubectl("delete", "--namespace=visual", "pod/held", "--grace-period=0", "--force")
    assert "deleted" in ada.kubectl("delete", "--namespace=visual", "job/train")


def test_nobody_says_to_which_workload_something_belongs(ada: Person) -> None:
    """It would have a part of what another one was admitted for."""
    for key in (f"{KUEUES}prebuilt-workload-name", f"{KUEUES}pod-group-name", f"{KUEUES}multikueue-origin"):
        assert NAMED in ada.makes(JOB, **{key: "other"})
        group = pod("grouped")
        for part in ("labels", "annotations"):
            annotations = {f"{KUEUES}pod-group-total-count": "2"} if "group" in key else {}
            more = {"annotations": annotations, part: {**(annotations if part == "annotations" else {}), key: "other"}}
            assert NAMED in ada.makes({**group, "metadata": {**group["metadata"], **more}}), (key, part)


def test_pods_have_the_team_s_priority(ada: Person) -> None:
    labels = ada.made(pod("plain"))["metadata"]["labels"]
    assert (labels[QUEUE], labels[PRIORITY]) == ("default", "visual")
    assert ANOTHER in ada.makes(pod("plain"), **{PRIORITY: "speech"})


def test_a_pod_that_kueue_holds_back_is_let_go_by_kueue_alone(ada: Person) -> None:
    others, own = f"{KUEUES}elastic-job", "own.example/gate"
    held = pod("held", gpus=1, schedulingGates=[{"name": one} for one in (GATE, others, own)])
    gates = [one["name"] for one in ada.made(held, dry=False)["spec"]["schedulingGates"]]
    assert {GATE, others, own} <= {*gates}

    def lift(*names: str) -> str:
        left = [{"name": one} for one in gates if one not in names]
        return ada.changes("pod/held", {"spec": {"schedulingGates": left}})

    for lifted in ([GATE], [others], gates):
        assert LIFTED in lift(*lifted), lifted
    assert "patched" in lift(own)
    for key in ("role-hash", "pod-suspending-parent"):
        forged = {"metadata": {"annotations": {f"{KUEUES}{key}": "other"}}}
        assert NAMED in ada.changes("pod/held", forged), key
    assert NAMED in ada.kubectl("label", "--namespace=visual", "pod/held", f"{KUEUES}managed-")
    assert "labeled" in ada.kubectl("label", "--namespace=visual", "pod/held", "own=label")
    assert "deleted" in ada.kubectl("delete", "--namespace=visual", "pod/held", "--grace-period=0", "--force")


def test_the_priorities_that_push_others_out_are_not_a_team_s(ada: Person) -> None:
    for name in ("longhaul-system", "longhaul-training-high", "longhaul-training"):
        said = ada.makes(pod("loud", priorityClassName=name))
        assert "exceeded quota: longhaul-priorities" in said
    assert ada.made(pod("quiet", priorityClassName="longhaul-training-borrow"))["kind"] == "Pod"


def test_what_says_nothing_of_its_size_counts_all_the_same(ada: Person) -> None:
    (container,) = ada.makes(pod("plain"))["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "1", "memory": "2Gi"}}


def test_people_see_the_capacity_of_all_and_the_jobs_of_their_own(
    ada: Person, person: Callable[[str], Person], server: ApiServer
) -> None:
    grace = person("speech")
    assert ada.made(job("gang", cores=11), dry=False)["kind"] == "Job"
    # Kueue compares whole seconds.
    eventually(lambda: reserved(server, "visual") == ["gang"], what="the first job has its quota")
    for who, name, cores in ((ada, "large", 10), (grace, "huge", 90)):
        assert who.made(job(name, cores=cores), dry=False)["kind"] == "Job"

    def settled() -> dict[str, Any] | None:
        found = to_plain(CapacityReader(ada.api()).capacity())
        waits = waiting(found, "visual")
        asked = waits.get("gang", "").startswith("nodes") and "insufficient" in waits.get("large", "")
        # Kueue writes a workload's conditions first, its queue's numbers later.
        visual = found["teams"][1]
        return found if asked and visual["uses"][0]["used"]["cores"] and visual["waiting"] == len(waits) else None

    found = eventually(settled, what="the first job has its quota, the second waits for it, and both are counted")
    speech, visual = found["teams"]
    (use,) = visual["uses"]
    assert (use["guaranteed"]["cores"], use["used"]["cores"], use["borrowed"]["cores"]) == (CORES, 22, 2)
    assert (use["may_borrow"], visual["running"], visual["waiting"]) == (15, 0, 2)
    gang = next(one for one in visual["jobs"] if one["name"] == "gang")
    assert gang["asks"]["cores"] == 22
    assert speech["jobs"] is None
    assert [one["name"] for one in found["pools"]] == ["cpu"]
    said = " ".join(found["hidden"])
    assert "jobs of speech: you are not in these teams" in said
    assert "pods you may not see" in said
    (request,) = server.get("provisioningrequests", "--namespace=visual")["items"]
    assert [one["count"] for one in request["spec"]["podSets"]] == [2]

    every = CapacityReader(api_of(server, server.kubeconfig)).capacity()
    assert [len(one.jobs or ()) for one in every.teams] == [1, 2]
    assert every.hidden == ()
    text = to_text(every)
    assert "huge" in text
    assert f"{CORES} cores" in text


def test_the_client_shows_it_by_a_token(
    ada: Person, server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The token is an account's: API servers ask the same of any."""
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    server.kubectl(
        "create", "clusterrolebinding", "seen", "--clusterrole=longhaul:teams", "--serviceaccount=visual:default"
    )
    token = server.kubectl("create", "token", "default", "--namespace=visual").strip()
    authority = (server.folder / "ca.crt").read_text()
    place = {"server": f"https://127.0.0.1:{server.port}", "server_name": "kubernetes.test", "authority": authority}
    profile = replace(PROFILE, **place, expires="2100-01-01T00:00:00+00:00")
    (tmp_path / "profile.json").write_text(profile.text())
    (own,) = profile.issuers.values()
    TokenStore(own, profile.place()).write(Tokens(id_token=token, refresh_token="", ends=time.time() + 3600))
    assert main(["capacity", "--profile", str(tmp_path / "profile.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["teams"]] == ["speech", "visual"]
    assert any("jobs of speech, visual" in one for one in found["hidden"])
    assert main(["capacity", "--profile", str(tmp_path / "profile.json")]) == 0
    assert f"{CORES} cores" in capsys.readouterr().out


def test_an_owner_gets_its_own_back(ada: Person, person: Callable[[str], Person], server: ApiServer) -> None:
    """Whoever borrowed it, and whatever the priorities are."""
    grace = person("speech")
    for who in (ada, grace):
        assert "deleted" in who.kubectl("delete", "jobs", "--all", f"--namespace={who.team}")
    assert ada.made(job("borrows", cores=15), dry=False)["kind"] == "Job"
    eventually(lambda: reserved(server, "visual") == ["borrows"], what="a team borrows what the other does not use")
    assert grace.made(job("own", cores=10), dry=False)["kind"] == "Job"
    eventually(lambda: reserved(server, "speech") == ["own"], what="the owner has its own")

    def told() -> bool:
        found = to_plain(CapacityReader(ada.api()).capacity())
        return waiting(found, "visual").get("borrows", "").startswith("ended (Preempted), waits again; its turn")

    eventually(told, what="the borrower is told")
    assert reserved(server, "visual") == []


def waiting(found: dict[str, Any], team: str) -> dict[str, str]:
    """Return what each job of a team waits for."""
    own = next(one for one in found["teams"] if one["name"] == team)
    return {job["name"]: job["waits_for"] for job in own["jobs"] or ()}


def reserved(server: ApiServer, team: str) -> list[str]:
    """Return the jobs of a team for which quota is set aside."""
    found = server.get("workloads.kueue.x-k8s.io", f"--namespace={team}")["items"]
    return sorted(
        one["metadata"]["ownerReferences"][0]["name"]
        for one in found
        for condition in (one.get("status") or {}).get("conditions") or ()
        if (condition["type"], condition["status"]) == ("QuotaReserved", "True")
    )


def job(name: str, *, cores: int) -> dict[str, Any]:
    """Return a job of two pods at once, with so many cores each."""
    containers = [{"name": "a", "image": "a:1", "resources": {"requests": {"cpu": str(cores)}}}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    spec = {"parallelism": 2, "completions": 2, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
