"""Limits of the join endpoint: connections for each address, bytes and seconds."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from join_endpoint import https_listener
from join_endpoint.protocol import JOIN, LARGEST

from tests.images.join_world import JoinWorld
from tests.images.machines import ROOTFS, eventually
from tests.support.ports import free_ports


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> Iterator[JoinWorld]:
    with JoinWorld(tmp_path) as found:
        yield found


def connection(world: JoinWorld, sender: str = "127.0.0.1") -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(world.folder / "ca.crt"))
    context.check_hostname = False
    return http.client.HTTPSConnection("127.0.0.1", world.port, timeout=10, context=context, source_address=(sender, 0))


def ask(world: JoinWorld, method: str, path: str, *, sender: str = "127.0.0.1", **more: Any) -> int:
    own = connection(world, sender)
    own.request(method, path, **more)
    answer = own.getresponse()
    json.loads(answer.read())
    own.close()
    return answer.status


@pytest.mark.parametrize(
    ("method", "path", "more", "status"),
    [
        ("GET", "/healthz", {}, 200),
        ("GET", "/", {}, 404),
        ("GET", "/v1/join/", {}, 404),
        ("GET", "/v1/challenge/short", {}, 400),
        ("POST", "/v1/other", {"body": b"{}"}, 400),
        ("POST", JOIN, {"headers": {"Content-Length": str(LARGEST + 1)}}, 413),
        ("POST", JOIN, {"headers": {"Content-Length": "-1"}}, 400),
        ("POST", JOIN, {"headers": {"Content-Length": "1e9"}}, 400),
        ("POST", JOIN, {"body": b"{}"}, 403),
    ],
)
def test_what_it_answers(world: JoinWorld, method: str, path: str, more: dict[str, Any], status: int) -> None:
    assert ask(world, method, path, **more) == status


@pytest.mark.parametrize(
    ("ciphers", "good"),
    [
        ("ECDHE-ECDSA-AES128-GCM-SHA256", True),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", True),
        ("ECDHE-ECDSA-AES128-SHA256", False),
        ("ECDHE-ECDSA-AES256-SHA", False),
    ],
)
def test_old_ciphers_are_refused(world: JoinWorld, ciphers: str, good: bool) -> None:
    context = ssl.create_default_context(cafile=str(world.folder / "ca.crt"))
    context.check_hostname = False
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    refused = contextlib.nullcontext() if good else pytest.raises(ssl.SSLError, match="handshake failure")
    with socket.create_connection(("127.0.0.1", world.port)) as plain, refused:
        agreed = context.wrap_socket(plain).cipher()
        assert agreed is not None
        assert agreed[0] == ciphers


def test_who_says_nothing_holds_up_nobody(world: JoinWorld) -> None:
    with socket.create_connection(("127.0.0.1", world.port)), socket.create_connection(("127.0.0.1", world.port)):
        assert ask(world, "GET", "/healthz") == 200


def test_a_connection_has_an_end_whatever_it_says(world: JoinWorld) -> None:
    own = connection(world)
    own.connect()
    assert own.sock is not None
    own.sock.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
    world.now += https_listener.LIFE_S + 1
    own.sock.settimeout(10)
    with contextlib.suppress(OSError):
        assert own.sock.recv(1000) == b""
    own.close()
    eventually(lambda: not world.server._open, what="it is forgotten")


def test_only_so_many_at_once(world: JoinWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https_listener, "CONNECTIONS", 2)
    held = [socket.create_connection(("127.0.0.1", world.port)) for _ in range(2)]
    eventually(lambda: len(world.server._open) == 2, what="both are there")
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(world, "GET", "/healthz")
    for each in held:
        each.close()
    eventually(lambda: not world.server._open, what="both are gone")
    assert ask(world, "GET", "/healthz") == 200


def test_one_address_does_not_shut_out_the_others(world: JoinWorld) -> None:
    held = [socket.create_connection(("127.0.0.1", world.port)) for _ in range(https_listener.CONNECTIONS_OF_ONE)]
    eventually(lambda: len(world.server._open) == len(held), what="all are there")
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(world, "GET", "/healthz")
    assert ask(world, "GET", "/healthz", sender="127.0.0.2") == 200
    for each in held:
        each.close()


def test_the_pods_addresses_of_one_node_do_not_shut_out_the_others(world: JoinWorld) -> None:
    """A machine that was taken over sends from its own address and from those of its sixteen pods."""
    taken = [f"127.0.1.{last}" for last in range(32, 32 + 16)]
    place = ("127.0.0.1", world.port)
    with ExitStack() as held:
        for sender in [*taken, "127.0.0.1"] * https_listener.CONNECTIONS_OF_ONE:
            held.enter_context(socket.create_connection(place, source_address=(sender, 0)))
        own = https_listener.CONNECTIONS_OF_A_RANGE + https_listener.CONNECTIONS_OF_ONE
        eventually(lambda: len(world.server._open) == own, what="as many as one node may have are there")
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(world, "GET", "/healthz", sender=taken[-1])
        assert ask(world, "GET", "/healthz", sender="127.0.1.31") == 200
        assert ask(world, "GET", "/healthz", sender="127.0.1.48") == 200
    assert own < https_listener.CONNECTIONS / 2


def test_the_load_balancer_s_probe_is_always_heard(world: JoinWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https_listener, "CONNECTIONS", 0)
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(world, "GET", "/healthz")
    monkeypatch.setattr(https_listener, "PROBE", "127.0.0.1")
    assert ask(world, "GET", "/healthz") == 200


@pytest.mark.parametrize(
    "one", [b"X-Long: %b\r\n" % (b"a" * 60000), (b"X-Many: %b\r\n" % (b"a" * 100)) * 1000], ids=["long", "many"]
)
def test_little_is_kept_of_a_request_s_head(world: JoinWorld, one: bytes) -> None:
    own = connection(world)
    own.connect()
    assert own.sock is not None
    with contextlib.suppress(OSError):
        own.sock.sendall(b"GET /healthz HTTP/1.1\r\n" + one)
        assert own.sock.recv(1000) == b"", "it is closed though the head has no end yet"
    own.close()
    assert ask(world, "GET", "/healthz") == 200


def test_each_request_of_a_connection_has_a_head_of_its_own(world: JoinWorld) -> None:
    own = connection(world)
    for _ in range(3):
        own.request("GET", "/healthz", headers={"X-Long": "a" * (https_listener.HEAD // 2)})
        answer = own.getresponse()
        assert (answer.status, answer.read()) == (200, b"{}")
    own.close()


def test_the_certificate_is_read_when_it_has_changed_alone(world: JoinWorld) -> None:
    first = world.server.context()
    assert world.server.context() is first
    world.write_certificate("another.and.longer.name.lab.internal")
    assert world.server.context() is not first


def test_many_machines_at_once(world: JoinWorld) -> None:
    statuses: list[int] = []

    def machine(index: int) -> None:
        statuses.append(ask(world, "GET", "/healthz", sender=f"127.0.1.{index + 1}"))

    threads = [threading.Thread(target=machine, args=(index,)) for index in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 20


def test_a_fault_of_ours_is_logged_and_ends_one_connection(world: JoinWorld, caplog: pytest.LogCaptureFixture) -> None:
    def fault(_: str, **__: str) -> Any:
        raise KeyError("ours")

    world.endpoint.challenge = fault  # type: ignore[method-assign]
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(world, "GET", "/v1/challenge/x")
    assert "not answered" in caplog.text
    assert ask(world, "GET", "/healthz") == 200


def test_without_a_certificate_nobody_is_answered(world: JoinWorld) -> None:
    kept = world.certificate.read_text()
    world.certificate.unlink()
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(world, "GET", "/healthz")
    world.certificate.write_text(kept)
    assert ask(world, "GET", "/healthz") == 200


# The program.


def start(folder: Path, port: int) -> subprocess.Popen[str]:
    node = {"machine": "lab-api-0", "role": "api", "index": 0, "address": "127.0.0.1", "version": "1", "stores": {}}
    (folder / "node.json").write_text(json.dumps({**node, "port": 1, "join_port": port}))
    program = ROOTFS / "usr/local/lib/longhaul/longhaul-program"
    words = [sys.executable, "-B", program, "join_endpoint.unit", "--node", folder / "node.json", "--pki", folder]
    words += ["--address", "127.0.0.1"]
    return subprocess.Popen([*map(str, words)], stderr=subprocess.PIPE, text=True)


def test_the_program_serves_until_it_is_told_to_stop(world: JoinWorld, tmp_path: Path) -> None:
    (tmp_path / "kubernetes-ca.crt").write_text((tmp_path / "ca.crt").read_text())
    [world.port] = free_ports(1)
    running = start(tmp_path, world.port)
    try:

        def answers() -> bool:
            try:
                return ask(world, "GET", "/healthz") == 503
            except OSError:
                return False

        eventually(answers, what="it answers, that nobody is at the API's port")
        assert ask(world, "GET", f"/v1/join/{'ab' * 32}") == 503
    finally:
        running.terminate()
        assert running.wait(20) == 0
        assert running.stderr is not None
        running.stderr.close()


def test_the_program_ends_without_a_certificate(tmp_path: Path) -> None:
    running = start(tmp_path, free_ports(1)[0])
    _, said = running.communicate(timeout=20)
    assert running.returncode == 1
    assert "FileNotFoundError" in said
