"""Private zones of sites, by the real DNS server with the real configuration: who gets an answer of the site's
resolver, at which site's servers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from components.model import AddressPlan, Environment, load, plan
from components.objects.dns import corefile
from components.objects.dns_servers import DnsServers, deployment_spec
from components.objects.private_zones import POD_ADDRESS
from lab import tools
from tests.support.alone import NEEDS_ROOT
from tests.support.api_server import eventually
from tests.support.hosts import STACKS
from tests.support.node_network import Namespace, namespace

pytestmark = [pytest.mark.engine, NEEDS_ROOT]

ANSWER, REFUSED = 0, 5
RESOLVER = "127.0.0.2"
ZONE = "corp.example"
RESOLVE = f"""
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("{RESOLVER}", 53))
print("ready", flush=True)
while True:
    message, client = server.recvfrom(4096)
    server.sendto(message[:2] + bytes([0x81, 0x80]) + message[4:], client)
"""
"""A site's resolver, for which each name exists."""
ASK = """
import socket, sys
source, target, name = sys.argv[1:]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
    asking.bind((source, 0))
    asking.settimeout(5)
    asking.connect((target, 53))
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    asking.send(bytes([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]) + labels + bytes([0, 0, 1, 0, 1]))
    print(asking.recv(4096)[3] & 15)
"""


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    """The lab, whose racks have a zone of their own, and one that the API's name is below."""
    lab = load(STACKS / "Pulumi.lab.yaml")
    rack = lab.sites["rack"].model_copy(update={"private_zones": (ZONE, lab.domain)})
    return lab.model_copy(update={"sites": {**lab.sites, "rack": rack}})


@pytest.fixture(scope="module", name="addresses")
def _addresses(environment: Environment) -> AddressPlan:
    return plan(environment)


@pytest.fixture(scope="module", name="place")
def _place(addresses: AddressPlan) -> Iterator[Namespace]:
    """A place with a resolver and everybody's address."""
    with ExitStack() as stack:
        place = stack.enter_context(namespace())
        place.run("ip", "link", "set", "lo", "up")
        for address in (*clients(addresses).values(), *servers(addresses).values()):
            place.run("ip", "address", "add", f"{address}/32", "dev", "lo")
        words = place.words(sys.executable, "-c", RESOLVE)
        resolving = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        stack.callback(resolving.kill)
        assert resolving.stdout is not None
        assert resolving.stdout.readline() == "ready\n"
        yield place


def clients(addresses: AddressPlan) -> dict[str, str]:
    """Return the address of each who asks."""
    control = addresses.sites["use1"]
    return {
        "a pod of the racks": str(addresses.sites["rack"].pods[9]),
        "a node of the racks": str(addresses.sites["rack"].nodes[9]),
        "a gateway of the racks": str(addresses.sites["rack"].infra[9]),
        "a pod elsewhere": str(control.pods[9]),
        "a laptop": str(control.subnet("vpn")[10]),
    }


def servers(addresses: AddressPlan) -> dict[str, str]:
    """Return the address of the server of each site."""
    return {site: str(addresses.sites[site].pods[200]) for site in ("rack", "use1")}


@contextmanager
def serving(
    environment: Environment, addresses: AddressPlan, place: Namespace, folder: Path, site: str
) -> Iterator[Callable[[str, str], int]]:
    """Run a site's server, and give a function that asks it as somebody and returns the answer's code."""
    binary = tools.ensure(["coredns"], log_dir=folder, progress=print)["coredns"]
    address = servers(addresses)[site]
    text = re.sub(r"    kubernetes .*?\n    }\n", "", corefile(environment, addresses), flags=re.DOTALL)
    text = text.replace(":53 {\n", f":53 {{\n    bind {address}\n").replace("/etc/resolv.conf", RESOLVER)
    (folder / "Corefile").write_text(text)

    def ask(client: str, name: str) -> int:
        words = place.words(sys.executable, "-c", ASK, clients(addresses)[client], address, name)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return int(done.stdout) if done.returncode == 0 else -1

    words = place.words(str(binary), "-conf", str(folder / "Corefile"))
    settings = {**os.environ, POD_ADDRESS: address}
    with (folder / "log").open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log, env=settings) as running:
        try:
            eventually(lambda: ask("a pod elsewhere", "other.example") == ANSWER, what="the server answers")
            yield ask
        finally:
            running.kill()


def test_a_site_s_zone_is_answered_at_the_site_to_its_nodes_and_pods(
    environment: Environment, addresses: AddressPlan, place: Namespace, tmp_path: Path
) -> None:
    """Every server answered everybody, with what the resolver of its site said."""
    name, inside = f"git.{ZONE}", ("a pod of the racks", "a node of the racks")
    with serving(environment, addresses, place, tmp_path, "rack") as ask:
        # Twice: what the cache has is not for everybody either.
        for _ in range(2):
            answers = {client: ask(client, name) for client in clients(addresses)}
            assert answers == {client: ANSWER if client in inside else REFUSED for client in answers}
        for client in answers:
            assert ask(client, environment.api_name) == ask(client, "www.example") == ANSWER


def test_a_site_s_zone_is_answered_nowhere_else(
    environment: Environment, addresses: AddressPlan, place: Namespace, tmp_path: Path
) -> None:
    with serving(environment, addresses, place, tmp_path, "use1") as ask:
        for client in clients(addresses):
            assert ask(client, ZONE) == ask(client, f"git.{ZONE}") == ask(client, f"x.{environment.domain}") == REFUSED
            assert ask(client, environment.api_name) == ask(client, "www.example") == ANSWER


def test_servers_know_their_address_where_zones_are_private(environment: Environment) -> None:
    """Servers stay as they are where no site has a private zone."""
    lab = load(STACKS / "Pulumi.lab.yaml")
    specs: list[Any] = [deployment_spec(each, DnsServers(replicas=2), config="") for each in (lab, environment)]
    variables = [spec["template"]["spec"]["containers"][0].get("env") for spec in specs]
    assert variables == [None, [{"name": POD_ADDRESS, "value_from": {"field_ref": {"field_path": "status.podIP"}}}]]
    assert "view" not in corefile(lab, plan(lab))
