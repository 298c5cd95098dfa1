"""Hosts that join a lab while it runs."""

from __future__ import annotations

from typing import Any

import yaml

from lab import control
from lab.state import LabState
from tests.support.project import Project, eventually, host_key, hybrid


def hosts_alone(env: str, *, supernet: str) -> dict[str, Any]:
    """Return a small control plane, a rack with its gateway, and nothing in AWS."""
    raw = hybrid(env, supernet=supernet, etcd=1, events=1, api=1)
    del raw["sites"]["use1"], raw["pools"]
    return raw


def add_hosts(project: Project, *names: str, **more: Any) -> None:
    """Write hosts into the environment's list, before its lab is up; each gets the fields in ``more``."""
    raw = project.read()
    path = project.stack_file.parent / raw["bare_metal"]
    hosts = yaml.safe_load(path.read_text(encoding="utf-8"))
    hosts["hosts"] += [
        {"name": name, "site": "rack", "host_key": host_key(project.env, name), **more} for name in names
    ]
    path.write_text(yaml.safe_dump(hosts, sort_keys=False), encoding="utf-8")


def deliver(project: Project, *names: str, **more: Any) -> list[str]:
    """Add bare hosts to a lab that is up: switched on, and known to the cluster. Return their nodes' names."""
    add_hosts(project, *names, **more)
    _refresh(project)
    project.longhaul("up", "--yes", "--only", "objects", "--", "--skip-preview")
    nodes = [f"{project.env}-{name}" for name in names]
    for node in nodes:
        await_ssh(project, node)
    return nodes


def take_away(project: Project, *names: str) -> None:
    """Remove hosts from a lab that is up and from its environment's list; return when nothing of them is left."""
    path = project.stack_file.parent / project.read()["bare_metal"]
    hosts = yaml.safe_load(path.read_text(encoding="utf-8"))
    hosts["hosts"] = [host for host in hosts["hosts"] if host["name"] not in names]
    path.write_text(yaml.safe_dump(hosts, sort_keys=False), encoding="utf-8")
    _refresh(project)
    eventually(lambda: not any(project.phase(f"{project.env}-{name}") for name in names))


def _refresh(project: Project) -> None:
    """Make the lab read the list again."""
    control.request(LabState.of(project.env, root=project.path / ".lab"), "POST", "/refresh")


def await_ssh(project: Project, node: str) -> None:
    """Wait until a machine that was switched on accepts connections."""
    words = (node, "--", "systemctl", "is-active", "ssh.service")
    eventually(lambda: project.longhaul("shell", *words, check=False).returncode == 0)
