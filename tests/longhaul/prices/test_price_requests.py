"""HTTP requests: retries for busy interfaces, plain words for other failures."""

from __future__ import annotations

import socket
from decimal import Decimal

import pytest

from clouds.base.price_requests import Web, WebError
from tests.longhaul.prices.price_server import PriceServer

PATIENT = Web(tries=3, pause_s=0)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_interface_is_asked_again(status: int, server: PriceServer) -> None:
    server.busy = [status, status]
    server.replaced["/x"] = b'{"a": 0.1}'
    assert PATIENT.document(f"{server.address}/x") == {"a": Decimal("0.1")}
    assert len(server.asked) == 3


def test_patience_has_an_end(server: PriceServer) -> None:
    server.busy = [503] * 9
    with pytest.raises(WebError, match=r"/x: answered 503 Service Unavailable, 3 times"):
        PATIENT.document(f"{server.address}/x")
    assert len(server.asked) == 3


def test_a_refusal_is_final(server: PriceServer) -> None:
    with pytest.raises(WebError, match=r"/x: answered 404 Not Found$"):
        PATIENT.document(f"{server.address}/x")
    assert len(server.asked) == 1


def test_large_files_are_asked_for_again_as_well(server: PriceServer) -> None:
    server.busy = [503]
    server.replaced["/x"] = b"one\ntwo\nthree"
    assert PATIENT.scan(f"{server.address}/x", list, say=print) == ["one", "two", "three"]


def test_lines_are_whole_however_the_bytes_arrive(server: PriceServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clouds.base.price_requests.CHUNK", 3)
    server.replaced["/x"] = "één\r\n\nzwei,\ttrois\n".encode()
    assert PATIENT.scan(f"{server.address}/x", list, say=print) == ["één\r", "", "zwei,\ttrois"]


def test_a_large_file_says_how_far_it_is(server: PriceServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clouds.base.price_requests.REPORT_EVERY", 1 << 20)
    server.replaced["/x"] = b"x" * (2 << 20)
    said: list[str] = []
    PATIENT.scan(f"{server.address}/x", list, say=said.append)
    assert said == [f"{server.address}/x: 1 MiB of 2", f"{server.address}/x: 2 MiB of 2"]


def test_nobody_there_is_said_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(WebError, match=rf"^http://127\.0\.0\.1:{port}/x: no connection$"):
        Web(tries=3, pause_s=0).document(f"http://127.0.0.1:{port}/x")


def test_a_host_that_gave_no_connection_is_not_asked_again(server: PriceServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    web = Web(tries=1, pause_s=0)
    with pytest.raises(WebError, match=r": no connection$"):
        web.document(f"http://{nobody}/x")
    with socket.create_server(("127.0.0.1", int(nobody.split(":")[1]))) as late:
        late.setblocking(False)
        with pytest.raises(WebError, match=f"^not asked: {nobody} accepted no connection before$"):
            web.document(f"http://{nobody}/y")
        with pytest.raises(BlockingIOError):
            late.accept()
    server.replaced["/x"] = b"{}"
    assert web.document(f"{server.address}/x") == {}, "others are asked"


def test_silence_is_said_in_words() -> None:
    impatient = Web(tries=1, pause_s=0, silence_s=0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(WebError, match=r"no answer in time|no connection"):
            impatient.document(address)
