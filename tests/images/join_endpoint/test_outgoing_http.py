"""Clouds' answers that break off in the middle: they count as an unreachable cloud, and have no other effect."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from join_endpoint.outgoing_http import AnswerError, SourceError, fetch
from machine.metadata import NotYetError, ask
from node import proofs as node_proofs

Says = Callable[[bytes], str]


@pytest.fixture(name="says")
def _says() -> Iterator[Says]:
    """Function that serves exactly these bytes to one client and returns the address."""
    listening = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def answer(content: bytes) -> None:
        own, _ = listening.accept()
        with own:
            own.recv(65536)
            own.sendall(content)

    def says(content: bytes) -> str:
        threads.append(threading.Thread(target=answer, args=(content,)))
        threads[-1].start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}/"

    yield says
    for thread in threads:
        thread.join(20)
    listening.close()


SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"
NO_HTTP = b"220 smtp.example ready\r\n"


@pytest.mark.parametrize("content", [SHORT, NO_HTTP], ids=["cut short", "no HTTP"])
def test_an_answer_that_is_none(says: Says, content: bytes) -> None:
    if content == NO_HTTP:
        with pytest.raises(SourceError, match="a list: BadStatusLine"):
            fetch(says(content), what="a list")
    else:
        # A read with a limit ends without an error: its reader has to notice that the answer is incomplete.
        assert fetch(says(content), what="a list") == b"abc"
    with pytest.raises(NotYetError):
        ask(says(content), headers={})
    assert node_proofs._fetch(says(content)) is None


def test_chunks_that_break_off(says: Says) -> None:
    chunked = b"HTTP/1.1 %b\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nabc"
    with pytest.raises(SourceError, match="a list: IncompleteRead"):
        fetch(says(chunked % b"200 OK"), what="a list")
    with pytest.raises(AnswerError, match="a list: 503 IncompleteRead") as told:
        fetch(says(chunked % b"503 Busy"), what="a list")
    assert told.value.status == 503
