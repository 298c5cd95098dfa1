"""The role preflight as Ansible runs it on this machine, which is not one of the environment's. Facts about GPUs are
invented: python3 on the machine is a stand-in, which knows the role's scripts by their arguments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.playbooks.test_preflight import API
from tests.playbooks.test_scripts import ROLES, program

EVERYWHERE = {
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
    "site": "rack",
    "host_key": "ssh-ed25519 AAAA",
    "host_key_place": "hosts, gpu-0, in stacks/it's.yaml",
    "ansible_host": "127.0.0.1",
    "api_url": API,
    "node_authority": "lab nodes",
    "inside_mtu": 1400,
    # Who runs the test may have come in by SSH from anywhere.
    "preflight_ssh": [],
    "operators": [],
    "operators_inside": [],
}
GATEWAY = {"address": "203.0.113.10", "public_address": "203.0.113.1"}
NODE = {"address": "203.0.113.20"}
SEEN = {
    "system": "debian-12",
    "gpus": ["2330"],
    "switches": 0,
    "kernels": ["6.1.0-44-amd64"],
    "running": "6.1.0-44-amd64",
    "booted": True,
    "modules": {},
    "headers": [],
    "loaded": "",
    "nouveau": False,
    "secure_boot": True,
    "users": ["train (7)"],
    "packages": {"nvidia-open-kernel-dkms": "530.1-1"},
    "held": [],
    "unfinished": [],
}
"""Output of role nvidia_driver's look.py. Two things are wrong; the second matters only to that role."""
SIGNED = "Secure Boot is on, so the kernel refuses modules that were built here"
PYTHON = """\
case $# in
  3) exit 0 ;; # the question whether it is there
  2) echo "$2" >{folder}/asker-$PPID
     [ "$2" != {plain} ] || exec {python} "$@" # duplicate.py
     cat >/dev/null; exit ;;
esac
host={folder}/$(cat {folder}/asker-$PPID)
case $# in
  4) cat >/dev/null; echo "$*" >$host/asked; cat $host/gpus ;;
  1) cat >/dev/null; cat $host/driver ;;
  *) exit 2 ;;
esac
"""


class Role:
    """One run of the playbook that uses the role, on several hosts, with Ansible's result."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder, self.tools = root, folder, folder / "tools"
        self.tools.mkdir()
        for plugins in ("callback_plugins", "filter_plugins"):
            (folder / plugins).symlink_to(root / "playbooks" / plugins)
        program(self.tools, "ping", f'echo "$*" >> {folder}/pings')
        text = PYTHON.format(folder=folder, plain=NODE["address"], python=sys.executable)
        program(self.tools, "python3", text)
        self.nodes: dict[str, dict[str, Any]] = {"node": NODE}
        self.problems: dict[str, list[str]] = {}

    def has(self, name: str, **variables: Any) -> Path:
        """Add a node with the variables; return the folder with what its tools answer."""
        address = f"203.0.113.{21 + len(self.nodes)}"
        self.nodes[name] = {"address": address, **variables}
        (self.folder / address).mkdir()
        return self.folder / address

    def has_gpus(self, name: str, *lines: str, driver: str = json.dumps(SEEN), **variables: Any) -> None:
        """Add a node with two GPUs and the output of the scripts that look at them."""
        folder = self.has(name, gpus=2, **variables)
        (folder / "gpus").write_text("".join(f"{line}\n" for line in lines))
        (folder / "driver").write_text(f"{driver}\n")

    def asked(self, name: str) -> str:
        """Return the arguments of the script that looked at a node's GPUs."""
        return (self.folder / self.nodes[name]["address"] / "asked").read_text()

    def run(self, *, alone: bool) -> None:
        """Run the playbook and note the problems of each host."""
        play = (self.root / "playbooks" / "preflight.yml").read_text().replace("become: true", "become: false")
        if not alone:
            play = play.replace("      vars:\n        preflight_alone: true\n", "")
            assert "preflight_alone" not in play
        (self.folder / "play.yml").write_text(play)
        hosts = {"gw": GATEWAY, **self.nodes}
        groups = {"gateways": {"hosts": {"gw": {}}}, "nodes": {"hosts": {name: {} for name in self.nodes}}}
        inventory = {"all": {"hosts": hosts, "vars": EVERYWHERE, "children": groups}}
        (self.folder / "inventory.json").write_text(json.dumps(inventory))
        variables = {
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_CONFIG": str(ROLES.parent / "ansible.cfg"),
            "ANSIBLE_ROLES_PATH": str(ROLES),
            "LONGHAUL_VERDICTS": str(self.folder / "verdicts.json"),
        }
        ansible = str(Path(sys.executable).with_name("ansible-playbook"))
        argv = [ansible, "--inventory", str(self.folder / "inventory.json"), str(self.folder / "play.yml")]
        done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False, cwd=self.folder)
        assert "Traceback" not in done.stdout + done.stderr
        verdicts = json.loads((self.folder / "verdicts.json").read_text())["hosts"]
        for host in verdicts.values():
            assert (host["state"], host["failed"]["role"]) == ("failed", "preflight"), done.stdout
        self.problems = {name: host["failed"]["messages"] for name, host in verdicts.items()}

    def about_gpus(self, name: str) -> list[str]:
        """Return the problems of a host that are no everyday ones of this machine."""
        return [each for each in self.problems[name] if not each.startswith(("no interface has", "systemd does not"))]


def begin(root: Path, folder: Path) -> Role:
    role = Role(root, folder)
    role.has_gpus("ill", "problem one is missing", "unhealthy another is ill")
    role.has_gpus("joined", "fact node", "unhealthy another is ill")
    return role


@pytest.fixture(name="role", scope="module")
def _role(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Role:
    """The playbook that only looks, run once on a host for each test."""
    role = begin(root, tmp_path_factory.mktemp("alone"))
    now = int(time.time())
    role.has("late", preflight_now=now + 7200)
    role.has("early", preflight_now=str(now - 7200))
    for name in ("node_gpu_driver", "gpu_driver"):
        role.has_gpus(name, **{name: "provided"})
    role.has_gpus("without", "problem none is there", driver=json.dumps({**SEEN, "gpus": []}))
    role.has("blind", gpus=2)
    role.run(alone=True)
    return role


@pytest.fixture(name="first", scope="module")
def _first(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Role:
    """The same as the beginning of a run that sets hosts up."""
    role = begin(root, tmp_path_factory.mktemp("first"))
    role.run(alone=False)
    return role


def test_the_probe_is_given_what_it_takes_and_each_problem_is_reported(role: Role) -> None:
    assert set(role.problems) == {"gw", *role.nodes}
    for name, host in (("gw", GATEWAY), ("node", NODE)):
        assert any(f"no interface has {host['address']}" in message for message in role.problems[name])
        assert not any(message.startswith(("problem", "unhealthy")) for message in role.problems[name])
        assert not any("its clock" in message for message in role.problems[name])
    # Only nodes ping their site's gateway, with both sizes.
    pings = [line.split() for line in (role.folder / "pings").read_text().splitlines()]
    sizes = ("56", "1372")
    expected = sorted((size, "203.0.113.10") for size in sizes for _ in role.nodes)
    assert sorted((words[-2], words[-1]) for words in pings) == expected


def test_a_clock_is_compared_with_the_reference(role: Role) -> None:
    for name, side in (("late", "behind"), ("early", "ahead of")):
        (message,) = [message for message in role.problems[name] if "its clock" in message]
        pattern = rf"its clock is (\d+) seconds {side} this machine: let both follow a time server"
        seconds = re.fullmatch(pattern, message)
        assert seconds is not None, message
        assert int(seconds[1]) > 3600


def test_gpus_are_looked_at_where_they_are_declared(role: Role) -> None:
    first, second, third = role.about_gpus("ill")
    assert (first, second) == ("one is missing", "another is ill")
    assert third.startswith(SIGNED)
    assert role.about_gpus("node") == role.about_gpus("gw") == []
    assert role.asked("ill") == "- 2 installed hosts, gpu-0, in stacks/it's.yaml\n"


def test_before_a_run_only_what_it_cannot_repair_is_wrong(first: Role) -> None:
    missing, unsigned = first.about_gpus("ill")
    assert missing == "one is missing"
    assert unsigned.startswith(SIGNED)


def test_the_driver_of_a_node_is_left_to_its_role(role: Role, first: Role) -> None:
    assert first.about_gpus("joined") == []
    ill, unsigned = role.about_gpus("joined")
    assert ill == "another is ill"
    assert unsigned.startswith(SIGNED)


@pytest.mark.parametrize("name", ["node_gpu_driver", "gpu_driver"])
def test_a_provided_driver_is_not_judged_as_one_of_ours(role: Role, name: str) -> None:
    assert role.about_gpus(name) == []
    assert role.asked(name).split()[2] == "provided"


def test_without_a_gpu_on_the_bus_nothing_is_said_of_its_driver(role: Role) -> None:
    assert role.about_gpus("without") == ["none is there"]


def test_what_cannot_be_looked_at_is_said(role: Role) -> None:
    gpus, drivers = role.about_gpus("blind")
    assert gpus.startswith("its GPUs cannot be looked at")
    assert drivers.startswith("its kernels and drivers cannot be looked at")
