"""Benchmark of the cluster's DNS: what 1,000 nodes ask of the servers, with and without the nodes' caches, and how many
answers a site loses whose links are cut.

CoreDNS, its configurations and the API server are the real ones; the API server has the Services and endpoints of 1,000
nodes. The nodes' pods are a program that asks four caches, each as the 16 pods of one node do; four nodes stand for
all, since no cache depends on another.
"""

from __future__ import annotations

import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path

from components.model import load, plan
from components.model.network.cluster_dns import site_dns_addresses
from components.objects import dns
from components.render.node_dns import corefile
from contract.node_dns import ADDRESS, METRICS_PORT, RESOLVER
from lab import tools
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS
from tests.support.name_servers import NameServer, ask
from tests.support.node_network import Namespace, connect, namespace
from tests.support.ports import free_ports

TOOLS = ["etcd", "kube-apiserver", "kubectl", "coredns"]
NODES, SAMPLE, PODS = 1000, 4, 16
"""Nodes that are measured for, nodes that are run, and pods of each."""
SERVICES, ENDPOINTS = 1000, 16
"""Services, and endpoints of each: a pod of each of 16,000."""
LASTS_S = 60
"""Duration of the questions in seconds: two lives of an answer in a cache."""
SEARCH = ("default.svc.cluster.local", "svc.cluster.local", "cluster.local")
"""Search list of a pod, which a name with fewer than five dots goes through first (kubernetes.io, "DNS for Services and
Pods")."""
FLOOD, WINDOW = 20_000, 50
"""Questions by which the processor time of one is measured, and how many are under way at a time."""
CUT_QUESTIONS, PATIENCE_S = 200, 5.0
"""Questions that are asked at once when a link is cut, and how long a resolver waits for an answer (resolv.conf(5))."""

ASK = """
import select, socket, struct, sys, time
target, count, word, patience = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
waiting = {}
for number in range(count):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in f"{word}-{number}.svc.cluster.local".split("."))
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.connect((target, 53))
    asking.send(struct.pack(">6H", number, 0x0100, 1, 0, 0, 0) + labels + bytes([0, 0, 1, 0, 1]))
    waiting[asking.fileno()] = asking
lost, deadline = 0, time.monotonic() + patience
while waiting and (left := deadline - time.monotonic()) > 0:
    for each in select.select(list(waiting.values()), [], [], left)[0]:
        del waiting[each.fileno()]
        try:
            lost += each.recv(4096)[3] & 15 == 2
        except OSError:
            lost += 1
print(lost + len(waiting))
"""
"""Prints how many of the questions had no answer, or that of a failure."""


def measure(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    binaries = tools.ensure(TOOLS, log_dir=folder, progress=print)
    yield from _load(folder, binaries)
    yield from _cuts(folder, binaries["coredns"])


def _load(folder: Path, binaries: Mapping[str, Path]) -> Iterator[tuple[str, float]]:
    environment = load(STACKS / "Pulumi.lab.yaml")
    addresses = plan(environment)
    with ExitStack() as stack:
        place = folder / "api"
        place.mkdir()
        api = stack.enter_context(api_server(place, tools=dict(binaries), services=addresses.services))
        _make_services(api)
        machine = stack.enter_context(NameServer("192.0.2.3"))
        port, metrics, health, ready = free_ports(4)
        text = dns.corefile(environment, addresses)
        for declared, here in (
            (".:53 {", ".:53 {\n    bind 127.0.0.1"),
            ("health {", f"health 127.0.0.1:{health} {{"),
            ("    ready\n", f"    ready 127.0.0.1:{ready}\n"),
            (":9153", f"127.0.0.1:{metrics}"),
            ("fallthrough in-addr.arpa", f"fallthrough in-addr.arpa\n        kubeconfig {api.kubeconfig}"),
            ("/etc/resolv.conf", f"127.0.0.1:{machine.port}"),
            (".:53", f".:{port}"),
        ):
            text = text.replace(declared, here)
        server = stack.enter_context(_running(folder / "server", binaries["coredns"], text))
        last = f"service-{SERVICES - 1}.default.svc.cluster.local"
        eventually(lambda: _address(port, last), what="the server knows every Service")
        yield "DNS server with 1,000 Services of 16 endpoints, MiB", _memory_mib(server)

        spent = _processor_s(server)
        _flood(port, FLOOD)
        cost_s = (_processor_s(server) - spent) / FLOOD
        yield "DNS server, processor time of a question, us", cost_s * 1e6

        caches = []
        for number in range(SAMPLE):
            near, metrics_port = free_ports(2)
            cached = corefile(environment, addresses, "rack")
            for declared, here in (
                (str(site_dns_addresses(addresses)["rack"]), f"127.0.0.1:{port}"),
                (f" {addresses.dns_service} ", " "),
                (RESOLVER, f"127.0.0.1:{machine.port}"),
                (ADDRESS, "127.0.0.1"),
                (f":{METRICS_PORT}", f":{metrics_port}"),
            ):
                cached = cached.replace(declared, here)
            process = stack.enter_context(
                _running(folder / f"cache-{number}", binaries["coredns"], cached, "-dns.port", str(near))
            )
            eventually(lambda near=near: _address(near, last), what="a cache answers")
            caches.append((near, process))
        before = _answered(metrics)
        asked = _ask_as_pods([near for near, _ in caches])
        passed = _answered(metrics) - before
        each = asked / LASTS_S / SAMPLE * NODES
        yield "questions of 1,000 nodes a second, which servers get without caches", each
        yield "questions of 1,000 nodes a second, which servers get with caches", passed / asked * each
        yield "processors of the servers without caches", each * cost_s
        yield "processors of the servers with caches", passed / asked * each * cost_s
        yield "a node's cache, MiB", max(_memory_mib(process) for _, process in caches)


def _make_services(api: ApiServer) -> None:
    items: list[dict[str, object]] = []
    for number in range(SERVICES):
        name = f"service-{number}"
        ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
        items.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports}})
        addresses = [f"10.66.{number % 250}.{place + 1}" for place in range(ENDPOINTS)]
        items.append(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4",
                "ports": ports,
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses],
            }
        )
    api.kubectl("create", "--filename=-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


@contextmanager
def _running(folder: Path, binary: Path, text: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    folder.mkdir()
    (folder / "Corefile").write_text(text)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([binary, "-conf", folder / "Corefile", *words], stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _address(port: int, name: str) -> bool:
    with suppress(OSError):
        return ask(port, name).address is not None
    return False


def _question(number: int, name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"
    return struct.pack(">6H", number & 0xFFFF, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">2H", kind, 1)


def _flood(port: int, count: int) -> None:
    """Ask for Services' names, some at a time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("127.0.0.1", port))
        for start in range(0, count, WINDOW):
            for number in range(start, start + WINDOW):
                asking.send(_question(number, f"service-{number % SERVICES}.default.svc.cluster.local", 1))
            for _ in range(WINDOW):
                asking.recv(4096)


def _ask_as_pods(ports: Sequence[int]) -> int:
    """Ask each cache what the pods of a node ask, a lookup a second each, and return the number of questions."""
    chance, asked, began = random.Random(1), 0, time.monotonic()
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in ports]
        for asking, port in zip(sockets, ports, strict=True):
            asking.connect(("127.0.0.1", port))
        for turn in range(LASTS_S * PODS):
            time.sleep(max(began + turn / PODS - time.monotonic(), 0))
            for asking in sockets:
                for name, kind in product(_names(chance), (1, 28)):
                    asking.send(_question(asked, name, kind))
                    asked += 1
            for asking in select.select(sockets, [], [], 0)[0]:
                with suppress(BlockingIOError):
                    while asking.recv(4096, socket.MSG_DONTWAIT):
                        pass
    return asked


def _names(chance: random.Random) -> list[str]:
    """Return the names of a lookup, which is of a Service or of a name of the internet, as often; a few names are asked
    for most."""
    number = min(int(chance.paretovariate(1)) - 1, SERVICES - 1)
    if chance.random() < 0.5:
        return [f"service-{number}.{SEARCH[0]}"]
    return [*(f"host-{number}.example.com.{suffix}" for suffix in SEARCH), f"host-{number}.example.com"]


def _answered(port: int) -> float:
    """Return how many questions a server has had."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        lines = response.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("coredns_dns_requests_total"))


def _processor_s(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mib(process: subprocess.Popen[bytes]) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


SITES = ("a", "b")
ALL_SITES = "10.255.0.10"
SERVER = """\
cluster.local {
    bind ADDRESS
    template IN ANY cluster.local {
        rcode NXDOMAIN
    }
}
"""
"""A server that answers every question about the cluster."""


def _cuts(folder: Path, coredns: Path) -> Iterator[tuple[str, float]]:
    """Two sites, each a network with two servers and a cache, and a link between; Services as kube-proxy makes them."""
    environment = load(STACKS / "Pulumi.lab.yaml")
    addresses = plan(environment)
    with ExitStack() as stack:
        places = {site: stack.enter_context(namespace()) for site in SITES}
        servers = {site: [f"10.{index}.0.{n}" for n in (1, 2)] for index, site in enumerate(SITES, start=1)}
        services = {site: f"10.255.0.{index}" for index, site in enumerate(SITES, start=1)}
        _connect(places, servers)
        for site, place in places.items():
            _have_services(place, {services[site]: servers[site], ALL_SITES: servers["a"][:1] + servers["b"][:1]})
            for address in servers[site]:
                _start(stack, place, folder / f"server-{address}", coredns, SERVER.replace("ADDRESS", address))
            cached = corefile(environment, addresses, "rack")
            for declared, here in (
                (str(site_dns_addresses(addresses)["rack"]), services[site]),
                (f" {addresses.dns_service} ", f" {ALL_SITES} "),
                (RESOLVER, "192.0.2.53"),
                ("    loop\n", ""),
            ):
                cached = cached.replace(declared, here)
            place.run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo", "scope", "host")
            _start(stack, place, folder / f"site-{site}", coredns, cached)
        for target in (ADDRESS, ALL_SITES):
            eventually(
                lambda target=target: all(_lost(p, target, "up", 10) == 0 for p in places.values()), what="it is up"
            )
        for cut in SITES:
            places[cut].run("ip", "link", "set", "eth0", "down")
            for site, place in places.items():
                where = f"of {CUT_QUESTIONS} questions in site {site} while {cut} is cut off"
                yield f"lost {where}, two servers for all", _lost(place, ALL_SITES, f"old-{cut}-{site}", CUT_QUESTIONS)
                yield (
                    f"lost {where}, caches and servers of sites",
                    _lost(place, ADDRESS, f"{cut}-{site}", CUT_QUESTIONS),
                )
            places[cut].run("ip", "link", "set", "eth0", "up")
            _routes(places, servers)


def _connect(places: Mapping[str, Namespace], servers: Mapping[str, Sequence[str]]) -> None:
    for site, place in places.items():
        place.run("ip", "link", "set", "lo", "up")
        for address in servers[site]:
            place.run("ip", "address", "add", f"{address}/32", "dev", "lo")
    connect(places["a"], "eth0", "192.0.2.1/30", places["b"], "192.0.2.2/30")
    _routes(places, servers)


def _routes(places: Mapping[str, Namespace], servers: Mapping[str, Sequence[str]]) -> None:
    for site, other, via in (("a", "b", "192.0.2.2"), ("b", "a", "192.0.2.1")):
        for address in servers[other]:
            places[site].run("ip", "route", "replace", address, "via", via)
    for place in places.values():
        # A machine has a way out, though nothing answers there when its site is cut off.
        place.run("ip", "link", "add", "out", "type", "veth", "peer", "name", "out-far", check=False)
        place.run("ip", "link", "set", "out", "up")
        place.run("ip", "link", "set", "out-far", "up")
        place.run("ip", "route", "replace", "default", "dev", "out")


def _have_services(place: Namespace, services: Mapping[str, Sequence[str]]) -> None:
    """Have addresses lead to servers at random, as kube-proxy's nftables mode does."""
    rules = "".join(
        f"    ip daddr {address} meta l4proto {{ tcp, udp }} dnat to numgen random mod {len(to)} map {{ "
        + ", ".join(f"{index} : {server}" for index, server in enumerate(to))
        + " }\n"
        for address, to in services.items()
    )
    chain = f"  chain output {{\n    type nat hook output priority -100;\n{rules}  }}\n"
    place.run("nft", "--file", "-", stdin=f"table ip services {{\n{chain}}}\n")


def _start(stack: ExitStack, place: Namespace, folder: Path, coredns: Path, text: str) -> None:
    folder.mkdir()
    (folder / "Corefile").write_text(text)
    with (folder / "log").open("wb") as log:
        words = place.words(str(coredns), "-conf", str(folder / "Corefile"))
        process = subprocess.Popen(words, stdout=log, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.kill)


def _lost(place: Namespace, target: str, word: str, count: int) -> int:
    words = place.words(sys.executable, "-c", ASK, target, str(count), word, str(PATIENCE_S))
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
