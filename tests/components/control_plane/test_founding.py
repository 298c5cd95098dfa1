"""An etcd cluster is bootstrapped once in its life."""

from __future__ import annotations

import json

import pytest

from components.control_plane import founding
from components.control_plane.secrets import first_value
from components.model.secrets.vault import SecretKind


class FakeVault:
    """A vault in memory."""

    def __init__(self, value: str | None) -> None:
        self.value = value
        self.writes = 0

    def get(self, _name: str) -> str | None:
        return self.value

    def set(self, _name: str, value: str, *, content_type: str = "") -> str:
        assert content_type == "application/json"
        self.value = value
        self.writes += 1
        return "id"


def test_it_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    vault = FakeVault(first_value(SecretKind.ETCD_STATE, holders=("m-0", "m-1")))
    assert not founding.is_bootstrapped(vault.value)
    monkeypatch.setattr(founding, "vault_at", lambda _url: vault)
    props = {"vault_url": "https://v", "secret": "etcd-state", "cluster": "a1"}
    founding.FoundedProvider().create(props)
    assert founding.is_bootstrapped(vault.value)
    assert json.loads(vault.value or "") == {"state": "existing", "cluster": "a1"}
    founding.FoundedProvider().create({**props, "cluster": "b2"})
    assert vault.writes == 1


def test_the_founders_are_those_that_hold_the_secret() -> None:
    value = json.loads(first_value(SecretKind.ETCD_STATE, holders=("m-0", "m-1")))
    assert value == {"state": "new", "cluster": "", "founders": ["m-0", "m-1"]}


@pytest.mark.parametrize(
    ("state", "founded"),
    [
        ('{"state": "new", "cluster": ""}', False),
        ('{"state": "existing", "cluster": "a1"}', True),
        (None, True),
        ("not JSON", True),
    ],
)
def test_only_a_store_that_is_known_to_be_new_has_nothing_to_lose(state: str | None, founded: bool) -> None:
    assert founding.is_bootstrapped(state) is founded
