"""Attacks over the network from a pod, in the lab. A packet that a filter drops is told by silence: a machine that is
reached answers, or refuses."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

import pytest

from components.model import AddressPlan, Environment, control_machines, load, plan
from components.model.hosts.places import gateway_places, host_places
from components.model.network.api_address import api_address
from components.model.versions.section import pinned
from contract.documents.node_place import POD_PREFIX
from contract.ports import JOIN_PORT
from tests.support.node_network import HEAR, SAY
from tests.support.project import Project, run
from tests.support.shared_lab import ENV, HOST, SharedLab
from tests.support.workload import Talker, talkers

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

SITES = {"cloud": "use1", "rack": "rack"}
"""Site of each attacking pod."""
KUBELET = 10250
SSH = 22
GATEWAY = f"{ENV}-gw-0"

CALL = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10).close()"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The lab, and a pod in a cloud and one in a rack."""

    project: Project
    pods: dict[str, Talker]
    environment: Environment
    addresses: AddressPlan

    def calls(self, who: str, target: IPv4Address | str, port: int) -> str:
        """Return why a pod's connection does not come about (TIMEOUT, REFUSED ...); empty when it does."""
        words = ("exec", self.pods[who].name, "--", "/agnhost", "connect", "--timeout=4s", f"{target}:{port}")
        done = self.project.kubectl(*words, check=False)
        said = re.search(r"^(UNKNOWN|TIMEOUT|DNS|REFUSED|OTHER)\b", done.stderr, flags=re.MULTILINE)
        assert said or done.returncode == 0, done.stderr
        return said[1] if said else ""

    def results(self, who: str, *targets: tuple[IPv4Address | str, int]) -> list[str]:
        """Return what :meth:`calls` returns for each target. All are called at once: silence is waited for."""
        with ThreadPoolExecutor(len(targets)) as callers:
            return list(callers.map(lambda target: self.calls(who, *target), targets))

    def operator_calls(self, target: IPv4Address, port: int) -> bool:
        """Return whether the operator's connection comes about."""
        enter = str(self.project.state / "enter")
        return run([enter, sys.executable, "-c", CALL, str(target), str(port)], check=False).returncode == 0

    def host_address(self) -> IPv4Address:
        """Return the address of the rack's first host."""
        return next(iter(host_places(self.environment, self.addresses))).address

    def own_node(self, who: str) -> str:
        """Return the address of a pod's node."""
        path = '--output=jsonpath={.status.addresses[?(@.type=="InternalIP")].address}'
        return self.project.kubectl("get", "node", self.pods[who].node, path).stdout


@pytest.fixture(scope="module", name="scene")
def _scene(shared_lab: SharedLab) -> Iterator[Scene]:
    project = shared_lab.take()
    environment = load(project.stack_file)
    pods = talkers(project, pinned("agnhost"), **SITES)
    yield Scene(project=project, pods=pods, environment=environment, addresses=plan(environment))
    project.kubectl("delete", "pods,services", *SITES, "--now", "--ignore-not-found")


@pytest.mark.parametrize("who", SITES)
def test_no_pod_reaches_ssh_of_a_gateway(scene: Scene, who: str) -> None:
    (gateway,) = gateway_places(scene.environment, scene.addresses)
    for address in (gateway.address, gateway.public_address):
        assert scene.operator_calls(address, SSH), address
    inside, public = scene.results(who, (gateway.address, SSH), (gateway.public_address, SSH))
    assert inside == "TIMEOUT"
    # A site's router may say that there is no way out.
    assert public in ("TIMEOUT", "OTHER")


@pytest.mark.parametrize("who", SITES)
def test_no_pod_reaches_ssh_of_a_host(scene: Scene, who: str) -> None:
    assert scene.operator_calls(scene.host_address(), SSH)
    host = scene.host_address()
    assert scene.results(who, (host, KUBELET), (host, SSH)) == ["", "TIMEOUT"]


@pytest.mark.parametrize("who", SITES)
def test_no_pod_reaches_ssh_of_a_node_its_own_included(scene: Scene, who: str) -> None:
    nodes = [scene.own_node(whose) for whose in SITES]
    targets = [(node, port) for node in nodes for port in (KUBELET, SSH)]
    assert scene.results(who, *targets) == ["", "TIMEOUT"] * len(nodes)


@pytest.mark.parametrize("machine", [GATEWAY, HOST])
def test_ssh_takes_keys_alone(scene: Scene, machine: str) -> None:
    """sshd itself says what counts of all of its files."""
    counts = scene.project.on(machine, "/usr/sbin/sshd -T").stdout.splitlines()
    assert {"passwordauthentication no", "kbdinteractiveauthentication no"} <= set(counts)


def test_no_pod_reaches_the_join_endpoint_and_its_node_does(scene: Scene) -> None:
    """Pods in the cloud alone are asked: the API servers' own rules let nothing of a rack in there."""
    servers = [one.address for one in control_machines(scene.environment, scene.addresses) if one.role == "api"]
    addresses = (api_address(scene.environment, scene.addresses), *servers)
    port = scene.environment.control_plane.api.port
    targets = [(address, number) for address in addresses for number in (port, JOIN_PORT)]
    assert scene.results("cloud", *targets) == ["", "TIMEOUT"] * len(addresses)
    for address in addresses:
        asking = f"curl --silent --insecure --max-time 10 --output /dev/null https://{address}:{JOIN_PORT}/healthz"
        scene.project.on(scene.pods["cloud"].node, asking)


@pytest.mark.parametrize(("who", "target"), [("cloud", "rack"), ("rack", "cloud")])
def test_no_pod_sends_from_another_s_address(scene: Scene, who: str, target: str) -> None:
    """The pod's network is entered on its node, whose Python forges what a container's CAP_NET_RAW would. The lab's
    networks admit every address of the node's pods, so it is the node that drops the neighbour's."""
    pod = scene.pods[who]
    own_range = IPv4Network((pod.address, POD_PREFIX), strict=False)
    neighbour = next(str(one) for one in own_range if str(one) != pod.address)
    server = api_address(scene.environment, scene.addresses)
    listening = scene.project.shell_in_background(scene.pods[target].node, "python3", "-uc", HEAR)
    assert listening.stdout is not None
    try:
        assert listening.stdout.readline() == "ready\n"
        script = "set -eu; pid=$(pgrep --newest --full '[a]gnhost netexec')\n"
        for source in (neighbour, str(server), scene.own_node(who), pod.address):
            say = shlex.join(["python3", "-c", SAY, source, scene.own_node(target)])
            script += f'nsenter --target="$pid" --net {say}\n'
        scene.project.on(pod.node, script)
        # The last one is the pod's own: those before it had their time by then.
        assert listening.stdout.readline() == f"{pod.address}\n"
    finally:
        # On the machine it ends by itself when it has heard nothing for a minute; until then its output stays open.
        listening.kill()
        listening.wait()
        listening.stdout.close()
