"""The list of people whose access was revoked."""

from __future__ import annotations

import json

import pytest

from contract.documents.revoked import Revoked, RevokedPerson, is_name
from contract.vault import LARGEST

ALICE = RevokedPerson(name="corp:alice@example.com", since="2030-01-01T00:00:00+00:00", by="root@corp")


def test_a_list_is_read_as_it_was_written() -> None:
    written = Revoked(people=(ALICE,))
    assert Revoked.parse(written.text()) == written
    assert json.loads(written.text())["users"] == '["corp:alice@example.com"]'


def test_a_person_is_in_it_once_and_goes_by_name() -> None:
    bob = RevokedPerson(name="corp:bob", since=ALICE.since, by="x")
    found = Revoked().with_(ALICE).with_(bob).with_(RevokedPerson(name=ALICE.name, since="later", by="y"))
    assert found.people == (ALICE, bob)
    assert found.without(ALICE.name).names == ("corp:bob",)
    assert found.find("corp:bob") == bob


@pytest.mark.parametrize(
    "name", ["corp:O'Brien@example.com", "corp:auth0|5f7c8ec7c33c6c004bbafe82", "corp:#x", "a-1:00u1"]
)
def test_names_of_issuers_people(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["alice", "corp:", "corp:a b", 'corp:"', "corp:a,b", "corp:${x}", "corp:\\", "corp:\n"]
)
def test_what_the_files_of_an_api_server_would_read_otherwise_is_no_name(name: str) -> None:
    assert not is_name(name)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"people": [{}]}', '{"people": [{"name": "root", "since": "", "by": ""}]}', '{"people": 1}']
)
def test_anything_else_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="it"):
        Revoked.parse(text)


def test_a_list_is_as_long_as_a_vault_s_secret() -> None:
    many = tuple(RevokedPerson(name=f"corp:{'x' * 200}{n}", since="", by="") for n in range(60))
    with pytest.raises(ValueError, match=str(LARGEST)):
        Revoked(people=many).text()
