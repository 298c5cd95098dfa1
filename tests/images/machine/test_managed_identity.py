"""A machine asks for its own identity, whatever other identities it has, and keeps the token for most of its life."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jwt
import pytest
import requests
from machine import managed_identity
from machine.managed_identity import EARLY_S, OwnIdentity, own_identity
from machine.metadata import NotYetError
from vault.client import MachineVault

from lab.cloud.azure.policy import GOVERNED
from tests.images.fakes import IDENTITY, MACHINE, TOKEN, FakeVault
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import Source, running
from tests.lab.cloud.test_policy import govern
from tests.support.loopback import Answering, Asked

SET = MACHINE.replace("virtualMachines/lab-m", "virtualMachineScaleSets/lab-gpu/virtualMachines/0")


@pytest.mark.parametrize(
    ("resource", "own"),
    [
        (MACHINE, IDENTITY),
        # Azure writes parts of an id in other cases.
        (MACHINE.replace("Microsoft.Compute", "microsoft.compute"), IDENTITY),
        (SET, ""),
        ("", ""),
    ],
)
def test_the_machines_name_is_its_identitys(resource: str, own: str) -> None:
    assert own_identity(resource) == own


def test_a_second_identity_changes_nothing(vault: FakeVault) -> None:
    vault.secrets["a"] = "value"
    assert MachineVault(url=vault.url, metadata=vault.metadata).read("a") == "value"


def test_a_token_is_kept_until_five_minutes_before_its_end(vault: FakeVault) -> None:
    vault.until, now = 10_000.0, 1_000.0
    identity = OwnIdentity(
        audience="https://vault.azure.net", metadata=vault.metadata.partition("/metadata/")[0], wall=lambda: now
    )
    assert identity.token() == TOKEN
    now = vault.until - EARLY_S
    identity.token()
    assert _paths(vault) == ["resourceId", "token"]
    now += 1
    identity.token()
    assert _paths(vault) == ["resourceId", "token", "token"], "the machine's id does not change"


def test_what_the_vault_asks_for_again_has_a_token_that_is_valid(vault: FakeVault) -> None:
    """Waiting at boot takes longer than a token that the metadata service had held for hours may still live."""
    vault.secrets["a"], vault.until = "value", 0.0
    opened = MachineVault(url=vault.url, metadata=vault.metadata)
    assert [opened.read("a"), opened.read("a")] == ["value"] * 2
    assert _paths(vault).count("token") == 2


@pytest.mark.parametrize("answer", ["secret", '["secret"]', '{"access_token": "secret"}', '{"expires_on": "1"}'])
def test_an_answer_that_is_none_is_told_without_it(answer: str) -> None:
    with _metadata(lambda _: (200, answer.encode())) as service, pytest.raises(NotYetError) as told:
        OwnIdentity(audience="a", metadata=service.url).token()
    assert "token from the metadata service: the answer lacks" in str(told.value)
    assert "secret" not in str(told.value)


def test_the_metadata_services_reason_is_told() -> None:
    refused = json.dumps({"error": "invalid_request", "error_description": "Identity not found"}).encode()
    with _metadata(lambda _: (400, refused)) as service, pytest.raises(NotYetError, match=r"400 .*Identity not found"):
        OwnIdentity(audience="a", metadata=service.url).token()


def _metadata(token: Callable[[Asked], tuple[int, bytes]]) -> Answering:
    """Return the metadata service of a machine, with these answers to requests for tokens."""
    return Answering(lambda asked: (200, MACHINE.encode()) if asked.path.endswith("resourceId") else token(asked))


def _paths(vault: FakeVault) -> list[str]:
    asked = [one.path for one in vault.asked if one.path.startswith("/metadata/")]
    return [path.rpartition("/")[2] for path in asked]


def test_in_a_governed_subscription_a_machine_reads_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The identities that policies add may read nothing; one of them is the default."""
    with running(tmp_path / "cloud") as live:
        govern(live, GOVERNED)
        estate.build(live)
        own = live.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
        monkeypatch.setattr(managed_identity, "ask", _from_machine)
        token = OwnIdentity(audience="https://vault.azure.net").token()
    assert jwt.decode(token, options={"verify_signature": False})["oid"] == own


def _from_machine(url: str, *, headers: dict[str, str], **_: float) -> str:
    session = requests.Session()
    session.mount("http://", Source("127.8.0.10"))
    answer = session.get(url, headers=headers, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.text
