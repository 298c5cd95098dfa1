"""A token that the node controller gets by a socket, since it does not reach the metadata service."""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path

import pytest
from azure.core.exceptions import ClientAuthenticationError
from controller import identity
from controller.identity import ManagedIdentity
from controller.inventory import SourceError
from machine import cloud_token

from clouds.azure.tokens import SocketTokens
from tests.images.fakes import TOKEN
from tests.images.machines import UNITS
from tests.support.loopback import Answering, Asked

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


@pytest.mark.parametrize("unit", ["longhaul-autoscaler", "longhaul-node-controller", "longhaul-join"])
def test_who_could_be_taken_over_does_not_reach_the_metadata_service(unit: str) -> None:
    """It gives whoever asks tokens for the vault, which holds every key of the machine."""
    assert f"\nIPAddressDeny={METADATA_ADDRESS}\n" in (UNITS / f"{unit}.service").read_text()


@pytest.mark.parametrize(
    ("socket", "user", "path"),
    [
        ("longhaul-cloud-token", "node-controller", identity.SOCKET),
        ("longhaul-scaling-token", "autoscaler", "/run/longhaul-scaling-token.sock"),
    ],
)
def test_one_program_alone_is_given_tokens(socket: str, user: str, path: str) -> None:
    text = (UNITS / f"{socket}.socket").read_text()
    assert f"\nSocketUser={user}\nSocketMode=0600\n" in text
    assert f"ListenStream={path}\n" in text


def test_the_autoscaler_s_tokens_are_of_its_own_identity() -> None:
    """The machine's opens the vault, and the node controller's may not size anything."""
    machine = "/subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachines/lab-api-0"

    def answers(request: Asked) -> tuple[int, bytes]:
        if "/instance/" in request.target:
            return 200, machine.encode()
        return 200, json.dumps({"access_token": TOKEN, "expires_on": "1"}).encode()

    with Answering(answers) as service:
        assert json.loads(cloud_token.answer(part="autoscaler", metadata=service.url))["token"] == TOKEN
    assert service.asked[-1].query["msi_res_id"] == [
        "/subscriptions/S/resourceGroups/G/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"
        "lab-api-0-autoscaler"
    ]
    text = (UNITS / "longhaul-scaling-token@.service").read_text()
    assert "ExecStart=/usr/local/lib/longhaul/longhaul-program machine.cloud_token autoscaler\n" in text


def test_the_autoscaler_reads_what_the_socket_gives(path: Path) -> None:
    serving = served(path, json.dumps({"token": TOKEN, "until": 10_000.0}))
    given = SocketTokens(str(path)).get_token("https://management.azure.com/.default")
    serving.join()
    assert (given.token, given.expires_on) == (TOKEN, 10_000)


@pytest.mark.parametrize("text", ["", "[]", '{"error": "503"}'], ids=str)
def test_the_autoscaler_is_told_what_is_no_token(path: Path, text: str) -> None:
    serving = served(path, text)
    with pytest.raises(ClientAuthenticationError, match=re.escape(str(path))):
        SocketTokens(str(path)).get_token("https://management.azure.com/.default")
    serving.join()
