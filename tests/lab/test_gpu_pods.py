"""Pods with GPUs in the lab. The device plugin, the container toolkit, containerd and the kubelet are real. The GPUs
are the stand-in of lab/nvml, and their device nodes are copies of /dev/null.

The files of a machine with a driver are put on an ordinary host by hand: roles would refuse it, since it has no
GPU on its PCI bus.
"""

from __future__ import annotations

import base64
import json
import platform
from collections.abc import Iterator
from typing import Any

import jinja2
import pytest

from components.model.versions.section import pinned
from components.objects import nvidia_gpus
from components.render.containerd import DEPOT_AUTHORITY
from contract.labels import GPU_LABEL
from contract.resources import GPU_RESOURCE
from contract.taints import PREFLIGHT_TAINT
from lab.nvml.library import NAME, build
from lab.nvml.machine import DEFAULT, DRIVER, VARIABLE, StandInMachine, gpu
from longhaul.toolchain.spec import repository
from tests.support.project import Project, eventually
from tests.support.shared_lab import HOST, SharedLab
from tests.support.workload import IMAGE, pod

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

FOLDER = "/var/lib/nvml-stand-in"
"""Folder that is mounted: inside a container, a mounted file would not be seen to be replaced."""
DEVICES = ("nvidia0", "nvidia1")
ROLE = repository() / "playbooks" / "roles" / "nvidia_container_toolkit"
PLUGIN = ("daemonset", nvidia_gpus.NAME, "--namespace=kube-system")

TOOLKIT = """\
set -eu
for name in nvidia-ctk nvidia-cdi-hook nvidia-container-runtime; do
  curl --fail --silent --show-error --cacert {authority} --output "/usr/local/bin/$name" \
    "{depot}/binaries/$name/{version}/$name"
  chmod 755 "/usr/local/bin/$name"
done
"""
STAND_INS = f"""\
set -eu
libraries="/usr/lib/$(uname -m)-linux-gnu"
base64 --decode /root/library > "$libraries/libnvidia-ml.so.{DRIVER}"
ln -sf "libnvidia-ml.so.{DRIVER}" "$libraries/{NAME}"
# Any library: nobody calls it.
cp --dereference "$libraries/libutil.so.1" "$libraries/libcuda.so.{DRIVER}"
ldconfig
for name in {" ".join(DEVICES)} nvidiactl nvidia-uvm nvidia-uvm-tools; do
  [ -e "/dev/$name" ] || mknod -m 666 "/dev/$name" c 1 3
done
mkdir -p {FOLDER}
ln -sf {FOLDER}/machine {DEFAULT}
"""


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Iterator[Project]:
    project = shared_lab.take()
    yield project
    # Make it a host without GPUs again: no plugin, and no taint that the node controller set because their test is
    # missing.
    project.kubectl("label", "node", HOST, f"{GPU_LABEL}-", check=False)
    project.kubectl("taint", "node", HOST, f"{PREFLIGHT_TAINT}-", check=False)


@pytest.fixture(scope="module", name="equipped")
def _equipped(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project with two GPUs on the host."""
    depot = project.read()["sites"]["rack"]["depot"]
    version = pinned("nvidia-container-toolkit")
    project.on(HOST, TOOLKIT.format(depot=depot, authority=DEPOT_AUTHORITY, version=version))
    library = base64.b64encode(build(tmp_path_factory.mktemp("nvml")).read_bytes()).decode()
    project.on(HOST, f"cat > /root/library <<'END'\n{library}\nEND")
    project.on(HOST, STAND_INS)
    has(project, StandInMachine())
    settings = "/etc/containerd/conf.d/50-nvidia.toml"
    project.on(HOST, f"cat > {settings} <<'END'\n{_handler(project)}\nEND\nsystemctl restart containerd")
    project.kubectl("patch", *PLUGIN, "--type=json", f"--patch={json.dumps(_stand_in())}")
    project.kubectl("label", "node", HOST, f"{GPU_LABEL}=true")
    return project


def _handler(project: Project) -> str:
    """Return containerd's handler as the role writes it."""
    look = (ROLE / "files" / "look.py").read_text(encoding="utf-8")
    facts = json.loads(project.on(HOST, f"python3 - <<'END'\n{look}\nEND").stdout)
    template = jinja2.Template((ROLE / "templates" / "containerd.toml.j2").read_text(encoding="utf-8"))
    return str(template.render(nvidia_container_toolkit_facts=facts, nvidia_container_toolkit_path="/usr/local/bin"))


def _stand_in() -> list[dict[str, Any]]:
    """Return the patch that lets the plugin's pods see the stand-in's file in their container."""
    pod, name = "/spec/template/spec", "stand-in"
    values = {
        f"{pod}/volumes/-": {"name": name, "hostPath": {"path": FOLDER}},
        f"{pod}/containers/0/volumeMounts/-": {"name": name, "mountPath": FOLDER, "readOnly": True},
        f"{pod}/containers/0/env/-": {"name": VARIABLE, "value": f"{FOLDER}/machine"},
    }
    return [{"op": "add", "path": path, "value": value} for path, value in values.items()]


def has(project: Project, machine: StandInMachine) -> None:
    """Set the GPUs that the host has."""
    project.on(HOST, f"cat > {FOLDER}/new <<'END'\n{machine.text()}END\nmv {FOLDER}/new {FOLDER}/machine")


def offered(project: Project) -> tuple[str, str]:
    """Return the number of GPUs that the host has, and the number of healthy ones among them."""
    status = json.loads(project.kubectl("get", "node", HOST, "--output=json").stdout)["status"]
    return status["capacity"].get(GPU_RESOURCE, ""), status["allocatable"].get(GPU_RESOURCE, "")


def make(project: Project, name: str, *, asks_for: int) -> None:
    """Make a pod on the host."""
    limits = {"limits": {GPU_RESOURCE: str(asks_for)}} if asks_for else {}
    container = {"name": "agnhost", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"], "resources": limits}
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": HOST},
        # The pod must not wait for a test of the host's GPUs: by its own files the host has none.
        "tolerations": [{"key": PREFLIGHT_TAINT, "operator": "Exists"}],
        "containers": [container],
        "terminationGracePeriodSeconds": 1,
    }
    project.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def seen_by(project: Project, name: str) -> set[str]:
    """Return the device nodes of GPUs in a pod's container."""
    look = ("exec", name, "--", "/agnhost", "mounttest")
    return {one for one in DEVICES if not project.kubectl(*look, f"--file_mode=/dev/{one}", check=False).returncode}


def test_the_hosts_gpus_are_offered(equipped: Project) -> None:
    eventually(lambda: offered(equipped) == ("2", "2"))
    listed = json.loads(equipped.kubectl("get", *PLUGIN, "--output=json").stdout)["status"]
    assert listed["desiredNumberScheduled"] == 1, "it is on no machine without GPUs"


def test_each_pod_sees_the_gpu_that_it_was_given_and_others_see_none(equipped: Project) -> None:
    eventually(lambda: offered(equipped) == ("2", "2"))
    for name, count in (("first", 1), ("second", 1), ("without", 0)):
        make(equipped, name, asks_for=count)
    equipped.kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/first", "pod/second", "pod/without")
    assert seen_by(equipped, "without") == set()
    first, second = (seen_by(equipped, name) for name in ("first", "second"))
    assert len(first) == len(second) == 1
    assert first | second == set(DEVICES)
    driver = f"--file_mode=/usr/lib/{platform.machine()}-linux-gnu/libcuda.so.{DRIVER}"
    equipped.kubectl("exec", "first", "--", "/agnhost", "mounttest", driver)

    make(equipped, "third", asks_for=1)
    eventually(lambda: f"Insufficient {GPU_RESOURCE}" in json.dumps(pod(equipped, "third")["status"]))
    equipped.kubectl("delete", "pod", "first")
    equipped.kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/third")
    assert seen_by(equipped, "third") == first
    equipped.kubectl("delete", "pod", "second", "third", "without")


def test_a_gpu_that_had_an_xid_is_offered_no_more(equipped: Project) -> None:
    eventually(lambda: offered(equipped) == ("2", "2"))
    has(equipped, StandInMachine(gpus=(gpu(0, xid=79), gpu(1))))
    eventually(lambda: offered(equipped) == ("2", "1"))
    make(equipped, "left", asks_for=1)
    equipped.kubectl("wait", "--for=condition=Ready", "--timeout=120s", "pod/left")
    assert seen_by(equipped, "left") == {"nvidia1"}
