"""Secrets in the vault outlive every change around them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from pulumi.runtime.rpc import UNKNOWN

from components.azure.retention import RetentionProvider
from components.control_plane import issuing
from components.control_plane.certificates import AuthorityProvider, CertificateProvider
from components.control_plane.secrets import SharedSecretProvider, TunnelKeyProvider, VaultSettingProvider
from components.control_plane.signing_keys import SigningKeys
from components.model.network.tunnel_keys import READ_VARIABLE
from components.model.secrets.encryption_keys import EncryptionKeys
from components.model.secrets.rotations import READ_VARIABLE as READ_AUTHORITIES
from components.model.secrets.vault import KEYS_IN_USE, SIGNING_KEYS

URL = "https://vault.example"


class FakeVault:
    """A vault in memory; every instance is the same one."""

    values: dict[str, str]

    def __init__(self, url: str) -> None:
        assert url == URL

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def set(self, name: str, value: str, *, content_type: str = "") -> str:
        self.values[name] = value
        return name


@pytest.fixture(autouse=True)
def values(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    stored: dict[str, str] = {}
    monkeypatch.setattr(FakeVault, "values", stored, raising=False)
    monkeypatch.setattr("components.control_plane.certificates.vault_at", FakeVault)
    monkeypatch.setattr("components.control_plane.secrets.vault_at", FakeVault)
    return stored


def authority(**more: Any) -> dict[str, Any]:
    names = {"secret": "ca-etcd", "trust_secret": "trust-etcd"}
    return {"vault_url": URL, **names, "common_name": "lab etcd", "days": 3650, **more}


def leaf(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    lists: dict[str, list[str]] = {"organizations": [], "dns_names": [], "addresses": [], "usages": ["server"]}
    issuer = {"authority_secret": state["secret"], "authority_fingerprint": state["fingerprint"]}
    return {"vault_url": URL, "secret": "leaf", **issuer, "common_name": "m", **lists, "days": 365, **more}


@pytest.mark.parametrize(
    ("provider", "inputs"),
    [
        (SharedSecretProvider(), {"vault_url": URL, "secret": "encryption-keys", "kind": "encryption-keys"}),
        (TunnelKeyProvider(), {"vault_url": URL, "secret": "tunnel"}),
        (AuthorityProvider(), authority()),
    ],
)
def test_a_vault_that_is_being_changed_moves_no_secret(provider: Any, inputs: dict[str, Any]) -> None:
    olds = provider.create(inputs).outs
    found = provider.diff("id", olds, {**inputs, "vault_url": UNKNOWN})
    assert (found.changes, found.replaces) == (False, [])
    moved = provider.diff("id", olds, {**inputs, "vault_url": "https://other.example"})
    assert moved.replaces == ["vault_url"]


@pytest.mark.parametrize(
    ("secret", "kind", "parse"),
    [(KEYS_IN_USE, "encryption-keys", EncryptionKeys.parse), (SIGNING_KEYS, "signing-keys", SigningKeys.parse)],
)
def test_keys_begin_with_one_and_a_rotation_is_left(
    values: dict[str, str], secret: str, kind: str, parse: Callable[[str], EncryptionKeys | SigningKeys]
) -> None:
    inputs = {"vault_url": URL, "secret": secret, "kind": kind}
    SharedSecretProvider().create(inputs)
    rotating = parse(values[secret]).trusting(issuing.new_key()).text()
    values[secret] = rotating
    SharedSecretProvider().create(inputs)
    assert values[secret] == rotating


@pytest.mark.parametrize(("phase", "believed"), [("trust", 2), ("use", 2), ("distrust", 1), ("steady", 1)])
def test_an_authority_that_is_renewed_while_it_rotates_leaves_the_other_believed(
    values: dict[str, str], phase: str, believed: int
) -> None:
    provider = AuthorityProvider()
    olds = provider.create(authority()).outs or {}
    other = issuing.new_authority(common_name="lab etcd", days=1, key=issuing.new_key()).certificate
    values["trust-etcd"] += other
    values["rotations"] = json.dumps({"authority-etcd": {"phase": phase, "until": ""}})
    news = provider.update("id", olds, authority(days=7300)).outs or {}
    assert values["trust-etcd"] == news["certificate"]
    assert len(issuing.certificates_in(values["trust-etcd"])) == believed
    assert (other in values["trust-etcd"]) == (believed == 2)


def test_what_is_believed_beside_an_authority_is_read_only_where_a_rotation_has_it_read(
    values: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = AuthorityProvider()
    olds = provider.create(authority()).outs or {}
    new = issuing.new_authority(common_name="lab etcd", days=1, key=issuing.new_key())
    values["trust-etcd"] += new.certificate
    assert not provider.diff("id", olds, authority()).changes
    monkeypatch.setenv(READ_AUTHORITIES, "yes")
    assert provider.diff("id", olds, authority()).changes
    both = provider.update("id", olds, authority()).outs or {}
    assert (both["certificate"], both["fingerprint"]) == (values["trust-etcd"], olds["fingerprint"])
    assert not provider.diff("id", both, authority()).changes
    values["ca-etcd"] = json.dumps({"certificate": new.certificate, "key": new.key})
    used = provider.update("id", both, authority()).outs or {}
    assert used["certificate"] == new.certificate + olds["certificate"]
    assert used["fingerprint"] == issuing.key_fingerprint(new.certificate)
    values["trust-etcd"] = new.certificate
    alone = provider.update("id", used, authority()).outs or {}
    assert alone["certificate"] == new.certificate
    renewed = provider.update("id", alone, authority(days=7300)).outs or {}
    assert renewed["certificate"] == values["trust-etcd"] != new.certificate


def test_an_authority_is_renewed_with_its_key_and_its_leaves_stay(values: dict[str, str]) -> None:
    provider = AuthorityProvider()
    olds = provider.create(authority()).outs or {}
    issued = CertificateProvider().create(leaf(olds)).outs or {}
    news = provider.update("id", olds, authority(days=7300)).outs or {}
    assert news["certificate"] != olds["certificate"]
    assert news["fingerprint"] == olds["fingerprint"]
    assert CertificateProvider().diff("id", issued, leaf(news)).changes is False
    assert values["trust-etcd"] == news["certificate"]


def test_another_key_reissues_the_leaves() -> None:
    provider = AuthorityProvider()
    olds = provider.create(authority()).outs or {}
    issued = CertificateProvider().create(leaf(olds)).outs or {}
    assert CertificateProvider().diff("id", issued, leaf({**olds, "fingerprint": "other"})).changes is True


def test_an_authority_that_a_killed_run_left_is_taken_over(values: dict[str, str]) -> None:
    first = AuthorityProvider().create(authority()).outs or {}
    second = AuthorityProvider().create(authority()).outs or {}
    assert first["certificate"] == second["certificate"]


def test_state_holds_no_private_key(values: dict[str, str]) -> None:
    state = AuthorityProvider().create(authority()).outs or {}
    issued = CertificateProvider().create(leaf(state)).outs or {}
    assert "PRIVATE KEY" in values["ca-etcd"]
    assert "PRIVATE KEY" in values["leaf"]
    assert "PRIVATE KEY" not in f"{state}{issued}"


def test_a_certificate_near_its_end_is_an_update() -> None:
    state = AuthorityProvider().create(authority()).outs or {}
    issued = CertificateProvider().create(leaf(state)).outs or {}
    pair = issuing.new_authority(common_name="any", days=1, key=issuing.new_key())
    ending = issuing.issue(issuing.Subject(common_name="any", days=1 / 86400), authority=pair).certificate
    found = CertificateProvider().diff("id", {**issued, "certificate": ending}, leaf(state))
    assert (found.changes, found.replaces) == (True, [])


def test_a_setting_follows_the_program(values: dict[str, str]) -> None:
    provider, first = VaultSettingProvider(), {"vault_url": URL, "secret": "backups", "value": "one"}
    provider.create(first)
    assert not provider.diff("backups", first, first).changes
    second = first | {"value": "two"}
    differs = provider.diff("backups", first, second)
    assert (differs.changes, differs.replaces) == (True, [])
    provider.update("backups", first, second)
    assert values == {"backups": "two"}


def test_a_retention_changes_in_place_and_belongs_to_its_container() -> None:
    provider, first = RetentionProvider(), {"container": "/c", "days": 7}
    assert not provider.diff("", first, first).changes
    longer = provider.diff("", first, first | {"days": 8})
    assert (longer.changes, longer.replaces) == (True, [])
    assert provider.diff("", first, first | {"container": "/d"}).replaces == ["container"]


def test_the_key_of_a_tunnel_changes_only_where_a_rotation_has_it_read(
    values: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, inputs = TunnelKeyProvider(), {"vault_url": URL, "secret": "tunnel"}
    outs = provider.create(inputs).outs
    first = values["tunnel"]
    assert (outs["value"], provider.create(inputs).outs["value"]) == (first, first)
    values["tunnel"] = f"new {first}"
    assert not provider.diff("id", outs, inputs).changes
    monkeypatch.setenv(READ_VARIABLE, "yes")
    assert provider.diff("id", outs, inputs).changes
    outs = provider.update("id", outs, inputs).outs
    assert outs["value"] == f"new {first}"
    assert not provider.diff("id", outs, inputs).changes


def test_a_key_that_a_cloud_makes_is_in_the_vault_only_once_it_was_replaced(values: dict[str, str]) -> None:
    provider, inputs = TunnelKeyProvider(), {"vault_url": URL, "secret": "tunnel", "of_cloud": True}
    assert provider.create(inputs).outs["value"] == ""
    assert values == {}
    values["tunnel"] = "new"
    assert provider.create(inputs).outs["value"] == "new"


def test_every_cloud_takes_the_keys_of_tunnels() -> None:
    """AWS: 8 to 64 letters, digits, dots and underscores, no zero first. Azure: no hyphen."""
    assert all(re.fullmatch("[a-f][0-9a-f]{63}", issuing.new_tunnel_key()) for _ in range(100))
