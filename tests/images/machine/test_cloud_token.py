"""A token that the node controller gets by a socket, since it does not reach the metadata service."""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path

import pytest
from azure.core.exceptions import ClientAuthenticationError
from machine import cloud_token

from clouds.azure.tokens import SocketTokens
from components.aws.web_identity import AUDIENCES
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
def _path(tmp_path: Path) -> Path:
    return tmp_path / "token.sock"


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
        ("longhaul-cloud-token", "node-controller", "/run/longhaul-cloud-token.sock"),
        ("longhaul-scaling-token", "autoscaler", "/run/longhaul-scaling-token.sock"),
    ],
)
def test_one_program_alone_is_given_tokens(socket: str, user: str, path: str) -> None:
    text = (UNITS / f"{socket}.socket").read_text()
    assert f"\nEnvironment=LONGHAUL_AZURE_TOKENS={path}\n" in (UNITS / f"longhaul-{user}.service").read_text()
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


def test_a_service_reads_what_the_socket_gives(path: Path) -> None:
    serving = served(path, json.dumps({"token": TOKEN, "until": 10_000.0}))
    given = SocketTokens(str(path)).get_token("https://management.azure.com/.default")
    serving.join()
    assert (given.token, given.expires_on) == (TOKEN, 10_000)


@pytest.mark.parametrize("text", ["", "[]", '{"error": "503"}'], ids=str)
def test_a_service_is_told_what_is_no_token(path: Path, text: str) -> None:
    serving = served(path, text)
    with pytest.raises(ClientAuthenticationError, match=re.escape(str(path))):
        SocketTokens(str(path)).get_token("https://management.azure.com/.default")
    serving.join()


def test_the_token_is_for_an_audience_that_aws_trusts() -> None:
    assert cloud_token.AUDIENCE in AUDIENCES
