"""Hosts with GPUs in the lab: no pod can reach them until their test is passed, at each start. The GPUs are the
stand-in of lab/nvml, and the driver's file is one too; everything else is real.

The hosts join as ordinary ones, since roles would refuse machines without a GPU on their PCI bus. Then they get the
files of hosts with GPUs, and register anew.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from components.model import Environment, load, plan
from components.model.versions.section import pinned
from components.render.node_controller_document import environment_document
from components.render.node_files import host_files
from contract.documents.node_controller import CONFIGMAP, KEY
from contract.object_names import SYSTEM_NAMESPACE
from lab.nvml.library import NAME, build
from lab.nvml.machine import DEFAULT, DRIVER, StandInMachine, gpu
from tests.support.project import Project, eventually
from tests.support.shared_lab import ENV, HOST, SPARE_HOSTS, SharedLab
from tests.support.workload import IMAGE, pod

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

WORKING, FAULTY = (f"{ENV}-{name}" for name in SPARE_HOSTS)
GOOD = StandInMachine()
BAD = StandInMachine(gpus=(gpu(0), gpu(1, volatile_uncorrected=3)))

TAINT = "longhaul.dev/preflight"
HEALTHY = "longhaul.dev/GpuHealthy"
BOOT = "longhaul.dev/gpu-preflight-boot"

DRIVER_FILE = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Thu Jan  1 00:00:00 UTC 2026"
DRIVER_UNIT = """\
[Unit]
Description=Stand-in for the file that NVIDIA's kernel module has in /proc
Before=longhaul-gpu-preflight.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=mount -t tmpfs tmpfs /proc/driver
ExecStart=mkdir /proc/driver/nvidia
ExecStart=cp /etc/longhaul-test-driver /proc/driver/nvidia/version
[Install]
WantedBy=multi-user.target
"""


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    project = shared_lab.take()
    _promise(project)
    return project


def _promise(project: Project) -> None:
    """Promise two GPUs on each host; a program also tries the first host's."""
    environment = load(project.stack_file)
    tried = {WORKING: ("test", "-e", str(DEFAULT))}
    hosts = []
    for host in environment.hosts:
        name = f"{ENV}-{host.name}"
        gpus = {"gpus": 2, "gpu_model": "H100", "gpu_nvlinks": 18, "gpu_check": tried.get(name, ())}
        hosts.append(host.model_copy(update=gpus) if name in (WORKING, FAULTY) else host)
    promising = environment.model_copy(update={"hosts": tuple(hosts)})
    _tell(project, promising)
    for name in (WORKING, FAULTY):
        files = host_files(promising, plan(promising), name.removeprefix(f"{ENV}-"), kubernetes_ca="as it is")
        project.on(name, "systemctl stop kubelet")
        for path in ("/etc/longhaul/node.json", "/etc/longhaul/kubelet.yaml"):
            project.on(name, f"cat > {path} <<'END'\n{files[path].content}END")
        project.kubectl("delete", "node", name)
        project.on(name, "systemctl restart longhaul-node-place && systemctl start kubelet")
        project.on(name, "systemctl restart longhaul-gpu-preflight")


def _tell(project: Project, promising: Environment) -> None:
    """Tell the node controller of the GPUs: what a new Node says of itself is compared with that."""
    named = ("configmap", CONFIGMAP, f"--namespace={SYSTEM_NAMESPACE}")
    now = json.loads(project.kubectl("get", *named, "--output=json").stdout)["data"][KEY]
    text = environment_document(promising, plan(promising), aws_role_arn=json.loads(now)["aws_role"])
    project.kubectl("patch", *named, "--type=merge", "--patch", json.dumps({"data": {KEY: text}}))


@pytest.fixture(scope="module", name="equipped")
def _equipped(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project with stand-ins for driver and library on both hosts; the second host's GPUs are faulty."""
    library = base64.b64encode(build(tmp_path_factory.mktemp("nvml")).read_bytes()).decode()
    unit = "/etc/systemd/system/longhaul-test-driver.service"
    for name, machine in ((WORKING, GOOD), (FAULTY, BAD)):
        project.on(name, f"echo {library} | base64 -d > /usr/local/lib/{NAME} && ldconfig")
        project.on(name, f"echo '{DRIVER_FILE}' > /etc/longhaul-test-driver; cat > {unit} <<'END'\n{DRIVER_UNIT}END")
        project.on(name, "systemctl daemon-reload; systemctl enable --quiet --now longhaul-test-driver")
        has(project, name, machine)
    return project


def has(project: Project, name: str, machine: StandInMachine, *, look: bool = True) -> None:
    """Set the GPUs that a machine has; with ``look``, have them checked now."""
    project.on(name, f"cat > {DEFAULT}.new <<'END'\n{machine.text()}END\nmv {DEFAULT}.new {DEFAULT}")
    if look:
        project.on(name, "systemctl restart longhaul-gpu-preflight")


def node(project: Project, name: str) -> dict[str, Any]:
    """Return a node as the API has it; empty while it is not registered."""
    done = project.kubectl("get", "node", name, "--ignore-not-found", "--output=json")
    return dict(json.loads(done.stdout or "{}"))


def held_back(project: Project, name: str) -> bool:
    return any(taint["key"] == TAINT for taint in node(project, name)["spec"].get("taints", ()))


def verdict(project: Project, name: str) -> tuple[str, str]:
    """Return status and reason of the verdict."""
    conditions = node(project, name).get("status", {}).get("conditions", ())
    return next(((one["status"], one["reason"]) for one in conditions if one["type"] == HEALTHY), ("", ""))


def events(project: Project, name: str) -> set[str]:
    selector = f"--field-selector=involvedObject.kind=Node,involvedObject.name={name}"
    listed = json.loads(project.kubectl("get", "events", selector, "--output=json").stdout)["items"]
    return {event["reason"] for event in listed}


@pytest.mark.parametrize("name", [WORKING, FAULTY])
def test_a_host_without_its_driver_is_ready_and_held_back(project: Project, name: str) -> None:
    eventually(lambda: verdict(project, name) == ("False", "NvmlMissing"), limit_s=90)
    assert held_back(project, name)
    project.kubectl("wait", "--for=condition=Ready", "--timeout=90s", f"node/{name}")
    eventually(lambda: "NvmlMissing" in events(project, name))
    assert not held_back(project, HOST), "it has no GPUs"


def test_it_is_let_go_once_the_test_is_passed(equipped: Project) -> None:
    eventually(lambda: not held_back(equipped, WORKING), limit_s=90)
    assert verdict(equipped, WORKING) == ("True", "GpusHealthy")
    labels = node(equipped, WORKING)["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/gpu.count"] == "2"
    assert labels["nvidia.com/cuda.driver-version.full"] == DRIVER
    eventually(lambda: {"GpusHealthy", "GpusSchedulable"} <= events(equipped, WORKING))


def test_a_failing_gpu_keeps_its_host_back_and_everybody_is_told_why(equipped: Project) -> None:
    eventually(lambda: verdict(equipped, FAULTY) == ("False", "EccUncorrected"), limit_s=90)
    assert held_back(equipped, FAULTY)
    eventually(lambda: "EccUncorrected" in events(equipped, FAULTY))
    status = equipped.status()
    assert status["healthy"] is False
    [told] = [one for one in status["nodes"] if one["verdict"] != "ok"]
    assert (told["name"], told["verdict"]) == (FAULTY, "unhealthy")
    assert gpu(1).uuid in told["message"]


def test_pods_go_where_the_gpus_are_well_and_stay_when_they_are_no_longer(equipped: Project) -> None:
    equipped.kubectl("delete", "pod", WORKING, FAULTY, "--ignore-not-found", "--now")
    for name in (WORKING, FAULTY):
        equipped.create(_pod(name))
    equipped.kubectl("wait", "--for=condition=Ready", "--timeout=180s", f"pod/{WORKING}")
    equipped.kubectl("wait", "--for=condition=PodScheduled=False", "--timeout=180s", f"pod/{FAULTY}")
    [scheduled] = [one for one in pod(equipped, FAULTY)["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert (scheduled["status"], "untolerated taint" in scheduled["message"]) == ("False", True)
    before = pod(equipped, WORKING)["metadata"]["uid"]
    has(equipped, WORKING, BAD)
    eventually(lambda: held_back(equipped, WORKING), limit_s=90)
    found = pod(equipped, WORKING)
    assert (found["metadata"]["uid"], found["status"]["phase"]) == (before, "Running")
    has(equipped, WORKING, GOOD)
    eventually(lambda: not held_back(equipped, WORKING), limit_s=90)


def test_a_start_is_tested_anew(equipped: Project) -> None:
    boot = node(equipped, WORKING)["metadata"]["annotations"][BOOT]
    assert not held_back(equipped, WORKING)
    has(equipped, WORKING, BAD, look=False)
    equipped.lab("power", WORKING, "reset")
    eventually(lambda: held_back(equipped, WORKING), limit_s=180)
    eventually(lambda: verdict(equipped, WORKING) == ("False", "EccUncorrected"), limit_s=180)
    found = node(equipped, WORKING)
    assert found["metadata"]["annotations"][BOOT] == found["status"]["nodeInfo"]["bootID"] != boot
    has(equipped, WORKING, GOOD)
    eventually(lambda: not held_back(equipped, WORKING), limit_s=120)


def _pod(node_name: str) -> dict[str, Any]:
    """Return a pod for that node, with the node's name."""
    container = {"name": "agnhost", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"]}
    spec = {"nodeSelector": {"kubernetes.io/hostname": node_name}, "containers": [container]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": node_name, "labels": {"longhaul.dev/outlive-network-cuts": "true"}},
        "spec": {**spec, "terminationGracePeriodSeconds": 1},
    }
