"""Role nvidia_container_toolkit on a machine that runs containerd: the real toolkit, a stand-in for the driver."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from lab import image, packages
from lab.image import LabImages
from lab.nvml.machine import DEFAULT
from lab.signing import KEY
from longhaul.toolchain.cache import remove
from longhaul.toolchain.spec import repository
from longhaul.toolchain.trees import copy_system
from tests.support import gpu_depot, gpu_machine
from tests.support.gpu_depot import GpuDepot
from tests.support.nspawn_machine import NspawnMachine, booted

pytestmark = pytest.mark.lab

CRI = "io.containerd.cri.v1.runtime"
DROP_IN = "/etc/containerd/conf.d/50-nvidia.toml"
SPECIFICATION = "/run/cdi/nvidia.yaml"
PLAY = """\
- name: Converge
  hosts: all
  gather_facts: false
  vars:
    image: "{{ lookup('ansible.builtin.file', project ~ '/images/image.toml') | from_toml }}"
  roles:
    - role: rootfs
    - role: nvidia_container_toolkit
"""


@pytest.fixture(scope="module", name="images")
def _images(tmp_path_factory: pytest.TempPathFactory) -> LabImages:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    return image.bake(log_dir=tmp_path_factory.mktemp("log"), progress=print)


@pytest.fixture(scope="module", name="depot")
def _depot(tmp_path_factory: pytest.TempPathFactory) -> GpuDepot:
    return gpu_depot.ensure(tmp_path_factory.mktemp("log"))


@pytest.fixture(scope="module", name="machine")
def _machine(images: LabImages, depot: GpuDepot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NspawnMachine]:
    """Booted image of a node, with the driver's libraries and no module loaded."""
    folder = tmp_path_factory.mktemp("machine")
    packages.ensure(packages.C, log_dir=folder, progress=print)
    copy_system(images.node, folder / "root")
    gpu_machine.install(folder / "root")
    with booted(folder / "root", folder, binds={depot.root: "/mnt"}) as machine:
        machine.run("ldconfig; systemctl start containerd.service")
        yield machine
    remove(folder / "root")


Converge = Callable[..., dict[str, int]]


@pytest.fixture(scope="module", name="converge")
def _converge(machine: NspawnMachine, depot: GpuDepot, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Converge]:
    playbook = tmp_path_factory.mktemp("play") / "play.yml"
    playbook.write_text(PLAY)
    with gpu_depot.served(depot.root) as address:
        # The machine has its own loopback, and asks the same address there.
        server = f"python3 -m http.server {address.rpartition(':')[2]} --bind 127.0.0.1 --directory /mnt"
        machine.run(f"systemd-run --quiet --unit=depot {server}")
        machine.await_(f"curl --silent --fail {address}/binaries/SHA256SUMS", what="the depot answers")

        def converge(*words: str) -> dict[str, int]:
            found = machine.play(playbook, *words, project=str(repository()), depot=address, depot_key=KEY)
            assert found["failed"] == 0, machine.last_log.read_text()
            return found

        yield converge


def settings(machine: NspawnMachine) -> dict[str, Any]:
    """Return all of containerd's settings, as it reads them."""
    found: dict[str, Any] = tomllib.loads(machine.run("containerd config dump").stdout)
    return found


def runtimes(machine: NspawnMachine) -> dict[str, Any]:
    found: dict[str, Any] = settings(machine)["plugins"][CRI]["containerd"]["runtimes"]
    return found


def started(machine: NspawnMachine, unit: str = "containerd.service") -> str:
    return machine.run(f"systemctl show --value --property=ExecMainStartTimestampMonotonic {unit}").stdout


def test_containerd_gets_a_runtime_by_name_and_keeps_its_default(machine: NspawnMachine, converge: Converge) -> None:
    before = started(machine)
    assert converge()["changed"] > 0
    found = runtimes(machine)
    assert found["nvidia"]["runtime_type"] == found["runc"]["runtime_type"]
    assert found["nvidia"]["options"]["BinaryName"] == "/usr/local/bin/nvidia-container-runtime"
    assert found["nvidia"]["options"]["SystemdCgroup"] == found["runc"]["options"]["SystemdCgroup"]
    cri = settings(machine)["plugins"][CRI]
    assert (cri["containerd"]["default_runtime_name"], cri["enable_cdi"]) == ("runc", True)
    assert set(cri["cdi_spec_dirs"]) == {"/etc/cdi", "/var/run/cdi"}
    assert started(machine) != before
    # Without a driver there is nothing to describe; that is no error.
    assert machine.run(f"test -e {SPECIFICATION}", check=False).returncode == 1
    assert machine.run("systemctl is-active longhaul-gpu-cdi.path").stdout == "active\n"


def test_a_second_run_changes_nothing(machine: NspawnMachine, converge: Converge) -> None:
    before = started(machine)
    assert converge()["changed"] == 0, machine.last_log.read_text()
    assert converge("--check", "--diff")["changed"] == 0
    assert started(machine) == before


def test_other_tools_edits_survive_and_a_second_run_leaves_them_alone(
    machine: NspawnMachine, converge: Converge
) -> None:
    """A GPU operator edits these files: nvidia-ctk writes its own file into the folder and replaces config.toml. Older
    tools, and people, edit config.toml."""
    other = "/etc/containerd/conf.d/99-nvidia.toml"
    more = f"[plugins.'{CRI}'.containerd.runtimes.edited]\nruntime_type = 'io.containerd.runc.v2'\n"
    machine.run(
        "nvidia-ctk runtime configure --runtime=containerd --config=/etc/containerd/config.toml"
        " --nvidia-runtime-name=operator; cat >> /etc/containerd/config.toml <<'E'\n"
        f"{more}E\nsystemctl restart containerd.service"
    )
    edited = machine.run(f"cat /etc/containerd/config.toml {other}").stdout
    assert "# Longhaul's settings" not in edited, "nvidia-ctk did not write config.toml anew"
    before = started(machine)
    assert converge()["changed"] == 0, machine.last_log.read_text()
    assert machine.run(f"cat /etc/containerd/config.toml {other}").stdout == edited
    assert started(machine) == before
    assert {"runc", "nvidia", "operator", "edited"} <= set(runtimes(machine))
    # Longhaul's own settings still count, also after the check of the file at boot.
    machine.run("systemctl restart containerd.service")
    assert machine.run(f"cat /etc/containerd/config.toml {other}").stdout == edited
    assert settings(machine)["plugins"][CRI]["cni"]["conf_dir"] == "/run/longhaul/cni"


def test_a_loaded_driver_is_described_and_linked(machine: NspawnMachine, converge: Converge) -> None:
    gpu_machine.load(machine)
    assert converge()["changed"] > 0
    specification = yaml.safe_load(machine.run(f"cat {SPECIFICATION}").stdout)
    assert specification["kind"] == "nvidia.com/gpu"
    names = [device["name"] for device in specification["devices"]]
    assert names == ["0", "1", *(f"GPU-0000000{number}-0000-0000-0000-000000000000" for number in (0, 1)), "all"]
    hooks = {hook["path"] for hook in specification["containerEdits"]["hooks"]}
    assert hooks == {"/usr/local/bin/nvidia-cdi-hook"}
    for link, device in (("195:0", "nvidia0"), ("195:1", "nvidia1"), ("195:255", "nvidiactl"), ("235:0", "nvidia-uvm")):
        assert machine.run(f"readlink /dev/char/{link}").stdout == f"/dev/{device}\n"
    assert converge()["changed"] == 0, machine.last_log.read_text()


def test_the_unit_runs_at_boot_before_containerd_and_when_the_driver_changes(machine: NspawnMachine) -> None:
    unit = "longhaul-gpu-cdi.service"
    assert machine.run(f"systemctl is-enabled {unit}").stdout == "enabled\n"
    assert "containerd.service" in machine.run(f"systemctl show --value --property=Before {unit}").stdout
    machine.run(
        f"rm {SPECIFICATION}; mkdir -p /lib/modules/$(uname -r); date > /lib/modules/$(uname -r)/modules.dep.bin"
    )
    machine.await_(f"test -s {SPECIFICATION}", what="the driver's change is seen")


def test_a_driver_that_does_not_answer_is_a_failed_unit_and_no_empty_specification(machine: NspawnMachine) -> None:
    machine.run(f"cp {DEFAULT} /run/kept; sed -i 's/^init_result = 0/init_result = 9/' {DEFAULT}")
    before = machine.run(f"cat {SPECIFICATION}").stdout
    try:
        # A start would join one that the path unit has begun before.
        assert machine.run("systemctl restart longhaul-gpu-cdi.service", check=False).returncode != 0
        assert machine.run("journalctl -u longhaul-gpu-cdi.service -o cat | grep -c 'failed to'").stdout.strip() != "0"
        assert machine.run(f"cat {SPECIFICATION}").stdout == before
    finally:
        machine.run(f"cp /run/kept {DEFAULT}; systemctl start longhaul-gpu-cdi.service")


def test_what_an_interrupted_run_left_is_made_good(machine: NspawnMachine, converge: Converge) -> None:
    """The run was killed after the files were written and before containerd read them, with half a program and no unit
    enabled."""
    machine.run(
        "rm /var/lib/longhaul/settled/containerd-nvidia /var/lib/longhaul/settled/longhaul-gpu-cdi;"
        " systemctl disable --quiet longhaul-gpu-cdi.service; truncate -s 1000 /usr/local/bin/nvidia-cdi-hook;"
        f" truncate -s 10 {DROP_IN}"
    )
    before = started(machine)
    assert converge()["changed"] > 0
    assert started(machine) != before
    assert "nvidia" in runtimes(machine)
    assert machine.run("nvidia-cdi-hook --version").returncode == 0
    assert machine.run("systemctl is-enabled longhaul-gpu-cdi.service").stdout == "enabled\n"
    assert converge()["changed"] == 0, machine.last_log.read_text()
