"""Faults that preflight finds on a lab's machines: on a bare host and, for the health of GPUs, on a node. Each fault is
caused, found by `longhaul hosts --preflight`, and removed; at the end both machines are fit.

tests/support/host_faults.py lists what of them is a stand-in; NVIDIA's library is the one of lab/nvml.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from lab.nvml.library import NAME, build
from lab.nvml.machine import DEFAULT, DRIVER, StandInMachine, gpu
from tests.support.host_faults import (
    Caught,
    Fault,
    bus,
    crashing_service,
    declared,
    duplicate_address,
    full_disk,
    low_mtu,
    missing_gpus,
    nvidia_module,
    on,
    other_cluster,
    skewed_clock,
    wrong_host_key,
)
from tests.support.onprem_hosts import deliver, take_away
from tests.support.project import Project
from tests.support.shared_lab import ENV, SharedLab
from tests.support.shared_lab import HOST as NODE

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

HOST = f"{ENV}-new"
SLOTS = ("0000:18:00.0", "0000:19:00.0")
OTHER_KERNEL, OTHER_DRIVER = "6.1.0-0-other", "570.1.2"

TOGETHER: tuple[Fault, ...] = (
    *(skewed_clock, low_mtu, full_disk, duplicate_address),
    *(other_cluster, missing_gpus, crashing_service),
)


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Iterator[Project]:
    project = shared_lab.take()
    try:
        deliver(project, "new")
        # From now on nothing may change on its system.
        project.on(HOST, "cloud-init status --wait; touch /run/delivered")
        yield project
    finally:
        take_away(project, "new")


def look(project: Project, name: str, *options: str) -> tuple[str, list[str]]:
    """Return state and messages of one machine."""
    words = ("--limit", name, "--preflight", "--json", *(("--", *options) if options else ()))
    verdict = json.loads(project.longhaul("hosts", *words, check=False).stdout)["hosts"][name]
    return verdict["state"], verdict["messages"]


def assert_refused(project: Project, caught: Sequence[Caught]) -> None:
    """Check that the host is refused for exactly these faults, all in one report."""
    state, messages = look(project, HOST, *(word for one in caught for word in one.options))
    assert state == "refused", messages
    patterns = [one.says for one in caught]
    assert [message for message in messages if not any(re.fullmatch(one, message) for one in patterns)] == []
    assert [one for one in patterns if not any(re.fullmatch(one, message) for message in messages)] == []


def test_another_host_s_key_is_caught(project: Project) -> None:
    with wrong_host_key(project, HOST) as caught:
        assert_refused(project, [caught])


def test_all_of_it_is_in_one_report(project: Project) -> None:
    with ExitStack() as stack:
        assert_refused(project, [stack.enter_context(fault(project, HOST)) for fault in TOGETHER])


def test_nothing_of_the_host_was_touched(project: Project) -> None:
    found = project.on(HOST, "find /etc /opt /root /usr -xdev -type f -newer /run/delivered").stdout
    assert found.split() == []


@pytest.fixture(scope="module", name="library")
def _library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return base64.b64encode(build(tmp_path_factory.mktemp("nvml")).read_bytes()).decode()


@pytest.fixture(name="equipped")
def _equipped(project: Project, library: str) -> Iterator[Project]:
    """The project with two GPUs in the node, their library, and the promise of them on the node and in the hosts
    file."""
    promise = "/etc/longhaul/node.json"
    words = f"import json; d = json.load(open('{promise}')); d['gpus'] = 2; json.dump(d, open('{promise}', 'w'))"
    script = f"""
      cp -p {promise} /root/promise
      python3 -c "{words}"
      echo {library} | base64 -d > /usr/local/lib/{NAME}
      ldconfig
    """
    undo = f"mv /root/promise {promise}; rm -f /usr/local/lib/{NAME} {DEFAULT}; ldconfig"
    # Role nvidia_driver would require a kernel of the machine's own, which a lab's machine does not have.
    promised = declared(project, NODE, gpus=2, gpu_driver="provided")
    with on(project, NODE, script, undo=undo), promised, bus(project, NODE, SLOTS):
        has(project)
        yield project


def has(project: Project, **second: int) -> None:
    """Give the node two GPUs, the second with changed values."""
    machine = StandInMachine(gpus=(gpu(0), gpu(1, **second)))
    project.on(NODE, f"cat > {DEFAULT} <<'END'\n{machine.text()}END")


def test_gpus_that_are_well_are_fit(equipped: Project) -> None:
    with nvidia_module(equipped, NODE, DRIVER):
        assert look(equipped, NODE) == ("ready", [])


def test_pending_ecc_retirement_is_caught(equipped: Project) -> None:
    has(equipped, retirement_pending=1)
    line = f"EccRetirementPending {gpu(1).uuid}: pages of its memory wait to be retired: reboot"
    with nvidia_module(equipped, NODE, DRIVER):
        assert look(equipped, NODE) == ("refused", [line])


def test_a_driver_that_is_not_for_the_kernel_is_caught(equipped: Project) -> None:
    kernel = equipped.on(NODE, "uname -r").stdout.strip()
    folder = f"/lib/modules/{OTHER_KERNEL}"
    line = (
        f"DriverNotForKernel: no NVIDIA module is installed for the running kernel {kernel}, only for {OTHER_KERNEL}: "
        f"install its headers and build it (dkms autoinstall -k {kernel}), or boot the kernel that the image pins"
    )
    script = f"mkdir -p {folder}/updates/dkms; touch {folder}/updates/dkms/nvidia.ko"
    with on(equipped, NODE, script, undo=f"rm -r {folder}"):
        assert look(equipped, NODE) == ("refused", [line])


def test_a_module_of_another_version_than_its_libraries_is_caught(equipped: Project) -> None:
    said = f"the kernel runs {OTHER_DRIVER}, the libraries are of {DRIVER}: install both of one version, then reboot"
    with nvidia_module(equipped, NODE, OTHER_DRIVER):
        assert look(equipped, NODE) == ("refused", [f"DriverMismatch: {said}"])


def test_stopped_services_of_what_was_set_up_are_caught(project: Project) -> None:
    gateway = f"{ENV}-gw-0"
    for name, unit in ((gateway, "strongswan"), (NODE, "kubelet")):
        line = f"{unit}.service does not run (inactive (dead), Result=success)"
        with on(project, name, f"systemctl stop {unit}", undo=f"systemctl start {unit}"):
            assert look(project, name) == ("refused", [line])


@pytest.mark.parametrize("name", [HOST, NODE])
def test_without_faults_it_is_fit(project: Project, name: str) -> None:
    assert look(project, name) == ("ready", [])
