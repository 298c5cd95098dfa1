"""Limits of what one pod asks: by the real packet filter, with the real cache and a zone whose server never answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from node_dns.prepare import HAVE_ADDRESS, HAVE_RULES, RULES

from components.model import load, plan
from components.model.hosts.places import host_places
from components.render.node_dns import corefile
from components.render.node_filter import filter_file
from contract.node_dns import (
    ADDRESS,
    ATTEMPT_S,
    ATTEMPTS,
    LEAST_QUESTION_BYTES,
    PLACES,
    POD_BURST_KIB,
    POD_KIB_PER_S,
    RESOLVER,
)
from lab import tools
from tests.support.alone import NEEDS_ROOT
from tests.support.api_server import eventually
from tests.support.hosts import STACKS
from tests.support.node_network import Namespace, NodeNetwork, connect, namespace, node_network

pytestmark = [pytest.mark.engine, NEEDS_ROOT]

SITE = "rack"
SILENT = "silent.example"
"""Zone whose server never answers."""
FLOOD, OTHERS = 20_000, 100
"""Questions of the pod that floods, and of its neighbour."""

RESOLVE = f"""
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.2", 53))
print("ready", flush=True)
while True:
    message, client = server.recvfrom(4096)
    if b"{SILENT.partition(".")[0]}" not in message:
        server.sendto(message[:2] + bytes([0x81, 0x80]) + message[4:], client)
"""
"""A machine's resolver: each name exists and has no address, but those of one zone get no answer."""
ASK = """
import json, select, socket, struct, sys
target, count, zone, patience_s = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
codes = {}
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
    asking.connect((target, 53))
    for number in range(count):
        name = b"".join(bytes([len(part)]) + part.encode() for part in f"n{number}.{zone}".split("."))
        asking.send(struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + name + bytes([0, 0, 1, 0, 1]))
        if select.select([asking], [], [], patience_s)[0]:
            code = asking.recv(4096)[3] & 15
            codes[code] = codes.get(code, 0) + 1
print(json.dumps(codes))
"""
"""Prints how many answers had which code."""
SEND = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
    for _ in range(int(sys.argv[2])):
        sending.sendto(bytes(1400), (sys.argv[1], 53))
"""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node with a cache and two pods, and addresses that a pod may ask."""

    network: NodeNetwork
    neighbour: Namespace
    servers: tuple[str, ...]
    """A Service, a pod of the site, and one of another site."""
    resolver: str
    """A resolver of the site."""


@pytest.fixture(scope="module", name="node")
def _node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    environment = load(STACKS / "Pulumi.lab.yaml")
    addresses = plan(environment)
    host = next(place for place in host_places(environment, addresses) if place.site == SITE)
    servers = tuple(map(str, (addresses.dns_service, addresses.sites[SITE].pods[900], addresses.sites["use1"].pods[9])))
    resolver = str(addresses.sites[SITE].infra[2])
    folder = tmp_path_factory.mktemp("limits")
    binary = tools.ensure(["coredns"], log_dir=folder, progress=print)["coredns"]
    (folder / "resolv.conf").write_text("nameserver 127.0.0.2\n")
    (folder / "Corefile").write_text(
        corefile(environment, addresses, SITE).replace(RESOLVER, str(folder / "resolv.conf"))
    )
    with ExitStack() as stack:
        network = stack.enter_context(
            node_network(
                folder,
                environment_rules=filter_file(environment, addresses, SITE).content,
                node=host.address,
                pod=host.pods[3],
                world=[*servers, resolver],
                ports=[],
            )
        )
        neighbour, address = stack.enter_context(namespace()), host.pods[4]
        connect(network.node, "veth4567cdef", f"{host.address}/32", neighbour, f"{address}/32")
        network.node.run("ip", "route", "add", f"{address}/32", "dev", "veth4567cdef")
        neighbour.run("ip", "route", "add", "default", "via", str(host.address), "dev", "eth0", "onlink")
        network.node.run(*HAVE_ADDRESS)
        network.node.run(*HAVE_RULES, stdin=RULES)
        words = network.node.words(sys.executable, "-c", RESOLVE)
        resolving = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        stack.callback(resolving.kill)
        assert resolving.stdout is not None
        assert resolving.stdout.readline() == "ready\n"
        log = stack.enter_context((folder / "log").open("wb"))
        words = network.node.words(str(binary), "-conf", str(folder / "Corefile"))
        cache = stack.enter_context(subprocess.Popen(words, stdout=log, stderr=log))
        stack.callback(cache.kill)
        eventually(lambda: ask(neighbour, 1, "up.example", patience_s=5) == {"0": 1}, what="the cache answers")
        yield Node(network=network, neighbour=neighbour, servers=servers, resolver=resolver)


def ask(place: Namespace, count: int, zone: str, *, patience_s: float) -> dict[str, int]:
    """Return how many answers of the cache had which code."""
    words = place.words(sys.executable, "-c", ASK, ADDRESS, str(count), zone, str(patience_s))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def dropped(node: Node, target: str, count: int = 300) -> int:
    """Send datagrams of a pod to port 53 of an address, and return how many of them the filter drops."""
    before = _dropped(node)
    node.network.pod.run(sys.executable, "-c", SEND, target, str(count))
    return _dropped(node) - before


def _dropped(node: Node) -> int:
    words = node.network.node.words("nft", "--json", "list", "chain", "inet", "longhaul", "dns_questions")
    chain = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["nftables"]
    (rule,) = (each["rule"]["expr"] for each in chain if "rule" in each)
    return next(int(each["counter"]["packets"]) for each in rule if "counter" in each)


def test_no_pod_alone_takes_all_places_of_a_server() -> None:
    """Not even with the least questions: those of the burst, and those that come while they wait."""
    waiting = (POD_BURST_KIB + POD_KIB_PER_S * ATTEMPTS * ATTEMPT_S) * 1024 / LEAST_QUESTION_BYTES
    assert waiting < PLACES


def test_a_pod_that_asks_too_much_takes_no_answer_from_another(node: Node) -> None:
    """The cache refused its neighbours' questions: it passed on 1,000 at a time, of whomever."""
    assert ask(node.network.pod, FLOOD, SILENT, patience_s=0).keys() <= {"2"}
    assert ask(node.neighbour, OTHERS, "other.example", patience_s=5) == {"0": OTHERS}
    assert ask(node.neighbour, 1, "up.example", patience_s=5) == {"0": 1}, "an answer of the cache itself"


def test_what_a_pod_asks_of_servers_and_cache_is_limited_together(node: Node) -> None:
    assert dropped(node, ADDRESS) > 0
    for server in node.servers:
        assert dropped(node, server) > 0, server


def test_the_site_s_resolver_is_asked_without_a_limit(node: Node) -> None:
    """The cluster's servers, which are pods, ask it for all."""
    assert dropped(node, node.resolver) == 0
