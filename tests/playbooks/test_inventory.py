"""The inventory: its hosts, their addresses, and that only pinned keys count."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.model import Environment, load
from longhaul.cli.examples import example_project
from longhaul.racks.ansible_script import PROJECT
from longhaul.racks.inventory import Reach, has_hosts, inventory, known_hosts
from tests.support.hosts import production_with

REACH = Reach(known_hosts=Path("/k n/own"), control_folder=Path("/c"), user="root", key="/key")


@pytest.fixture(name="environment", scope="module")
def _environment(root: Path) -> Environment:
    return load(root / "stacks" / "Pulumi.lab.yaml")


@pytest.fixture(name="found", scope="module")
def _found(environment: Environment) -> dict[str, Any]:
    return inventory(environment, REACH, more={"kubectl": "/bin/kubectl"})


def test_gateways_nodes_and_a_group_a_site(found: dict[str, Any]) -> None:
    assert found["gateways"]["hosts"] == ["lab-gw-0"]
    assert found["nodes"]["hosts"] == ["lab-node-0"]
    assert found["site_rack"]["hosts"] == ["lab-gw-0", "lab-node-0"]
    assert found["site_rack"]["vars"] == {
        "depot": "https://depot.longhaul.internal",
        "site_block": "10.66.0.0/16",
        "quarantined": [],
    }
    assert found["all"]["vars"]["depot_authority"].startswith("-----BEGIN CERTIFICATE-----")
    assert found["all"]["children"] == ["gateways", "nodes", "site_rack"]


def test_a_host_in_quarantine_is_given_to_its_site_s_machines_and_not_set_up(environment: Environment) -> None:
    (host,) = environment.hosts
    lost = environment.model_copy(update={"hosts": (host.model_copy(update={"quarantined": True}),)})
    found = inventory(lost, REACH, more={})
    assert found["site_rack"]["hosts"] == ["lab-gw-0"]
    assert found["site_rack"]["vars"]["quarantined"] == ["10.66.32.10/32", "10.66.128.0/28"]
    assert known_hosts(lost) == known_hosts(environment), "an operator looks at it"


def test_a_gateway_is_reached_by_its_public_address_and_a_node_inside(found: dict[str, Any]) -> None:
    hosts = found["_meta"]["hostvars"]
    assert hosts["lab-gw-0"]["ansible_host"] == hosts["lab-gw-0"]["public_address"] == "198.51.100.20"
    assert hosts["lab-gw-0"]["address"] == "10.66.0.10"
    assert hosts["lab-node-0"]["ansible_host"] == hosts["lab-node-0"]["address"] == "10.66.32.10"


def test_only_pinned_keys_count(environment: Environment, found: dict[str, Any]) -> None:
    words = found["all"]["vars"]["ansible_ssh_common_args"]
    assert "StrictHostKeyChecking=yes" in words
    assert """'UserKnownHostsFile="/k n/own"'""" in words
    assert "GlobalKnownHostsFile=/dev/null" in words
    assert "HostKeyAlias=lab-gw-0" in found["_meta"]["hostvars"]["lab-gw-0"]["ansible_ssh_extra_args"]
    gateway, node = known_hosts(environment).splitlines()
    assert gateway.split() == ["lab-gw-0", *found["_meta"]["hostvars"]["lab-gw-0"]["host_key"].split()]
    assert node.split()[0] == "lab-node-0"


def test_who_asks_for_an_answer_now_waits_for_no_boot(environment: Environment) -> None:
    patient, now = (
        inventory(environment, replace(REACH, patient=patient), more={})["all"]["vars"] for patient in (True, False)
    )
    assert "ConnectionAttempts=8" in patient["ansible_ssh_common_args"]
    assert not {"ansible_ssh_timeout", "preflight_ssh_retries"} & patient.keys()
    assert "ConnectionAttempts=1 -o ConnectTimeout=8" in now["ansible_ssh_common_args"]
    assert (now["ansible_ssh_timeout"], now["preflight_ssh_retries"], now["ansible_ssh_retries"]) == (8, 0, 2)


def test_a_machine_without_a_pinned_key_is_listed_with_the_place_for_it(root: Path, tmp_path: Path) -> None:
    for name in ("Pulumi.prod.yaml", "hosts.prod.yaml"):
        text = (root / "examples" / name).read_text()
        (tmp_path / name).write_text(re.sub(r",? *host_key: ssh-ed25519 [\w+/]+", "", text))
    environment = load(tmp_path / "Pulumi.prod.yaml")
    host = inventory(environment, REACH, more={})["_meta"]["hostvars"]["prod-gpu-07"]
    assert host["host_key"] is None
    assert host["gpus"] == 8
    assert host["host_key_place"] == "hosts, gpu-07, in stacks/hosts.prod.yaml"
    assert known_hosts(environment) == ""


def test_no_secret_and_no_file_of_a_host_is_in_it(found: dict[str, Any]) -> None:
    """The plays ask for these when they need them: many people see and store an inventory."""
    text = json.dumps(found)
    assert "tunnel" not in text.replace("tunnel_mss", "")
    assert "PRIVATE" not in text


def test_thousands_of_hosts_are_as_many_short_entries(tmp_path: Path) -> None:
    environment = load(production_with(2000, directory=tmp_path))
    found = inventory(environment, REACH, more={})
    assert len(found["nodes"]["hosts"]) == 2000
    assert len(json.dumps(found)) < 2000 * 600


def test_an_environment_without_racks_has_none(environment: Environment) -> None:
    sites = {name: site for name, site in environment.sites.items() if name != "rack"}
    assert has_hosts(environment)
    assert not has_hosts(environment.model_copy(update={"sites": sites, "hosts": ()}))


def script(root: Path, home: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script as Ansible does, with the first Python on PATH."""
    variables = {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home), **environ}
    path = str(root / "playbooks" / "inventory.py")
    return subprocess.run([path, *words], env=variables, capture_output=True, text=True, check=False, cwd=home)


@pytest.mark.parametrize("variable", ["LONGHAUL_ENV", "PULUMI_STACK"])
def test_the_script_takes_the_environment_from_a_variable(root: Path, tmp_path: Path, variable: str) -> None:
    with example_project("prod") as project:
        done = script(root, tmp_path, "--list", **{variable: "prod", PROJECT: str(project.root)})
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    pinned = next(tmp_path.rglob("prod.known_hosts"))
    assert str(pinned) in found["all"]["vars"]["ansible_ssh_common_args"]
    assert stat.S_IMODE(pinned.stat().st_mode) == 0o600
    folder = Path(found["all"]["vars"]["ansible_control_path_dir"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_script_says_which_environments_there_are(root: Path, tmp_path: Path) -> None:
    done = script(root, tmp_path, "--list")
    assert done.returncode == 2
    assert "LONGHAUL_ENV" in done.stderr
    assert "(here: full, lab" in done.stderr
    assert done.stdout == ""


def test_ansible_reads_it(root: Path, tmp_path: Path) -> None:
    """Ansible's own parser accepts the names of groups and variables."""
    argv = [str(Path(sys.executable).with_name("ansible-inventory")), "-i", str(root / "playbooks" / "inventory.py")]
    environ = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": os.environ["PATH"]}
    environ |= {"LONGHAUL_ENV": "prod", "LC_ALL": "C.UTF-8"}
    with example_project("prod") as project:
        environ[PROJECT] = str(project.root)
        done = subprocess.run(
            [*argv, "--host", "prod-gpu-39"], env=environ, capture_output=True, text=True, check=False, cwd=tmp_path
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["declared_name"] == "gpu-39"
    assert "WARNING" not in done.stderr
