"""A command's result when the daemon dies in the middle of its answer."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from lab import control
from lab.__main__ import status
from lab.state import InitRecord, LabState

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", HEAD, HEAD + b'{"re'])
def test_an_answer_that_breaks_off_is_none(tmp_path: Path, answer: bytes) -> None:
    state = LabState.of("x", root=tmp_path)
    state.create()
    InitRecord.of(os.getpid(), port=1).write(state)
    listener = control.listener(state)
    listener.setblocking(True)

    def die() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    daemon = threading.Thread(target=die)
    daemon.start()
    found = status(state)
    daemon.join()
    listener.close()
    assert found["daemon"]["running"] is False
    assert found["daemon"]["error"]
