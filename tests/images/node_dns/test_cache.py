"""A node's DNS cache, by the real program with the real configuration: whom it asks, and what it says when nobody
answers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from components.model import Environment, load, plan
from components.model.network.api_address import api_address
from components.model.network.cluster_dns import site_dns_addresses
from components.render.node_dns import corefile
from contract.node_dns import ADDRESS, METRICS_PORT, RESOLVER
from lab import tools
from tests.support.api_server import eventually
from tests.support.hosts import STACKS
from tests.support.name_servers import NameServer, ask
from tests.support.ports import free_ports

pytestmark = pytest.mark.engine

OF_SITE, OF_ALL, OF_MACHINE = (IPv4Address(f"192.0.2.{number}") for number in (1, 2, 3))
"""Answers of the site's servers, of all sites' servers, and of the machine's own resolver."""


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A running cache, and who is asked."""

    port: int
    site: NameServer
    all_sites: NameServer
    machine: NameServer


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    return load(STACKS / "Pulumi.lab.yaml")


@pytest.fixture(name="cache")
def _cache(environment: Environment, tmp_path: Path) -> Iterator[Cache]:
    binary = tools.ensure(["coredns"], log_dir=tmp_path, progress=print)["coredns"]
    addresses = plan(environment)
    port, metrics = free_ports(2)
    text = corefile(environment, addresses, "rack")
    with NameServer(str(OF_SITE)) as site, NameServer(str(OF_ALL)) as all_sites, NameServer(str(OF_MACHINE)) as machine:
        for declared, here in (
            (str(site_dns_addresses(addresses)["rack"]), f"127.0.0.1:{site.port}"),
            (f" {addresses.dns_service} ", f" 127.0.0.1:{all_sites.port} "),
            (RESOLVER, f"127.0.0.1:{machine.port}"),
            (ADDRESS, "127.0.0.1"),
            (f":{METRICS_PORT}", f":{metrics}"),
        ):
            assert declared in text
            text = text.replace(declared, here)
        (tmp_path / "Corefile").write_text(text)
        command = [binary, "-conf", tmp_path / "Corefile", "-dns.port", str(port)]
        with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as running:
            cache = Cache(port=port, site=site, all_sites=all_sites, machine=machine)
            eventually(lambda: _asked(cache, environment.api_name) is not None, what="it answers")
            yield cache
            running.kill()


def _asked(cache: Cache, name: str) -> IPv4Address | None:
    try:
        return ask(cache.port, name).address
    except ConnectionRefusedError:
        return None


def test_whom_a_cache_asks(cache: Cache, environment: Environment) -> None:
    addresses = plan(environment)
    first, second, third = (f"{name}.default.svc.cluster.local" for name in ("first", "second", "third"))
    assert _asked(cache, first) == _asked(cache, first) == OF_SITE
    assert cache.site.questions.count(first) == 1, "the second answer was kept"
    node = addresses.sites["use1"].nodes[10].reverse_pointer
    assert _asked(cache, node) == OF_SITE, "reverse names of the whole supernet"
    # Private zones of the site, and the rest of the world; the API's name is known on every site.
    assert _asked(cache, "registry.corp.example") == _asked(cache, f"x.{environment.domain}") == OF_MACHINE
    assert _asked(cache, environment.api_name) == api_address(environment, addresses)
    assert cache.all_sites.questions == []

    cache.site.stop()
    assert _asked(cache, second) == OF_ALL
    cache.all_sites.stop()
    eventually(lambda: ask(cache.port, first).ttl_s == 0, what="the answer is out of date, and is given")
    assert _asked(cache, first) == OF_SITE
    assert _asked(cache, third) is None, "nobody knows it"
    assert _asked(cache, "other.corp.example") == OF_MACHINE
