"""Ports on the loopback address of an API server's machine: each is one program's."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from kube_apiserver import checks as api_checks

from components.model.teams.queues import MANAGERS
from contract.ports import ACCOUNTANT_PORT, AUTOSCALER_PORT, NODE_CONTROLLER_PORT

TAKEN = re.compile(r"--(?:secure-port=|(?:healthz-|metrics-)?bind-address=\S+:)(\d+)|^SocketBindAllow=\S+:(\d+)$", re.M)
"""Ports that a unit takes."""
CHECKED = {
    "CONTROLLER_MANAGER": "kube-controller-manager",
    "NODE_SIGNER": "kube-node-signer",
    "SCHEDULER": "kube-scheduler",
    "NODE_CONTROLLER": "longhaul-node-controller",
    "AUTOSCALER": "longhaul-autoscaler",
    "ACCOUNTANT": "longhaul-accountant",
}
"""Units by the names of their checks' addresses."""


def test_no_port_of_an_api_server_s_machine_is_two_programs(rootfs: Path) -> None:
    owners: dict[int, set[str]] = defaultdict(set)
    ports: dict[str, set[int]] = defaultdict(set)
    for program, port in claims(rootfs):
        owners[port].add(program)
        ports[program].add(port)
    assert {port: names for port, names in owners.items() if len(names) > 1} == {}
    assert {name: len(ports[name]) for name in (*CHECKED.values(), "kueue", "jobset")} == {
        **dict.fromkeys(CHECKED.values(), 1),
        "kueue": 3,
        "jobset": 2,
    }


def test_what_is_checked_is_all_that_the_machine_s_target_starts(rootfs: Path) -> None:
    """A new program's port is to be among those above."""
    text = (rootfs / "etc/systemd/system/longhaul-api.target").read_text()
    (after,) = re.findall(r"^After=(.*)$", text, re.M)
    started = {name.removesuffix(".service") for name in after.split()}
    assert started == {*CHECKED.values(), *api_checks.QUEUES, "kube-apiserver", "longhaul-join"}


def claims(rootfs: Path) -> Iterator[tuple[str, int]]:
    """Give each program with each port that some file says is its."""
    units = rootfs / "etc/systemd/system"
    for name in (*CHECKED.values(), *api_checks.QUEUES):
        for found in TAKEN.findall((units / f"{name}.service").read_text()):
            yield name, int("".join(found))
    for constant, name in CHECKED.items():
        yield name, _port(getattr(api_checks, constant))
    for name, url in api_checks.QUEUES.items():
        yield name, _port(url)
    for manager in MANAGERS:
        yield from ((manager.name, port) for port in (manager.port, manager.health_port))
        found = yaml.safe_load((rootfs / f"usr/local/share/longhaul/{manager.name}.yaml").read_text())
        yield manager.name, int(found["webhook"]["port"])
        for address in (found["health"]["healthProbeBindAddress"], found["metrics"]["bindAddress"]):
            if address != "0":
                yield manager.name, int(address.rpartition(":")[2])
    yield "longhaul-node-controller", NODE_CONTROLLER_PORT
    yield "longhaul-autoscaler", AUTOSCALER_PORT
    yield "longhaul-accountant", ACCOUNTANT_PORT


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port
    return port
