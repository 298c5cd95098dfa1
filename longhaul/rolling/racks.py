"""The racks' hosts as a group: what they run is replaced below them, by Ansible, once their work has left."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from components.model.nodes import BARE_METAL_POOL, POOL_LABEL
from components.model.versions import pinned
from longhaul.context import Context
from longhaul.drain import NODES
from longhaul.exits import CommandError, Exit
from longhaul.kubernetes import Api, Object, path_of
from longhaul.rolling.cloud import CloudError, Group, Machine

if TYPE_CHECKING:
    from components.model import Environment

UPGRADED = {"kubelet": "kubernetes", "containerd": "containerd"}
"""What pods run on, by its release in tools.toml: what role node replaces on a node only when it is told to."""

TOLD_S = 90.0
"""How long a node may take to say what it runs now, seconds: its kubelet restarts, and tells every ten (kubernetes.io,
"Nodes")."""
LOOK_S = 1.0

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)")


def rack_hosts(where: Context, environment: Environment, environ: Mapping[str, str]) -> Callable[[Api], RackHosts]:
    """The environment's bare-metal hosts, given the cluster's API; ``CommandError`` when there are none."""
    from components.model import plan
    from components.model.nodes import racks

    names = [rack.node_name for rack in racks(environment, plan(environment)).values()]
    if not names:
        raise CommandError(f"{environment.name} has no bare-metal hosts", code=Exit.USAGE)

    def converge(name: str) -> str:
        return _upgrade(where, environment, name, environ)

    pins = {tool: pinned(release) for tool, release in UPGRADED.items()}
    return lambda api: RackHosts(names, api, pins=pins, converge=converge)


def _upgrade(where: Context, environment: Environment, name: str, environ: Mapping[str, str]) -> str:
    """Run the racks' playbook on one host that was drained; what went wrong, or nothing. What Ansible says goes to
    stderr."""
    from longhaul.racks.rolling import VERDICTS
    from longhaul.racks.run import SITE, run_playbook
    from longhaul.racks.verdicts import read

    with tempfile.TemporaryDirectory(prefix="longhaul-upgrade-") as folder:
        path = Path(folder) / "verdicts.json"
        words = ["--limit", name, "--extra-vars", json.dumps({"node_upgrade": True}), SITE]
        result = run_playbook(where, environment, words, {**environ, VERDICTS: str(path)}, stdout=sys.stderr.buffer)
        if result.interrupted:
            raise KeyboardInterrupt
        if result.code == 0:
            return ""
        host = ((read(path) or {}).get("hosts") or {}).get(name) or {}
        failed = host.get("failed") or {"task": "", "messages": [f"ansible-playbook ended with {result.code}"]}
        return f"its upgrade failed at {failed['task']}: {'; '.join(failed['messages'])}"


class RackHosts:
    """Bare-metal hosts that are nodes. One that is none yet is nobody's upgrade: `longhaul rack` sets it up."""

    in_place = False

    def __init__(
        self,
        hosts: Sequence[str],
        api: Api,
        *,
        pins: Mapping[str, str],
        converge: Callable[[str], str],
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``hosts`` are names of nodes, ``pins`` versions by what :func:`versions` calls things, and ``converge`` runs
        Ansible on one host: what went wrong, or nothing."""
        self._hosts, self._api, self._pins, self._converge = hosts, api, pins, converge
        self._wait, self._clock = wait, clock

    def look(self) -> Group:
        """Those that there are, one list for all. Refuses while the API servers are older than the kubelets would be
        (kubernetes.io, "Version Skew Policy")."""
        self._require_newer_api()
        nodes = {
            node["metadata"]["name"]: node
            for node in self._api.items(NODES, labelSelector=f"{POOL_LABEL}={BARE_METAL_POOL}")
        }
        machines = tuple(
            Machine(id=name, node=name, current=not self._outdated(nodes[name]))
            for name in self._hosts
            if name in nodes
        )
        target = ", ".join(f"{name} {version}" for name, version in self._pins.items())
        return Group(target=target, wanted=len(machines), machines=machines)

    def replace(self, machine: Machine) -> None:
        """Have Ansible upgrade a host on which nothing runs, and await that its node says so."""
        said = self._converge(machine.node)
        if said:
            raise CloudError(said, passing=False)
        until = self._clock() + TOLD_S
        while found := self._outdated(self._api.get(NODES + path_of(machine.node))):
            if self._clock() > until:
                raise CloudError(f"it was upgraded, and its node still says {', '.join(found)}", passing=False)
            self._wait(LOOK_S)

    def rebuild(self, machine: Machine) -> None:
        """A host has no second step."""
        raise CloudError(f"{machine.node} is upgraded in one step", passing=False)

    def remake(self, machine: Machine) -> None:
        """A host without a Node is not in the group."""
        raise CloudError(f"{machine.node} is no node any more: `longhaul rack` lets it join", passing=False)

    def _outdated(self, node: Object) -> list[str]:
        there = versions(node)
        return [f"{name} {there.get(name)}" for name, pin in self._pins.items() if there.get(name) != pin]

    def _require_newer_api(self) -> None:
        served = str(self._api.get("/version")["gitVersion"])
        if _numbers(served) < _numbers(self._pins["kubelet"]):
            raise CloudError(
                f"the API servers are {served}, and a kubelet may not be newer: `longhaul up` raises them to "
                f"{self._pins['kubelet']} first",
                passing=False,
            )


def versions(node: Object) -> dict[str, str]:
    """What a node says that it runs, ``kubelet`` and ``containerd``, as tools.toml writes versions."""
    info = node["status"]["nodeInfo"]
    runtime, _, version = info["containerRuntimeVersion"].partition("://")
    return {"kubelet": info["kubeletVersion"].removeprefix("v"), runtime: version.removeprefix("v")}


def _numbers(version: str) -> tuple[int, ...]:
    """Of ``v1.36.3`` or ``1.36.3-eks-1``, what is compared."""
    found = _VERSION.match(version)
    return tuple(map(int, found[1].split("."))) if found else ()
