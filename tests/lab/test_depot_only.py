"""A host of a rack becomes a node and runs pods, with access to nothing but the depot and its own environment.

A fence on the rack's router drops what the host sends to any other address, and records the address. It is in place
before the host exists, so that nothing is missed.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from components.model import load, plan
from components.model.depots.section import EXAMPLE_AUTHORITY
from components.model.versions.section import pinned
from components.render.containerd import DEPOT_AUTHORITY
from lab.hosts import network_id
from lab.hypervisor import addresses
from lab.hypervisor.networks import router_of
from tests.model.make import DEPOTS_KEY as OTHER_KEY
from tests.support.project import LIMIT_S, Project, eventually
from tests.support.shared_lab import HOST, SharedLab
from tests.support.workload import IMAGE

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

SITE = "rack"
LINK = addresses.machine_link(HOST)
LEAST_MIB = 100
"""Minimum of what comes from the depot, in MiB. A host installs several times as much: kubelet alone is 50 MB."""

RULES = f"""
table ip fence {{
  set tried {{ type ipv4_addr; size 4096; flags dynamic; }}
  counter given {{ }}
  chain from_host {{
    type filter hook prerouting priority -350; policy accept;
    iifname != "{LINK}" accept
    ip daddr {addresses.DEPOT} tcp dport 443 accept
    ip daddr {addresses.PLATFORM} udp dport 53 accept
    ip daddr SUPERNET accept
    update @tried {{ ip daddr }}
    drop
  }}
  chain to_host {{
    type filter hook postrouting priority 350; policy accept;
    oifname "{LINK}" ip saddr {addresses.DEPOT} counter name given
  }}
}}
"""


@dataclass
class Fence:
    """The fence's rules on the rack's router."""

    project: Project
    supernet: str
    first: bool = field(default=False, init=False)
    """True when the fence stood before the host had a link."""
    ended: threading.Event = field(default_factory=threading.Event, init=False)

    def router(self) -> Path | None:
        """Return the router's namespace, or None before the lab has one."""
        try:
            pid = int(json.loads((self.project.state / "lab.json").read_text())["pid"])
        except (OSError, ValueError, KeyError):
            return None
        path = Path(f"/proc/{pid}/root{router_of(network_id(SITE)).path}")
        # A plain file until the namespace is made.
        made = subprocess.run(["nsenter", f"--net={path}", "true"], capture_output=True, check=False)
        return path if made.returncode == 0 else None

    def inside(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        argv = ["nsenter", f"--net={self.router()}", *words]
        return subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)

    def stand(self) -> None:
        """Set the rules as soon as there is a router; runs in a thread."""
        eventually(lambda: self.ended.is_set() or self.router() is not None, limit_s=LIMIT_S)
        if not self.ended.is_set():
            done = self.inside("nft", "-f", "-", stdin=RULES.replace("SUPERNET", self.supernet))
            self.first = done.returncode == 0 and self.inside("ip", "link", "show", LINK).returncode != 0

    def fall(self) -> None:
        """Remove the rules if they are set."""
        self.inside("nft", "delete", "table", "ip", "fence")

    def objects(self, kind: str) -> list[dict[str, Any]]:
        shown = json.loads(self.inside("nft", "--json", "list", "table", "ip", "fence").stdout)["nftables"]
        return [one[kind] for one in shown if kind in one]

    def tried(self) -> set[IPv4Address]:
        """Return the other addresses that the host has sent anything to."""
        (found,) = self.objects("set")
        entries = (entry["elem"]["val"] if isinstance(entry, dict) else entry for entry in found.get("elem", ()))
        return {IPv4Address(entry) for entry in entries}

    def given_mib(self) -> float:
        """Return the MiB that the depot has sent to the host."""
        (found,) = self.objects("counter")
        return float(found["bytes"]) / (1 << 20)


@pytest.fixture(scope="module", name="fence")
def _fence(shared_lab: SharedLab) -> Iterator[Fence]:
    project = shared_lab.fresh()
    fence = Fence(project=project, supernet=str(plan(load(project.stack_file)).supernet))
    standing = threading.Thread(target=fence.stand)
    standing.start()
    try:
        shared_lab.take()
        yield fence
    finally:
        fence.ended.set()
        standing.join()
        fence.fall()


def test_the_fence_stood_before_the_host(fence: Fence) -> None:
    assert fence.first


def test_the_host_is_a_node(fence: Fence) -> None:
    def ready() -> bool:
        node = fence.project.kubectl("get", "node", HOST, "--output=json", check=False)
        conditions = json.loads(node.stdout)["status"]["conditions"] if node.returncode == 0 else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    eventually(ready)


def pod(name: str, **container: Any) -> dict[str, Any]:
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": HOST},
        "containers": [
            {"name": "agnhost", "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"], **container},
        ],
        "terminationGracePeriodSeconds": 1,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_it_runs_pods_whose_images_it_did_not_have(fence: Fence) -> None:
    fence.project.create(pod("fenced"))
    fence.project.kubectl("wait", "--for=condition=Ready", "--timeout=300s", "pod/fenced")


def test_its_packages_and_images_are_held_against_the_builder_s_key(fence: Fence) -> None:
    """The same depot, as one that its builder has not signed: the kubelet pulls nothing from it, and apt believes it no
    longer."""
    settings, keyring = "/etc/longhaul/depot.json", "/etc/apt/keyrings/longhaul-depot.asc"
    update = "apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/longhaul-depot.list 2>&1"
    assert "NO_PUBKEY" not in fence.project.on(HOST, update).stdout
    fence.project.on(HOST, f"cp -a {settings} {settings}.kept; cp -a {keyring} {keyring}.kept")
    try:
        fence.project.on(HOST, f'sed -i \'s|"key": .*|"key": "{OTHER_KEY}"|\' {settings}; : > {keyring}')
        fence.project.create(pod("refused", imagePullPolicy="Always"))

        def refused() -> bool:
            about = "--field-selector=involvedObject.name=refused"
            return "blocked pull" in fence.project.kubectl("get", "events", about, "--output=yaml").stdout

        eventually(refused)
        assert "NO_PUBKEY" in fence.project.on(HOST, update, check=False).stdout
    finally:
        fence.project.on(HOST, f"mv {settings}.kept {settings}; mv {keyring}.kept {keyring}")
        fence.project.kubectl("delete", "pod", "refused", "--ignore-not-found")


def test_its_depot_is_who_the_authority_says(fence: Fence) -> None:
    """The same depot, as one with a certificate of another authority: the kubelet pulls nothing from it, and apt asks
    it for nothing. Nor is the authority believed for anything else."""
    update = "apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/longhaul-depot.list 2>&1"
    assert "NOT trusted" not in fence.project.on(HOST, update).stdout
    assert fence.project.on(HOST, f"curl -sS https://{addresses.DEPOT_NAME}/depot.json", check=False).returncode == 60
    fence.project.on(HOST, f"mv {DEPOT_AUTHORITY} {DEPOT_AUTHORITY}.kept")
    try:
        fence.project.on(HOST, f"cat > {DEPOT_AUTHORITY} <<'END'\n{EXAMPLE_AUTHORITY}END")
        fence.project.create(pod("unknown", imagePullPolicy="Always"))

        def refused() -> bool:
            about = "--field-selector=involvedObject.name=unknown"
            events = fence.project.kubectl("get", "events", about, "--output=yaml").stdout
            return "certificate signed by unknown authority" in " ".join(events.split())

        eventually(refused)
        assert "NOT trusted" in fence.project.on(HOST, update, check=False).stdout
    finally:
        fence.project.on(HOST, f"mv {DEPOT_AUTHORITY}.kept {DEPOT_AUTHORITY}")
        fence.project.kubectl("delete", "pod", "unknown", "--ignore-not-found")


def test_all_of_it_came_from_the_depot(fence: Fence) -> None:
    assert fence.given_mib() > LEAST_MIB


def test_it_tried_nothing_else(fence: Fence) -> None:
    """Except link-local addresses: a bare machine asks there whether it is in a cloud."""
    assert {address for address in fence.tried() if not address.is_link_local} == set()


def test_the_fence_would_have_noted_it(fence: Fence) -> None:
    """Without the fence, the clouds' interfaces can be reached through the site's NAT."""
    script = f"timeout 3 bash -c 'exec 3<>/dev/tcp/{addresses.SERVICES}/443'"
    assert fence.project.on(HOST, script, check=False).returncode != 0
    assert addresses.SERVICES in fence.tried()
