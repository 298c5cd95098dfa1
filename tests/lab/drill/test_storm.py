"""The storm of Events on a real API server: how many it makes, and that it makes no other objects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from ipaddress import IPv4Network

import pytest

from components.model import load
from lab import tools
from lab.drill.storm import READY, Storm
from tests.support.api_server import ApiServer, api_server
from tests.support.guarded import guarded_arguments
from tests.support.hosts import STACKS

pytestmark = pytest.mark.engine


@pytest.fixture(name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    binaries = tools.ensure(
        ["etcd", "kube-apiserver", "kubectl"], log_dir=tmp_path_factory.mktemp("tools"), progress=print
    )
    folder = tmp_path_factory.mktemp("cluster")
    arguments = guarded_arguments(load(STACKS / "Pulumi.lab.yaml"), folder)
    services = IPv4Network("10.79.0.0/17")
    with api_server(folder, tools=binaries, services=services, arguments=arguments) as server:
        yield server


def test_it_makes_events_at_its_rate_and_counts_them(server: ApiServer) -> None:
    some = threading.Event()
    storm = Storm(server.client(timeout_s=30.0), rate=400.0, ready=some.set)
    storm.make()
    lasted = asyncio.run(storm.blow(lambda: some.wait(60)))
    assert some.is_set()
    events = server.get("events", "--all-namespaces")["items"]
    there = [one for one in events if one["metadata"]["namespace"] in storm.namespaces]
    assert len(there) >= storm.answers[201] >= READY, "requests that were in flight at the end may be there as well"
    assert len(there) <= 400 * lasted + 1
    assert set(storm.answers) == {201}
    storm.remove()
