"""Machines that their clouds take back, with a pod on each: the node says so, the node controller closes it, and the
pod gets SIGTERM and its time for a checkpoint before the machine ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from components.model.versions.section import pinned
from lab import control, tools
from lab.state import LabState
from tests.support.cloud import instances
from tests.support.project import Project, eventually, hybrid, run
from tests.support.shared_lab import nodes, ready
from tests.support.workload import IMAGE, pod

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "spot"
GROUP = f"{ENV}-cpu"
AZURE = f"{ENV}-spare-000000"
CHECKPOINT_S = 5
"""Seconds that a pod takes for its checkpoint after SIGTERM; on Azure there are thirty until the machine ends."""
EVICT = """
import sys
from pathlib import Path
from clouds.azure.live_groups import live_groups
from components.model import load
from components.model.sites.places import place_of
group = live_groups(place_of(load(Path(sys.argv[1])), "weu"), "spare")["spot-spare"]
group._post("virtualMachines/0/simulateEviction", {})
"""


class Job:
    """A pod on a node that is taken back, its log, and the exit code of its container."""

    def __init__(self, project: Project, name: str, node: str) -> None:
        self.project, self.name, self.node = project, name, node
        container = {
            "name": "main",
            "image": f"{IMAGE}:{pinned('agnhost')}",
            "args": ["netexec", "--http-port=8080", f"--delay-shutdown={CHECKPOINT_S}"],
        }
        spec = {"nodeName": node, "restartPolicy": "Never", "containers": [container]}
        spec |= {"terminationGracePeriodSeconds": 20}
        project.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        project.kubectl("wait", "--for=condition=Ready", "--timeout=300s", f"pod/{name}")
        code = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}{'\\n'}"
        self._log = self._follow("logs", "--follow", name)
        self._codes = self._follow("get", "pod", name, "--watch", f"--output={code}")

    def _follow(self, *words: str) -> subprocess.Popen[str]:
        kubectl = [str(tools.bin_dir() / "kubectl"), "--kubeconfig", str(self.project.state / "kubeconfig")]
        return subprocess.Popen([*kubectl, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def is_gone(self) -> bool:
        found = self.project.kubectl("get", "pod", self.name, "--ignore-not-found", "--output=name")
        return not found.stdout.strip()

    def said(self) -> tuple[str, set[str]]:
        """Return the log and the exit codes that were seen."""
        self._codes.terminate()
        return self._log.communicate(timeout=60)[0], set(self._codes.communicate(timeout=60)[0].split())

    def close(self) -> None:
        for process in (self._log, self._codes):
            process.kill()
            process.wait()


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid(ENV, supernet="10.176.0.0/12", etcd=1, events=1, api=1)
    raw["sites"] = {site: raw["sites"][site] for site in ("weu", "use1")}
    raw["pools"] = {
        "cpu": {"site": "use1", "machine_type": "m6id.xlarge", "min": 1, "max": 2, "spot": True},
        "spare": {"site": "weu", "machine_type": "Standard_D8s_v5", "min": 1, "max": 1, "spot": True},
    }
    del raw["bare_metal"]
    project = Project.make(tmp_path_factory.mktemp(ENV), raw)
    try:
        project.up()
        eventually(lambda: len(ready(project)) == 2, limit_s=600.0)
        yield project
    finally:
        project.lab("down", "--all", check=False)


@pytest.fixture(scope="module", name="instance")
def _instance(project: Project) -> str:
    (found,) = instances(project, GROUP)
    return found


def node(project: Project, name: str) -> dict[str, Any]:
    """Return a Node as the API has it; nothing when there is none."""
    return next((one for one in nodes(project) if one["metadata"]["name"] == name), {})


def warn(project: Project, instance: str, notice: str) -> None:
    state = LabState.of(ENV, root=project.path / ".lab")
    control.request(state, "POST", "/spot", {"machine": instance, "notice": notice})


def reasons(project: Project, about: str) -> set[str]:
    """Return the reasons of the Events about a node."""
    words = ("get", "events", "--all-namespaces", f"--field-selector=involvedObject.name={about}", "--output=json")
    return {event["reason"] for event in json.loads(project.kubectl(*words).stdout)["items"]}


def closed(project: Project, name: str) -> bool:
    """Return whether the node has said that it is taken back, and was closed for it."""
    found = node(project, name)
    told = [one for one in found["status"]["conditions"] if one["type"] == "longhaul.dev/Interruption"]
    taints = {(one["key"], one["effect"]) for one in found["spec"].get("taints", ())}
    return bool(
        told
        and found["metadata"]["labels"].get("longhaul.dev/interrupted") == "true"
        and found["spec"].get("unschedulable")
        and ("longhaul.dev/interrupted", "NoExecute") in taints
    )


def ends_in_time(project: Project, job: Job, machine: str) -> None:
    """Wait until the node is closed and its pod has ended by itself while the machine still runs."""
    eventually(lambda: closed(project, job.node), limit_s=60.0)
    eventually(lambda: job.is_gone() or bool(pod(project, job.name)["metadata"].get("deletionTimestamp")))
    eventually(job.is_gone, limit_s=60.0)
    assert project.phase(machine) == "running", "the pod's grace was over before the machine's"
    log, codes = job.said()
    assert f"Sleeping {CHECKPOINT_S} seconds before terminating" in log, "it got SIGTERM"
    assert codes == {"0"}, "it ended by itself, and was not killed"
    assert "NodeInterrupted" in reasons(project, job.node)


def test_a_recommendation_is_told_and_closes_nothing(project: Project, instance: str) -> None:
    warn(project, instance, "rebalance")
    eventually(lambda: "RebalanceRecommended" in reasons(project, instance), limit_s=60.0)
    assert not closed(project, instance)


def test_ec2_takes_an_instance_back(project: Project, instance: str) -> None:
    job = Job(project, "job", instance)
    try:
        warn(project, instance, "interruption")
        ends_in_time(project, job, instance)
    finally:
        job.close()
    # Two minutes after its notice; the group makes another one.
    eventually(lambda: len(found := instances(project, GROUP)) == 1 and instance not in found, limit_s=300.0)
    eventually(lambda: not project.phase(instance))
    eventually(lambda: set(instances(project, GROUP)) <= ready(project))


def test_azure_evicts_a_machine_of_a_scale_set(project: Project) -> None:
    job = Job(project, "evicted", AZURE)
    try:
        run([str(project.state / "enter"), sys.executable, "-c", EVICT, str(project.stack_file)])
        ends_in_time(project, job, AZURE)
    finally:
        job.close()
    eventually(lambda: not project.phase(AZURE), limit_s=120.0)
