"""Gives drills access to an environment in the lab: commands on its machines, its API as the operator, its status."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from components.model import Environment, control_machines, plan
from components.model.network.api_address import api_url
from lab import control, tools
from lab.hypervisor.machines import local_disk
from lab.machine_commands import entering
from lab.project import LabProject
from lab.state import LabError, write_atomically
from lab.tenants import host_of

COMMAND_S = 60.0
"""Time limit of a command on a machine, seconds."""


@dataclass(frozen=True)
class DrillEnvironment:
    """One environment whose lab runs."""

    project: LabProject
    environment: Environment
    notes: list[str] = field(default_factory=list)
    """Sentences about the fault's actions, for the drill's report."""

    @cached_property
    def _addresses(self) -> dict[str, str]:
        planned = control_machines(self.environment, plan(self.environment))
        return {machine.name: str(machine.address) for machine in planned}

    def machines(self, part: str) -> tuple[str, ...]:
        """Return the machines of a part of the control plane: ``etcd``, ``events`` or ``api``."""
        prefix = f"{self.environment.name}-{part}-"
        return tuple(sorted(name for name in self._addresses if name.startswith(prefix)))

    def address(self, machine: str) -> str:
        """Return a machine's address."""
        return self._addresses[machine]

    def output(self, machine: str, *command: str) -> str:
        """Return the output of a command on a machine. Raise ``LabError`` with its message when it fails."""
        words = entering(self.project.state, machine, list(command))
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
        if done.returncode != 0:
            complaint = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise LabError(f"{machine}: {' '.join(command)} ended with {done.returncode}: {complaint}")
        return done.stdout

    def power(self, machine: str, action: str) -> None:
        """Turn a machine's power switch: ``off``, ``on``, ``cut`` or ``reset``."""
        control.request(self.project.state, "POST", "/power", {"machine": machine, "action": action})

    def phase(self, machine: str) -> str:
        """Return a machine's phase from the lab's status: ``running``, ``stopped``, …"""
        return str(
            next(described["phase"] for described in self.lab_status()["machines"] if described["name"] == machine)
        )

    def lab_status(self) -> dict[str, Any]:
        """Return the lab's status: machines, networks, load balancers."""
        return control.request(self.project.state, "GET", "/status")

    def wipe_disk(self, machine: str) -> None:
        """Remove the local disk of a machine that is off. The machine's next start makes a blank disk."""
        local_disk(host_of(self.project.state), machine).wipe()

    def longhaul(self, command: str, *arguments: str) -> None:
        """Run a command of ``longhaul`` on the environment. Raise ``LabError`` with the end of its output when it
        fails."""
        done = subprocess.run(
            self._longhaul(command, *arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
            raise LabError(f"longhaul {command} {' '.join(arguments)} ended with {done.returncode}:\n{tail}")

    def replace(self, machine: str) -> None:
        """Replace a machine of the control plane, as an operator does."""
        self.longhaul("up", "--yes", "--replace", machine)

    def tunnel(self, gateway: str, action: str) -> None:
        """Turn the switch between a gateway and the internet: ``cut`` or ``restore``."""
        control.request(self.project.state, "POST", "/tunnel", {"name": gateway, "action": action})

    def status(self) -> dict[str, Any]:
        """Return the answer of ``longhaul status --json``."""
        done = subprocess.run(self._longhaul("status", "--json"), capture_output=True, text=True, check=False)
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            raise LabError(f"longhaul status: {done.stderr.strip() or 'no answer'}") from None

    def up(self) -> None:
        """Run ``longhaul up``."""
        self.longhaul("up", "--yes")

    def age(self, *certificates: str, ends_in_s: float) -> None:
        """Age certificates (:mod:`lab.drill.certificate_aging`), so that they expire in ``ends_in_s`` seconds."""
        place = ["--project", str(self.project.path), "--env", self.project.env, "--ends-in", str(ends_in_s)]
        words = [
            str(self.project.state.enter),
            sys.executable,
            "-m",
            "lab.drill.certificate_aging",
            *place,
            *certificates,
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"certificates were not aged: {done.stderr.strip()[-2000:]}")

    def write_kubeconfig(self, path: Path) -> None:
        """Write the administrator's kubeconfig for use in the operator's network, where the path to the load balancer
        passes no process of the lab."""
        config = json.loads(self._kubeconfig().read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        cluster.pop("tls-server-name", None)
        cluster["server"] = api_url(self.environment, plan(self.environment))
        write_atomically(path, json.dumps(config))

    def pods(self) -> list[dict[str, Any]]:
        """Return all pods. Raise ``LabError`` when the API does not answer."""
        return list(json.loads(self.kubectl("get", "pods", "--all-namespaces", "--output=json"))["items"])

    def kubectl(self, *command: str, given: str = "") -> str:
        """Return the output of kubectl as the administrator, with ``given`` as its input. Raise ``LabError`` with its
        message when it fails."""
        words = [str(tools.bin_dir() / "kubectl"), "--kubeconfig", str(self._kubeconfig()), *command]
        done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"kubectl {' '.join(command[:2])}: {done.stderr.strip()}")
        return done.stdout

    def _kubeconfig(self) -> Path:
        done = subprocess.run(self._longhaul("kubeconfig"), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"longhaul kubeconfig: {done.stderr.strip()}")
        return Path(done.stdout.strip())

    def _longhaul(self, command: str, *arguments: str) -> list[str]:
        executable = str(Path(sys.executable).with_name("longhaul"))
        return [executable, command, "--project", str(self.project.path), "--env", self.project.env, *arguments]
