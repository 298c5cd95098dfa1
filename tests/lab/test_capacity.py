"""Capacity by itself, end to end: a gang of two roles waits for its team's quota, has machines of two clouds booted,
runs and ends, and the machines go; an owner takes its own back from who borrowed it, and the borrower writes its
checkpoint first. Each step's time is printed."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from components.model.versions.section import pinned
from lab import tools
from tests.support.cloud import instances
from tests.support.project import Project, eventually, hybrid
from tests.support.queues import job, jobset
from tests.support.shared_lab import nodes, ready
from tests.support.workload import IMAGE, PORT, ask

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "capacity"
OWNER, BORROWER = "speech", "visual"
AZURE, SPOT = f"{ENV}-work", f"{ENV}-spot"
"""Scale set, and auto scaling group, that begin without a machine."""
CORES = "1500m"
"""Request of each pod: a machine of two cores has room for one."""
CHECKPOINT_S, GRACE_S = 8, 60
"""Seconds that a pod takes for its checkpoint after SIGTERM, and those that it asks for."""
BOOT_S = 900.0
"""Time limit of a machine's boot in seconds: as long as the autoscaler waits for one."""


def environment() -> dict[str, Any]:
    """Return an environment whose teams are guaranteed all of its on-demand cores, half each."""
    raw = hybrid(ENV, supernet="10.176.0.0/12", etcd=1, events=1, api=1)
    raw["sites"] = {site: raw["sites"][site] for site in ("weu", "use1")}
    raw["machine_types"] = {"m6id.large": {"cloud": "aws", "vcpus": 2, "memory_gib": 8}}
    raw["pools"] = {
        "base": {"site": "use1", "machine_type": "m6id.large", "min": 1, "max": 1},
        "work": {"site": "weu", "machine_type": "Standard_D2s_v5", "min": 0, "max": 2},
        "spot": {"site": "use1", "machine_type": "m6id.large", "min": 0, "max": 1, "spot": True},
    }
    raw["autoscaler"] = {"idle_minutes": 1}
    half: dict[str, Any] = {"cpu": {"cores": 3, "borrow": 2}, "cpu-spot": {}}
    raw["teams"] = {name: {"groups": [f"corp:{name}"], "shares": half} for name in (OWNER, BORROWER)}
    del raw["bare_metal"]
    return raw


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project.make(tmp_path_factory.mktemp(ENV), environment())
    try:
        project.up()
        project.await_healthy()
        yield project
    finally:
        print(project.on(f"{ENV}-api-0", "journalctl --unit=longhaul-autoscaler --output=cat", check=False).stdout)
        project.lab("down", "--all", check=False)


class Clock:
    """Times since a moment, printed as they are reached."""

    def __init__(self, what: str) -> None:
        self._began = time.monotonic()
        print(f"\n{what}")

    def reached(self, what: str) -> None:
        print(f"  {time.monotonic() - self._began:6.1f} s  {what}", flush=True)


def spec(**more: Any) -> dict[str, Any]:
    """Return pods that serve until they are told to exit, and take their time for a checkpoint after SIGTERM."""
    container = {
        "name": "main",
        "image": f"{IMAGE}:{pinned('agnhost')}",
        "args": ["netexec", f"--http-port={PORT}", f"--delay-shutdown={CHECKPOINT_S}"],
        "resources": {"requests": {"cpu": CORES, "memory": "64Mi"}},
    }
    return {"containers": [container], "terminationGracePeriodSeconds": GRACE_S, **more}


def gang() -> dict[str, Any]:
    """Return a JobSet of two leaders on Azure, and a worker on a machine that AWS may take back."""
    made = jobset("gang", {"leader": 2, "worker": 1}, spec(), where=BORROWER)
    wanted = {"leader": {"longhaul.dev/site": "weu"}, "worker": {"longhaul.dev/kind": "cpu-spot"}}
    for one in made["spec"]["replicatedJobs"]:
        one["template"]["spec"]["template"]["spec"] = spec(restartPolicy="Never", nodeSelector=wanted[one["name"]])
    return made


def pods(project: Project, team: str, selector: str) -> list[dict[str, Any]]:
    words = ("get", "pods", f"--namespace={team}", f"--selector={selector}", "--output=json")
    return list(json.loads(project.kubectl(*words).stdout)["items"])


def running(project: Project, team: str, selector: str) -> list[dict[str, Any]]:
    return [one for one in pods(project, team, selector) if one["status"]["phase"] == "Running"]


def pools(project: Project) -> dict[str, int]:
    """Return the number of ready nodes of each pool."""
    there = ready(project)
    found = [
        one["metadata"]["labels"]["longhaul.dev/pool"] for one in nodes(project) if one["metadata"]["name"] in there
    ]
    return {pool: found.count(pool) for pool in ("base", "work", "spot")}


def waiting(project: Project, team: str) -> dict[str, str]:
    """Return why each job of a team waits, as people are told."""
    found = json.loads(project.longhaul("capacity", "--json").stdout)
    own = next(one for one in found["teams"] if one["name"] == team)
    return {one["name"]: one["waits_for"] for one in own["jobs"] or ()}


def finish(project: Project, team: str, selector: str) -> None:
    """Tell every pod that its work is done."""
    for one in running(project, team, selector):
        ask(project, f"http://{one['status']['podIP']}:{PORT}/exit?code=0", check=False)


GANG = "jobset.sigs.k8s.io/jobset-name=gang"


def test_a_job_takes_the_room_there_is_and_a_machine_of_a_scale_set(project: Project) -> None:
    clock = Clock("a job of two pods, with room for one")
    assert pools(project) == {"base": 1, "work": 0, "spot": 0}
    project.create(job("first", 2, spec(), where=BORROWER))
    eventually(lambda: len(running(project, BORROWER, "job-name=first")) == 2, limit_s=BOOT_S)
    clock.reached("both run")
    assert pools(project) == {"base": 1, "work": 1, "spot": 0}


def test_a_gang_waits_for_quota_and_then_has_machines_of_both_clouds(project: Project) -> None:
    project.create(gang())
    eventually(lambda: "its turn" in waiting(project, BORROWER).get("gang", ""))
    assert pods(project, BORROWER, GANG) == []
    clock = Clock("a gang of two roles, once it has its quota")
    finish(project, BORROWER, "job-name=first")
    eventually(lambda: bool(instances(project, SPOT)), limit_s=BOOT_S)
    clock.reached("the auto scaling group has made a machine")
    eventually(lambda: pools(project) == {"base": 1, "work": 2, "spot": 1}, limit_s=BOOT_S)
    clock.reached("all nodes are ready")
    eventually(lambda: len(running(project, BORROWER, GANG)) == 3, limit_s=BOOT_S)
    clock.reached("all of the gang runs")
    own = {one["metadata"]["name"]: one["metadata"]["labels"]["longhaul.dev/pool"] for one in nodes(project)}
    assert sorted(own[one["spec"]["nodeName"]] for one in running(project, BORROWER, GANG)) == ["spot", "work", "work"]


def test_the_machines_go_when_the_gang_has_ended(project: Project) -> None:
    clock = Clock("a gang that has ended")
    finish(project, BORROWER, GANG)
    words = ("get", "jobset", "gang", f"--namespace={BORROWER}", "--output=jsonpath={.status.terminalState}")
    eventually(lambda: project.kubectl(*words).stdout == "Completed")
    clock.reached("it is complete")
    eventually(lambda: pools(project) == {"base": 1, "work": 0, "spot": 0}, limit_s=BOOT_S)
    clock.reached("its machines' nodes are gone")
    eventually(lambda: instances(project, SPOT) == [] and not project.phase(f"{AZURE}-000000"), limit_s=BOOT_S)
    clock.reached("no machine is left")


CHART = "chart"
"""Namespace of a chart's objects, which is no team's."""


def chart_part(kind: str, name: str, cpu: str, ports: dict[str, int], spec: dict[str, Any], **more: Any) -> Any:
    """Return a workload as most Helm charts have it: its container has limits and no requests."""
    container = {
        "name": "main",
        "image": f"{IMAGE}:{pinned('agnhost')}",
        "args": ["netexec", f"--http-port={PORT}"],
        "ports": [{"containerPort": PORT, **ports}],
        "resources": {"limits": {"cpu": cpu, "memory": "64Mi"}},
    }
    labels = {"app.kubernetes.io/name": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}
    metadata = {"name": name, "namespace": CHART}
    whole = {**more, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": whole}


def test_a_chart_opens_a_pool_from_zero_and_leaves_it(project: Project) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CHART, "labels": labels}}
    system = {"kubernetes.io/os": "linux"}
    everywhere = {"nodeSelector": system, "tolerations": [{"operator": "Exists"}]}
    project.create(space)
    project.create(chart_part("DaemonSet", "exporter", "50m", {"hostPort": 9100}, everywhere))
    clock = Clock("a chart's daemon set and deployment of two pods, with room for one")
    selected = {"nodeSelector": {**system, "kubernetes.io/arch": "amd64"}}
    project.create(chart_part("Deployment", "web", "1200m", {}, selected, replicas=2))
    web, exporter = (f"app.kubernetes.io/name={name}" for name in ("web", "exporter"))
    eventually(lambda: len(running(project, CHART, web)) == 2, limit_s=BOOT_S)
    clock.reached(f"both pods run: {pools(project)}")
    assert sorted(pools(project).values()) == [0, 1, 1]
    eventually(lambda: len(running(project, CHART, exporter)) == 2)
    clock.reached("so does the daemon set's on each node")
    assert {pod["spec"]["nodeName"] for pod in running(project, CHART, exporter)} == ready(project)
    project.kubectl("scale", "deployment/web", f"--namespace={CHART}", "--replicas=0")
    eventually(lambda: pools(project) == {"base": 1, "work": 0, "spot": 0}, limit_s=BOOT_S)
    clock.reached("the machine's node is gone")
    eventually(lambda: len(running(project, CHART, exporter)) == 1)
    project.kubectl("delete", "namespace", CHART)


class Ends:
    """Ends of the containers of a team's pods: time and exit code, as the API tells them while they happen."""

    def __init__(self, project: Project, team: str) -> None:
        state = ".status.containerStatuses[0].state.terminated"
        line = f"{{.metadata.name}} {{{state}.exitCode}} {{{state}.finishedAt}}{{'\\n'}}"
        kubectl = [str(tools.bin_dir() / "kubectl"), "--kubeconfig", str(project.state / "kubeconfig")]
        words = [*kubectl, "get", "pods", f"--namespace={team}", "--watch", f"--output=jsonpath={line}"]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def close(self) -> dict[str, tuple[int, datetime]]:
        self._process.terminate()
        told = [line.split() for line in self._process.communicate(timeout=60)[0].splitlines()]
        return {one[0]: (int(one[1]), datetime.fromisoformat(one[2])) for one in told if len(one) == 3}


def condition(project: Project, team: str, kind: str) -> datetime:
    """Return when the team's one Workload has last become what a condition says."""
    words = ("get", "workloads.kueue.x-k8s.io", f"--namespace={team}", "--output=json")
    found = json.loads(project.kubectl(*words).stdout)["items"]
    (moment,) = [
        one["lastTransitionTime"]
        for workload in found
        for one in (workload.get("status") or {}).get("conditions") or ()
        if one["type"] == kind
    ]
    return datetime.fromisoformat(moment)


def test_an_owner_has_its_own_back_once_the_borrower_has_its_checkpoint(project: Project) -> None:
    for kind in ("jobs", "jobsets"):
        project.kubectl("delete", kind, "--all", f"--namespace={BORROWER}")
    clock = Clock("an owner comes back")
    project.create(job("train", 3, spec(), where=BORROWER))
    eventually(lambda: len(running(project, BORROWER, "job-name=train")) == 3, limit_s=BOOT_S)
    clock.reached("the borrower's three pods run on two cores more than are its own")
    ends = Ends(project, BORROWER)
    project.create(job("own", 2, spec(), where=OWNER))
    clock.reached("the owner's job is made")
    eventually(lambda: len(running(project, OWNER, "job-name=own")) == 2, limit_s=BOOT_S)
    clock.reached("the owner's two pods run")
    ended = ends.close()
    evicted, admitted = condition(project, BORROWER, "Evicted"), condition(project, OWNER, "Admitted")
    assert [code for code, _ in ended.values()] == [0, 0, 0], "each ended by itself, within its grace"
    last = max(moment for _, moment in ended.values())
    print(f"  evicted at {evicted:%X}, last checkpoint written at {last:%X}, owner admitted at {admitted:%X}")
    assert (last - evicted).total_seconds() >= CHECKPOINT_S - 1, "times are in whole seconds"
    assert admitted >= last
    assert waiting(project, BORROWER)["train"].startswith("ended (Preempted), waits again")
    finish(project, OWNER, "job-name=own")
    eventually(lambda: len(running(project, BORROWER, "job-name=train")) == 3, limit_s=BOOT_S)
    clock.reached("the owner is done, and the borrower's three pods run again")
