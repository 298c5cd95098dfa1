"""Network namespaces, and what gets from one to another: a node with a pod and the rest of the world. Nothing of this
machine's own network is touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from lab import packages
from tests.support.project import REPOSITORY

RULES = REPOSITORY / "images" / "rootfs" / "usr" / "local" / "share" / "longhaul" / "node.nft"

SERVE = """
import select, socket, sys
held = [socket.create_server(("0.0.0.0", int(port))) for port in sys.argv[1:]]
print("ready", flush=True)
while True:
    for one in select.select(held, [], [])[0]:
        one.accept()[0].close()
"""
CALL = """
import socket, sys
try:
    socket.create_connection((sys.argv[2], int(sys.argv[3])), timeout=1, source_address=(sys.argv[1], 0)).close()
except TimeoutError:
    sys.exit(9)
"""
SAY = """
import socket, sys
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.setsockopt(socket.IPPROTO_IP, 19, 1)  # IP_TRANSPARENT: any source, to who has CAP_NET_RAW, as pods do
own.bind((sys.argv[1], 0))
own.sendto(b"hello", (sys.argv[2], 9))
"""
HEAR = """
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("0.0.0.0", 9))
own.settimeout(60)
print("ready", flush=True)
while True:
    print(own.recvfrom(10)[1][0], flush=True)
"""


@dataclass(frozen=True, kw_only=True)
class Namespace:
    """A network namespace, held by a process that sleeps."""

    pid: int

    def words(self, *words: str) -> list[str]:
        """Return the words that run a command in it."""
        return ["nsenter", f"--target={self.pid}", "--net", *words]

    def run(self, *words: str, check: bool = True, stdin: str | None = None) -> int:
        """Run a command in it and return its exit code; AssertionError with what it said when it fails."""
        done = subprocess.run(self.words(*words), input=stdin, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{words}: {done.stderr}"
        return done.returncode

    def reaches(self, target: str, port: int, *, source: str) -> bool:
        """Return whether a connection from ``source`` comes about; False when nothing answers within a second."""
        code = self.run(sys.executable, "-c", CALL, source, target, str(port), check=False)
        assert code in (0, 9), f"the call itself failed: {code}"
        return code == 0


def heard(sender: Namespace, listener: Namespace, target: str, *sources: str) -> list[str]:
    """Send one datagram for each source, and return the sources that arrived, in order. The last one has to arrive:
    those before it had their time by then."""
    listening = subprocess.Popen(
        listener.words(sys.executable, "-c", HEAR), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert listening.stdout is not None
    try:
        assert listening.stdout.readline() == "ready\n"
        found: list[str] = []
        for source in sources:
            sender.run(sys.executable, "-c", SAY, source, target)
        while not found or found[-1] != sources[-1]:
            line = listening.stdout.readline()
            assert line, f"{sources[-1]} did not arrive"
            found.append(line.strip())
        return found
    finally:
        listening.kill()
        listening.communicate()


@dataclass(frozen=True, kw_only=True)
class NodeNetwork:
    """A node with a pod; ``world`` has every other address and serves on the same ports as the node."""

    node: Namespace
    pod: Namespace
    world: Namespace
    node_address: str
    pod_address: str


WORLD = "192.0.2.1"
"""Address on the world's side of the node's link; everything is behind it."""
UPLINK = "192.0.2.2"


@contextmanager
def node_network(
    folder: Path, *, environment_rules: str, node: IPv4Address, pod: IPv4Address, world: list[str], ports: list[int]
) -> Iterator[NodeNetwork]:
    """Make the three, with the node's packet filter and, in ``folder``, the environment's rules."""
    (folder / "environment.nft").write_text(environment_rules)
    rules = RULES.read_text().replace("/etc/longhaul/nft.d", str(folder))
    assert str(folder) in rules
    with ExitStack() as stack:
        made = [stack.enter_context(namespace()) for _ in range(3)]
        own, inside, outside = made
        for one in made:
            one.run("ip", "link", "set", "lo", "up")
        connect(own, "eth0", f"{UPLINK}/30", outside, f"{WORLD}/30")
        connect(own, "veth0123abcd", f"{node}/32", inside, f"{pod}/32")
        # As the CNI plugin ptp has it: the pod's way out is the node's address.
        own.run("ip", "route", "add", f"{pod}/32", "dev", "veth0123abcd")
        inside.run("ip", "route", "add", "default", "via", str(node), "dev", "eth0", "onlink")
        own.run("ip", "route", "add", "default", "via", WORLD)
        for address in (str(node), str(pod)):
            outside.run("ip", "route", "add", address, "via", UPLINK)
        for address in world:
            outside.run("ip", "address", "add", f"{address}/32", "dev", "lo")
        # The kernel's own check of sources is off: the rules alone have to do it.
        for key, value in (("ip_forward", 1), ("conf.all.rp_filter", 0), ("conf.veth0123abcd.rp_filter", 0)):
            own.run("sysctl", "--quiet", "--write", f"net.ipv4.{key}={value}")
        own.run("nft", "--file", "-", stdin=rules)
        for one in (own, outside):
            stack.enter_context(serving(one, ports))
        yield NodeNetwork(node=own, pod=inside, world=outside, node_address=str(node), pod_address=str(pod))


def connect(own: Namespace, name: str, address: str, other: Namespace, their_address: str) -> None:
    own.run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(other.pid))
    for one, link, place in ((own, name, address), (other, "eth0", their_address)):
        one.run("ip", "address", "add", place, "dev", link)
        one.run("ip", "link", "set", link, "up")


@contextmanager
def namespace() -> Iterator[Namespace]:
    packages.ensure(log_dir=REPOSITORY / ".lab" / "log", progress=print)
    with _started(["unshare", "--net", "sh", "-c", "echo ready; exec sleep infinity"]) as pid:
        yield Namespace(pid=pid)


@contextmanager
def serving(where: Namespace, ports: list[int]) -> Iterator[None]:
    with _started(where.words(sys.executable, "-c", SERVE, *map(str, ports))):
        yield


@contextmanager
def _started(words: list[str]) -> Iterator[int]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()
