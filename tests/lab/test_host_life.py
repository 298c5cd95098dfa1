"""The life of a bare host in a rack: unplugged in the middle of each phase, kept back when an upgrade would replace
what its pods run on, and upgraded once their work is over."""

from __future__ import annotations

import json
import subprocess

import pytest

from components.model.versions.section import pinned
from tests.support.onprem_hosts import await_ssh, deliver
from tests.support.project import Project
from tests.support.shared_lab import ENV, SharedLab
from tests.support.workload import IMAGE

pytestmark = [pytest.mark.lab, pytest.mark.drill]

HOST = f"{ENV}-new"
OLDER = "v1.36.0"
"""An older version for the same kubelet. It has the same length, so that it can overwrite the right one in the
binary."""

PHASES = (
    pytest.param("packages : Install packages", id="while packages are installed"),
    pytest.param("binaries : Install binaries from the depot", id="while binaries are fetched"),
    pytest.param("node : Let it ask for a certificate", id="while it joins"),
)


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    project = shared_lab.take()
    deliver(project, "new")
    return project


def rack(project: Project, *, check: bool = True) -> dict[str, object]:
    """Run the command and return the host's verdict."""
    done = project.longhaul("hosts", "--limit", HOST, "--json", check=check)
    return dict(json.loads(done.stdout)["hosts"][HOST])


def await_line(process: subprocess.Popen[str], words: str) -> None:
    """Wait until the output contains the words; fail the test if the process ends before."""
    said = []
    for line in process.stdout or ():
        if words in line:
            return
        said.append(line)
    raise AssertionError(f"it ended before it said {words!r}:\n{''.join(said[-60:])}")


@pytest.mark.parametrize("task", PHASES)
def test_it_is_unplugged(project: Project, task: str) -> None:
    # A host that does not answer is retried for long, since it may be booting: useless here.
    impatient = "ansible_ssh_retries=0 ansible_timeout=2"
    process = project.longhaul_in_background("hosts", "--limit", HOST, "--", "--extra-vars", impatient)
    try:
        await_line(process, f"[{task}]")
        project.cut_power(HOST)
        said, _ = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 3, said
    assert f"{HOST}  unreachable" in said
    project.lab("power", HOST, "on")
    await_ssh(project, HOST)


def test_the_next_run_finishes_it_and_one_more_changes_nothing(project: Project) -> None:
    assert rack(project)["state"] == "changed"
    project.kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"node/{HOST}")
    assert rack(project)["state"] == "ready"


def kubelet_of(project: Project) -> str:
    found = project.kubectl("get", "node", HOST, "--output=jsonpath={.status.nodeInfo.kubeletVersion}")
    return found.stdout


def test_a_node_with_an_older_kubelet_is_held(project: Project) -> None:
    pinned = kubelet_of(project)
    assert len(pinned) == len(OLDER)
    path = "/usr/local/bin/kubelet"
    project.on(
        HOST,
        f"sed 's/{pinned}/{OLDER}/g' {path} >{path}.old && chmod 755 {path}.old && mv {path}.old {path} && "
        "systemctl restart kubelet.service",
    )
    project.kubectl(
        "wait", f"--for=jsonpath={{.status.nodeInfo.kubeletVersion}}={OLDER}", "--timeout=120s", f"node/{HOST}"
    )
    verdict = rack(project, check=False)
    assert (verdict["state"], verdict["messages"]) == ("held", [f"kubelet {OLDER[1:]} -> {pinned[1:]}"])
    assert kubelet_of(project) == OLDER


def pod() -> dict[str, object]:
    """Return a pod that stands for a user's work on the host."""
    container = {"name": "train", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"]}
    selector = {"kubernetes.io/hostname": HOST}
    spec = {"containers": [container], "nodeSelector": selector, "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train", "namespace": "default"}, "spec": spec}


def test_it_is_upgraded_once_its_work_is_over(project: Project) -> None:
    project.create(pod())
    project.kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/train")
    roll = project.longhaul_in_background("roll", "--pool", "hosts")
    try:
        await_line(roll, "waits for default/train")
        assert kubelet_of(project) == OLDER
        project.kubectl("delete", "pod", "train")
        said, _ = roll.communicate()
    finally:
        roll.kill()
    assert roll.returncode == 0, said
    assert kubelet_of(project) != OLDER
    assert not json.loads(project.kubectl("get", "node", HOST, "--output=json").stdout)["spec"].get("unschedulable")
    assert rack(project)["state"] == "ready"
