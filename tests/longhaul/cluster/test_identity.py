"""Certificates of administrators: made on demand, and the break-glass one."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from clouds.azure.errors import AzureError
from components.control_plane import issuing
from components.model.secrets.certificates import ADMINISTRATORS_GROUP, MASTERS_GROUP
from contract.lifetimes import ADMINISTRATOR_HOURS
from longhaul.cluster import identity
from longhaul.cluster.identity import AGAIN_S, fetch_break_glass, fetch_identity, identity_renewer
from longhaul.terminal.exits import CommandError, Exit
from tests.model import make
from tests.support.opened_vault import ANNA, OpenedVault, new_authority, stored

ENVIRONMENT = make.environment().model_copy(update={"name": "dev"})
BREAK_GLASS = {"certificate": "CERT", "key": "KEY", "issuer": "CA"}


class FakeVault(OpenedVault):
    """The environment's vault, and who has signed in to it."""

    def __init__(self) -> None:
        self.administrators, self.kubernetes = new_authority("administrators"), new_authority("kubernetes")
        super().__init__(
            {
                "ca-administrators": stored(self.administrators),
                "ca-kubernetes": stored(self.kubernetes),
                "trust-kubernetes": self.kubernetes.certificate,
                "operator-admin": json.dumps({**BREAK_GLASS, "more": 1}),
            }
        )


@pytest.fixture(name="vault")
def _vault(monkeypatch: pytest.MonkeyPatch) -> FakeVault:
    vault = FakeVault()
    vault.open_for(ENVIRONMENT, monkeypatch)
    return vault


def parsed(found: dict[str, str]) -> x509.Certificate:
    return x509.load_pem_x509_certificate(found["certificate"].encode())


def named(certificate: x509.Certificate) -> dict[Any, Any]:
    return {one.oid: one.value for one in certificate.subject}


def test_it_lives_for_hours_says_who_asked_and_is_in_the_group_of_administrators(vault: FakeVault) -> None:
    found = fetch_identity(ENVIRONMENT)
    certificate = parsed(found)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(vault.administrators.certificate.encode()))
    assert named(certificate) == {NameOID.COMMON_NAME: ANNA, NameOID.ORGANIZATION_NAME: ADMINISTRATORS_GROUP}
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert life - issuing.CLOCK_SKEW == timedelta(hours=ADMINISTRATOR_HOURS)
    assert found["issuer"] == vault.kubernetes.certificate
    # Who administers needs to read no key but this authority's.
    assert set(vault.read) == {"ca-administrators", "trust-kubernetes"}


def test_what_up_uses_depends_on_no_binding_and_says_who_asked_too(vault: FakeVault) -> None:
    certificate = parsed(fetch_identity(ENVIRONMENT, master=True))
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(vault.kubernetes.certificate.encode()))
    assert named(certificate) == {NameOID.COMMON_NAME: ANNA, NameOID.ORGANIZATION_NAME: MASTERS_GROUP}


def test_up_works_before_the_vault_has_an_authority_for_administrators(vault: FakeVault) -> None:
    del vault.secrets["ca-administrators"]
    assert fetch_identity(ENVIRONMENT, master=True)["key"]
    with pytest.raises(CommandError, match="has no ca-administrators yet: `longhaul up --env dev` makes it"):
        fetch_identity(ENVIRONMENT)


def test_without_a_name_of_the_clouds_the_operating_systems_is_taken(
    vault: FakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.signed_in = ""
    monkeypatch.setattr(identity.getpass, "getuser", lambda: "anna")
    monkeypatch.setattr(identity.socket, "gethostname", lambda: "h" * 100)
    assert named(parsed(fetch_identity(ENVIRONMENT)))[NameOID.COMMON_NAME] == "anna@" + "h" * 59


def test_one_that_is_good_for_hours_yet_is_kept(vault: FakeVault) -> None:
    kept = fetch_identity(ENVIRONMENT)
    assert fetch_identity(ENVIRONMENT, kept=kept) == kept


def test_one_that_ends_soon_is_made_anew(vault: FakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = fetch_identity(ENVIRONMENT)
    monkeypatch.setattr(issuing, "RENEW_BELOW", 1.1)
    assert fetch_identity(ENVIRONMENT, kept=kept)["certificate"] != kept["certificate"]


@pytest.mark.parametrize("other", ["person", "signer", "servers", "group", "text"])
def test_one_that_says_something_else_is_made_anew(vault: FakeVault, other: str) -> None:
    kept = fetch_identity(ENVIRONMENT)
    if other == "person":
        vault.signed_in = "boris@example.com"
    elif other == "signer":
        vault.secrets["ca-administrators"] = stored(new_authority("administrators"))
    elif other == "servers":
        vault.secrets["trust-kubernetes"] = new_authority("kubernetes").certificate
    elif other == "group":
        subject = issuing.Subject(common_name=ANNA, organizations=["readers"], usages=["client"], days=1)
        kept["certificate"] = issuing.issue(subject, authority=vault.administrators).certificate
    else:
        kept["certificate"] = "no certificate"
    assert fetch_identity(ENVIRONMENT, kept=kept)["certificate"] != kept["certificate"]


def test_the_break_glass_identity_is_what_the_vault_holds(vault: FakeVault) -> None:
    assert fetch_break_glass(ENVIRONMENT) == BREAK_GLASS
    assert vault.read == ["operator-admin"]


@pytest.mark.parametrize(
    ("value", "code", "told"),
    [
        (None, Exit.FAILED, "longhaul up --env dev"),
        ("{", Exit.FAILED, "not what"),
        ('{"certificate": "secret-value"}', Exit.FAILED, "not what"),
        (AzureError("Forbidden", status=403), Exit.FAILED, "Forbidden"),
        (
            AzureError("does not answer"),
            Exit.UNREACHABLE,
            "does not answer; no network here, or `longhaul up` has not made it yet: `longhaul doctor --env dev`",
        ),
    ],
)
@pytest.mark.parametrize(
    ("fetch", "secret"), [(fetch_identity, "ca-administrators"), (fetch_break_glass, "operator-admin")]
)
def test_what_can_be_wrong_with_the_vault(
    vault: FakeVault, fetch: Any, secret: str, value: str | AzureError | None, code: Exit, told: str
) -> None:
    if isinstance(value, AzureError):
        vault.error = value
    elif value is None:
        del vault.secrets[secret]
    else:
        vault.secrets[secret] = value
    with pytest.raises(CommandError) as refused:
        fetch(ENVIRONMENT)
    assert refused.value.code is code
    assert told in str(refused.value)
    assert "secret-value" not in str(refused.value)


def test_a_program_that_runs_for_days_renews_and_waits_when_the_vault_is_silent(
    vault: FakeVault, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    renew = identity_renewer(ENVIRONMENT, clock=lambda: now)
    held = fetch_identity(ENVIRONMENT)
    assert renew(held) is None, "it is good"
    monkeypatch.setattr(issuing, "RENEW_BELOW", 1.1)
    vault.error = AzureError("does not answer")
    assert renew(held) is None
    assert "is not renewed yet: the vault of dev: does not answer" in capsys.readouterr().err
    vault.error = None
    assert renew(held) is None, "the vault is not asked with each request"
    now += AGAIN_S
    renewed = renew(held)
    assert renewed is not None
    assert renewed["certificate"] != held["certificate"]
