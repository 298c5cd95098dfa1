"""Bare-metal hosts as a group: Ansible upgrades a host in place, once its work has left."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupState, LiveMachine
from contract.documents.node import CHECK_S
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.paths import NODES
from contract.labels import HOSTS_POOL_LABEL, POOL_LABEL
from longhaul.project.context import Context
from longhaul.roll.host_pins import HostPins, host_pins, numbers
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

TOLD_S = 90.0
"""Time limit for a node to report its new versions, seconds: its kubelet restarts, and reports every ten seconds
(kubernetes.io, "Nodes")."""
GPUS_TOLD_S = CHECK_S + 300.0
"""Time limit for a node whose driver Longhaul installs, seconds: the node reports its driver only after its GPUs have
passed their test, whose trial of memory and compute may take :data:`CHECK_S`."""
LOOK_S = 1.0


def host_group(where: Context, environment: Environment, environ: Mapping[str, str]) -> Callable[[Api], HostGroup]:
    """Return a function that gives the environment's bare-metal hosts, given the cluster's API. Raise ``CommandError``
    when there are none."""
    from components.model import plan
    from components.model.nodes.host_nodes import host_nodes

    hosts = {host.node_name: name for name, host in host_nodes(environment, plan(environment)).items()}
    if not hosts:
        raise CommandError(f"{environment.name} has no hosts", code=Exit.USAGE)
    ours = {host.name for host in environment.hosts if host.gpus and host.gpu_driver == "installed"}
    drivers = frozenset(node for node, name in hosts.items() if name in ours)

    def converge(name: str) -> str:
        return _upgrade(where, environment, name, environ)

    pins = host_pins(drivers, environment.versions.pinned())
    return lambda api: HostGroup(list(hosts), api, pins=pins, converge=converge)


def _upgrade(where: Context, environment: Environment, name: str, environ: Mapping[str, str]) -> str:
    """Run the racks' playbook on one drained host. Return the error; empty when it succeeded. Ansible's output goes to
    stderr."""
    from longhaul.racks.playbook import SITE
    from longhaul.racks.playbook_runs import play

    words = ["--limit", name, "--extra-vars", json.dumps({"node_upgrade": True}), SITE]
    result, document = play(where, environment, words, environ, stdout=sys.stderr.buffer)
    if result.interrupted:
        raise KeyboardInterrupt
    if result.code == 0:
        return ""
    host = document["hosts"].get(name) if document else None
    failed = host["failed"] if host else None
    if failed is None:
        return f"its upgrade failed: ansible-playbook ended with {result.code}"
    return f"its upgrade failed at {failed['task']}: {'; '.join(failed['messages'])}"


class HostGroup:
    """Bare-metal hosts that are nodes. Other hosts are not rolled: `longhaul hosts` sets them up."""

    in_place = False
    looks_apart_s = 0.0

    def __init__(
        self,
        hosts: Sequence[str],
        api: Api,
        *,
        pins: HostPins,
        converge: Callable[[str], str],
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``hosts`` are names of nodes. ``converge`` runs Ansible on one host and returns the error, or an empty
        text."""
        self._hosts, self._api, self._pins, self._converge = hosts, api, pins, converge
        self._wait, self._clock = wait, clock

    def look(self) -> GroupState:
        """Return the hosts that are nodes, from one list. Raise an error while the API servers are older than the new
        kubelets would be (kubernetes.io, "Version Skew Policy")."""
        self._require_newer_api()
        nodes = {
            node["metadata"]["name"]: node
            for node in self._api.items(NODES, labelSelector=f"{POOL_LABEL}={HOSTS_POOL_LABEL}")
        }
        machines = tuple(
            LiveMachine(id=name, node=name, current=not self._pins.outdated(nodes[name]))
            for name in self._hosts
            if name in nodes
        )
        return GroupState(target=self._pins.target, wanted=len(machines), machines=machines)

    def replace(self, machine: LiveMachine) -> None:
        """Let Ansible upgrade a drained host, and wait until its node reports the new versions."""
        failure = self._converge(machine.node)
        if failure:
            raise CloudError(failure)
        until = self._clock() + (TOLD_S if machine.node not in self._pins.drivers else GPUS_TOLD_S)
        while outdated := self._pins.outdated(self._api.get(NODES + path_of(machine.node))):
            if self._clock() > until:
                raise CloudError(f"it was upgraded, but its node still reports {', '.join(outdated)}")
            self._wait(LOOK_S)

    def rebuild(self, machine: LiveMachine) -> None:
        """Raise an error: a host has no second step."""
        raise CloudError(f"{machine.node} is upgraded in one step")

    def remake(self, machine: LiveMachine) -> None:
        """Raise an error: a host without a Node is not in the group."""
        raise CloudError(f"{machine.node} is no longer a node: `longhaul hosts` lets it join")

    def _require_newer_api(self) -> None:
        served = str(self._api.get("/version")["gitVersion"])
        kubelet = self._pins.programs["kubelet"]
        if numbers(served) < numbers(kubelet):
            raise CloudError(
                f"the API servers are {served}, and a kubelet may not be newer: `longhaul up` raises them to {kubelet} "
                "first"
            )
