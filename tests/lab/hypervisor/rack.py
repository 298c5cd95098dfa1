"""The rack of the tests of links."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from lab.racks import host_key
from lab.ssh import public_text
from tests.lab.hypervisor.conftest import Lab

RACK = {"kind": "onprem", "gateways": [{"name": "gw-0", "public_address": "198.51.100.20"}]}
RACK_GATEWAY, RACK_HOST = "10.65.0.10", "10.65.32.10"


def write_hosts(path: Path, count: int) -> None:
    """A hosts file with so many hosts."""
    path.write_text(json.dumps({"hosts": [{"name": f"node-{number}", "site": "rack"} for number in range(count)]}))


def tunnels(lab: Lab, name: str = "gw-near") -> dict[str, dict[str, Any]]:
    """A gateway's tunnels by name; none before a new daemon has heard of it."""
    gateways = [item for item in lab.status().get("gateways", ()) if item["name"] == name]
    return {item["name"]: item for found in gateways for item in found["tunnels"]}


def ssh(lab: Lab, address: str, command: str) -> subprocess.CompletedProcess[str]:
    """A command on a rack's machine as the operator runs it."""
    name = f"test-links-{'gw-0' if address == RACK_GATEWAY else 'node-0'}"
    known = lab.state.directory / "known_hosts"
    known.write_text(f"{address} {public_text(host_key('test-links', name))}\n")
    options = f"-o StrictHostKeyChecking=yes -o UserKnownHostsFile={known} -o BatchMode=yes"
    return lab.enter("sh", "-c", f'ssh {options} -i "$LONGHAUL_SSH_KEY" root@{address} "{command}"')
