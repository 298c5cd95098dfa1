"""Many cases in one run of Ansible, which takes most of a second to begin: each is a host's own tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.support.project import REPOSITORY

PLAYBOOKS = REPOSITORY / "playbooks"


def run_cases(
    folder: Path, cases: Mapping[str, Sequence[Mapping[str, Any]]], *, vars_files: Sequence[Path] = ()
) -> dict[str, dict[str, Any]]:
    """Run the tasks of each case on this machine, as one of several hosts, and return its verdict."""
    hosts = {f"host-{number}": name for number, name in enumerate(cases)}
    for host, name in hosts.items():
        (folder / f"{host}.yml").write_text(yaml.safe_dump(list(cases[name])))
    connection = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory = {"all": {"hosts": {host: {} for host in hosts}, "vars": connection}}
    (folder / "inventory.json").write_text(json.dumps(inventory))
    play = {"hosts": "all", "gather_facts": False, "strategy": "free", "vars_files": list(map(str, vars_files))}
    play["tasks"] = [{"ansible.builtin.include_tasks": "{{ inventory_hostname }}.yml"}]
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    environ = {
        **os.environ,
        "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
        "ANSIBLE_CALLBACK_PLUGINS": str(PLAYBOOKS / "callback_plugins"),
        "ANSIBLE_CALLBACKS_ENABLED": "verdicts",
        "ANSIBLE_LOOKUP_PLUGINS": str(PLAYBOOKS / "lookup_plugins"),
        "LONGHAUL_VERDICTS": str(folder / "verdicts.json"),
        "no_proxy": "*",
    }
    argv = [sys.executable, "-m", "ansible", "playbook", "--inventory", str(folder / "inventory.json")]
    done = subprocess.run([*argv, str(folder / "play.yml")], env=environ, capture_output=True, text=True, check=False)
    verdicts = json.loads((folder / "verdicts.json").read_text())["hosts"]
    assert set(verdicts) == set(hosts), done.stdout + done.stderr
    return {name: verdicts[host] for host, name in hosts.items()}
