"""An API server that starts while the events etcd is away, by way of the relay, and goes on with it once it is back."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from kube_apiserver import events_relay
from kube_apiserver.events_relay import Relay, is_own

from lab import tools
from tests.images.api_server import API, EVENTS, MAIN, Machines
from tests.images.fakes import FakeVault
from tests.images.machines import Control, eventually
from tests.support.ports import free_ports

EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"generateName": "away-"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"},
}


@pytest.fixture(name="machines")
def _machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    """The main etcd and a relay; neither the events nor an API server."""
    (port,) = free_ports(1)
    monkeypatch.setattr(events_relay, "URL", f"http://127.0.0.1:{port}")
    binaries = tools.ensure(["etcd", "kubernetes"], log_dir=tmp_path, progress=print)
    with FakeVault() as vault:
        control = Control(tmp_path, vault, members=1, tools=binaries)
        place = control[API]
        try:
            for one in control.places.values():
                one.write()
            machines = Machines(control, tmp_path)
            machines.start_etcd(MAIN)
            relay = Relay(addresses=tuple(place.node.stores["events"].values()), pki=place.path("/etc/longhaul/pki"))
            threading.Thread(target=asyncio.run, args=(events_relay.listen(relay, port),), daemon=True).start()
            yield machines
        finally:
            control.close()


@pytest.mark.lab
def test_it_starts_and_writes_events_once_they_are_back(machines: Machines) -> None:
    machines.start_api(as_root=True)  # The relay lets its own user through alone.
    eventually(machines.api_ready, what="the API server is ready without the events")
    there = lambda: machines.client.status("/api/v1/namespaces/default") == 200  # noqa: E731
    eventually(there, what="it serves")
    assert machines.client.status("/livez") == 500  # as without the exception
    assert machines.client.status("/livez?exclude=etcd&exclude=etcd-override-0") == 200

    machines.start_etcd(EVENTS)
    eventually(lambda: machines.client.status("/readyz") == 200, what="it has the events")
    machines.client.post("/api/v1/namespaces/default/events", EVENT)
    assert any(key.startswith("/registry/events/default/away-") for key in machines.keys(EVENTS))
    assert not any(key.startswith("/registry/events/") for key in machines.keys(MAIN))


@pytest.mark.parametrize(
    ("end", "uid", "own"),
    [("0100007F:CF0D", os.getuid(), True), ("0100007F:CF0D", 4242, False), ("0100007F:CF0E", os.getuid(), False)],
    ids=["ours", "another user's", "another connection"],
)
def test_only_programs_of_its_own_user_are_let_through(end: str, uid: int, own: bool, tmp_path: Path) -> None:
    """Rows as the kernel writes them (proc(5), ``/proc/net/tcp``), on a little-endian machine."""
    table = tmp_path / "tcp"
    row = f"   0: {end} 0100007F:0957 01 00000000:00000000 00:00000000 00000000 {uid:5d}        0 52 1"
    table.write_text(f"  sl  local_address rem_address   st\n{row}\n")
    assert is_own(("127.0.0.1", 0xCF0D), table=table) is own
