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
  2) cat >/dev/null ;; # duplicate.py
  4) cat >/dev/null; echo "$*" >>{folder}/asked; cat {folder}/gpus ;;
  1) cat >/dev/null; cat {folder}/driver ;;
  *) exit 2 ;;
esac
"""


class Role:
    """The playbooks that use the role, with Ansible's result."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder, self.tools = root, folder, folder / "tools"
        self.tools.mkdir()
        for plugins in ("callback_plugins", "filter_plugins"):
            (folder / plugins).symlink_to(root / "playbooks" / plugins)
        program(self.tools, "ping", f'echo "$*" >> {folder}/pings')

    def has_gpus(self, *lines: str, driver: str = json.dumps(SEEN)) -> None:
        """Set the output of the scripts that look at GPUs."""
        program(self.tools, "python3", PYTHON.format(folder=self.folder))
        (self.folder / "gpus").write_text("".join(f"{line}\n" for line in lines))
        (self.folder / "driver").write_text(f"{driver}\n")

    def run(self, *words: str, nodes: dict[str, dict[str, Any]], alone: bool = True) -> dict[str, list[str]]:
        """Run the playbook and return the problems of each host."""
        play = (self.root / "playbooks" / "preflight.yml").read_text().replace("become: true", "become: false")
        if not alone:
            play = play.replace("      vars:\n        preflight_alone: true\n", "")
            assert "preflight_alone" not in play
        (self.folder / "play.yml").write_text(play)
        hosts = {"gw": GATEWAY, **nodes}
        groups = {"gateways": {"hosts": {"gw": {}}}, "nodes": {"hosts": {name: {} for name in nodes}}}
        inventory = {"all": {"hosts": hosts, "vars": EVERYWHERE, "children": groups}}
        (self.folder / "inventory.json").write_text(json.dumps(inventory))
        variables = {
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_ROLES_PATH": str(ROLES),
            "LONGHAUL_VERDICTS": str(self.folder / "verdicts.json"),
        }
        ansible = str(Path(sys.executable).with_name("ansible-playbook"))
        argv = [ansible, "--inventory", str(self.folder / "inventory.json"), *words, str(self.folder / "play.yml")]
        done = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False, cwd=self.folder)
        assert "Traceback" not in done.stdout + done.stderr
        found = json.loads((self.folder / "verdicts.json").read_text())["hosts"]
        for host in found.values():
            assert (host["state"], host["failed"]["role"]) == ("failed", "preflight"), done.stdout
        return {name: host["failed"]["messages"] for name, host in found.items()}


@pytest.fixture(name="role")
def _role(root: Path, tmp_path: Path) -> Role:
    return Role(root, tmp_path)


def test_the_probe_is_given_what_it_takes_and_each_problem_is_reported(role: Role) -> None:
    found = role.run(nodes={"node": NODE})
    assert set(found) == {"gw", "node"}
    for name, host in (("gw", GATEWAY), ("node", NODE)):
        assert any(f"no interface has {host['address']}" in message for message in found[name])
        assert not any(message.startswith(("problem", "unhealthy")) for message in found[name])
        assert not any("its clock" in message for message in found[name])
    # Only the node pings its site's gateway, with both sizes.
    pings = [line.split() for line in (role.folder / "pings").read_text().splitlines()]
    assert [(words[-2], words[-1]) for words in pings] == [("56", "203.0.113.10"), ("1372", "203.0.113.10")]


def test_a_clock_is_compared_with_the_reference(role: Role) -> None:
    now = int(time.time())
    late, early = {**NODE, "preflight_now": now + 7200}, {**NODE, "preflight_now": str(now - 7200)}
    found = role.run("--limit", "nodes", nodes={"late": late, "early": early})
    for name, side in (("late", "behind"), ("early", "ahead of")):
        (said,) = [message for message in found[name] if "its clock" in message]
        seconds = re.fullmatch(rf"its clock is (\d+) seconds {side} this machine: let both follow a time server", said)
        assert seconds is not None, said
        assert int(seconds[1]) > 3600


def about_gpus(messages: list[str]) -> list[str]:
    return [one for one in messages if not one.startswith(("no interface has", "systemd does not run"))]


def test_gpus_are_looked_at_where_they_are_declared(role: Role) -> None:
    role.has_gpus("problem one is missing", "unhealthy another is ill")
    found = role.run(nodes={"gpu": {**NODE, "gpus": 2}, "other": {"address": "203.0.113.21"}})
    first, second, third = about_gpus(found["gpu"])
    assert (first, second) == ("one is missing", "another is ill")
    assert third.startswith(SIGNED)
    assert about_gpus(found["other"]) == about_gpus(found["gw"]) == []
    assert (role.folder / "asked").read_text() == "- 2 installed hosts, gpu-0, in stacks/it's.yaml\n"


def test_before_a_run_only_what_it_cannot_repair_is_wrong(role: Role) -> None:
    role.has_gpus("problem one is missing", "unhealthy another is ill")
    first, second = about_gpus(role.run(nodes={"gpu": {**NODE, "gpus": 2}}, alone=False)["gpu"])
    assert first == "one is missing"
    assert second.startswith(SIGNED)


def test_the_driver_of_a_node_is_left_to_its_role(role: Role) -> None:
    role.has_gpus("fact node", "unhealthy another is ill")
    assert about_gpus(role.run(nodes={"gpu": {**NODE, "gpus": 2}}, alone=False)["gpu"]) == []
    first, second = about_gpus(role.run(nodes={"gpu": {**NODE, "gpus": 2}})["gpu"])
    assert first == "another is ill"
    assert second.startswith(SIGNED)


def test_a_provided_driver_is_not_judged_as_one_of_ours(role: Role) -> None:
    role.has_gpus()
    named = {name: {**NODE, "gpus": 2, name: "provided"} for name in ("node_gpu_driver", "gpu_driver")}
    found = role.run(nodes=named)
    assert [about_gpus(found[name]) for name in named] == [[], []]
    asked = (role.folder / "asked").read_text().splitlines()
    assert [line.split()[2] for line in asked] == ["provided", "provided"]


def test_without_a_gpu_on_the_bus_nothing_is_said_of_its_driver(role: Role) -> None:
    role.has_gpus("problem none is there", driver=json.dumps({**SEEN, "gpus": []}))
    assert about_gpus(role.run(nodes={"gpu": {**NODE, "gpus": 2}})["gpu"]) == ["none is there"]


def test_what_cannot_be_looked_at_is_said(role: Role) -> None:
    role.has_gpus()
    for name in ("gpus", "driver"):
        (role.folder / name).unlink()
    first, second = about_gpus(role.run(nodes={"gpu": {**NODE, "gpus": 2}})["gpu"])
    assert first.startswith("its GPUs cannot be looked at")
    assert second.startswith("its kernels and drivers cannot be looked at")
