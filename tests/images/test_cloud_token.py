"""A token that the node controller gets by a socket, since it does not reach the metadata service."""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path

import cloud_token
import pytest
from controller import identity
from controller.identity import ManagedIdentity
from controller.inventory import SourceError

from tests.images.fakes import TOKEN
from tests.images.machines import UNITS
from tests.support.loopback import Answering

METADATA_ADDRESS = "169.254.169.254"


def served(path: Path, text: str) -> threading.Thread:
    """Give ``text`` to the next connection, as systemd and the program do."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def give() -> None:
        with listening, listening.accept()[0] as connection:
            connection.sendall(text.encode())

    thread = threading.Thread(target=give)
    thread.start()
    return thread


@pytest.fixture(name="path")
def _path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "token.sock"
    monkeypatch.setattr(identity, "SOCKET", str(path))
    return path


def test_it_is_given_whole_and_kept(path: Path) -> None:
    serving = served(path, json.dumps({"token": TOKEN, "until": 10_000.0}))
    mine = ManagedIdentity(wall=lambda: 1_000.0)
    assert mine.token() == TOKEN
    serving.join()
    assert mine.token() == TOKEN
    assert TOKEN not in repr(mine)


@pytest.mark.parametrize(
    ("text", "said"), [("", "gives no token"), ("[]", "gives no token"), ('{"error": "503"}', "503")], ids=str
)
def test_what_is_no_token_is_told(path: Path, text: str, said: str) -> None:
    serving = served(path, text)
    with pytest.raises(SourceError, match=said):
        ManagedIdentity().token()
    serving.join()


def test_a_socket_that_is_not_there_is_told_with_its_path(path: Path) -> None:
    with pytest.raises(SourceError, match=re.escape(str(path))):
        ManagedIdentity().token()


def test_the_metadata_services_refusal_is_passed_on() -> None:
    with Answering(lambda _: (400, b'{"error_description": "Identity not found"}')) as service:
        assert "Identity not found" in json.loads(cloud_token.answer(metadata=service.url))["error"]


@pytest.mark.parametrize("unit", ["longhaul-node-controller", "longhaul-join"])
def test_who_could_be_taken_over_does_not_reach_the_metadata_service(unit: str) -> None:
    """It gives whoever asks tokens for the vault, which holds every key of the machine."""
    assert f"\nIPAddressDeny={METADATA_ADDRESS}\n" in (UNITS / f"{unit}.service").read_text()


def test_the_node_controller_alone_is_given_tokens() -> None:
    text = (UNITS / "longhaul-cloud-token.socket").read_text()
    assert "\nSocketUser=node-controller\nSocketMode=0600\n" in text
    assert f"ListenStream={identity.SOCKET}\n" in text
