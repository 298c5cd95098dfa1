"""``longhaul vpn`` of an operator: admission by the vault alone."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from vpn.certificate import Signer, key_of

from clouds.azure.errors import AzureError
from components.control_plane import issuing
from components.model.vpn.section import OPERATOR, operator_name, remotes
from contract.documents.revoked import Revoked, is_name
from contract.documents.revoked import RevokedPerson as Refused
from contract.lifetimes import VPN_CERTIFICATE_HOURS
from contract.users import RESERVED
from contract.vpn import LONGEST_NAME
from longhaul.client.vpn import key, openvpn_file
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from longhaul.vpn import command
from longhaul.vpn.operator_vpn import admit, from_vault
from tests.model import make
from tests.support.opened_vault import ANNA, OpenedVault, new_authority, stored

ENVIRONMENT = make.environment(vpn={"machine_type": "Standard_D2s_v5"})
KEY = key.new_key()
REQUEST = key.request(KEY)


class FakeVault(OpenedVault):
    """The environment's vault as `longhaul up` leaves it, before there is any object on the cluster."""

    def __init__(self) -> None:
        self.authority = new_authority("VPN")
        super().__init__(
            {
                "ca-vpn": stored(self.authority),
                "trust-vpn": self.authority.certificate,
                "vpn-key": issuing.new_static_key(),
                "vpn-remotes": remotes("vpn.example.com", ["203.0.113.7", "203.0.113.8"]),
            }
        )


@pytest.fixture(name="vault")
def _vault(monkeypatch: pytest.MonkeyPatch) -> FakeVault:
    vault = FakeVault()
    vault.open_for(ENVIRONMENT, monkeypatch)
    return vault


def parsed(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def test_the_vault_alone_lets_an_operator_in(vault: FakeVault, capsys: pytest.CaptureFixture[str]) -> None:
    found = from_vault(ENVIRONMENT)(REQUEST, True)
    certificate = parsed(found.certificate)
    certificate.verify_directly_issued_by(parsed(vault.authority.certificate))
    assert found.expires - datetime.now(UTC) <= timedelta(hours=VPN_CERTIFICATE_HOURS)
    assert abs(certificate.not_valid_after_utc - found.expires) < timedelta(seconds=30)
    assert [one.address for one in found.remotes] == ["vpn.example.com", "203.0.113.7", "203.0.113.8"]
    assert (found.name, found.inside.zones) == (f"vpn.{ENVIRONMENT.domain}", (ENVIRONMENT.domain, "cluster.local"))
    assert found.tls_crypt == vault.secrets["vpn-key"]
    said = capsys.readouterr().err
    assert f"this machine's name at the VPN machines is {OPERATOR}{ANNA}" in said
    assert "PRIVATE KEY" not in openvpn_file.single_file(found, "") + said
    from_vault(ENVIRONMENT)(REQUEST, False)
    assert capsys.readouterr().err == "", "a renewal is silent"


def test_the_certificate_is_one_that_a_vpn_machine_would_sign(vault: FakeVault) -> None:
    """All that it says and may be used for: the two programs share no code."""
    _, found = admit(ENVIRONMENT, REQUEST)
    signer, now = Signer.parse(vault.authority.certificate + vault.authority.key), datetime.now(UTC)
    theirs = parsed(signer.sign(key_of(REQUEST), name=OPERATOR + ANNA, now=now, until=now + timedelta(hours=1)))
    own = parsed(found.certificate)
    assert own.subject == theirs.subject
    assert own.public_key() == theirs.public_key()
    assert {one.oid: (one.critical, one.value) for one in own.extensions} == {
        one.oid: (one.critical, one.value) for one in theirs.extensions
    }


def test_of_a_request_the_key_alone_is_taken(vault: FakeVault) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    wanted = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "corp:chief")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(wanted)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    request = builder.sign(private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    own = parsed(admit(ENVIRONMENT, request)[1].certificate)
    assert own.public_key() == private.public_key()
    assert own.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert [one.value for one in own.subject if one.oid == NameOID.COMMON_NAME] == [OPERATOR + ANNA]
    other = ec.generate_private_key(ec.SECP384R1())
    strange = x509.CertificateSigningRequestBuilder().subject_name(wanted).sign(other, hashes.SHA384())
    with pytest.raises(ValueError, match="neither EC P-256"):
        issuing.requested_key(strange.public_bytes(serialization.Encoding.PEM).decode())


@pytest.mark.parametrize(
    "name",
    [ANNA, "0f3c" * 16, "a" * 29, "a" * 30, "Zoë$(x) 'y'@example.com", "anna.l.longname@sub.corp.example.com", ","],
)
def test_any_operators_name_fits_and_can_be_revoked(name: str) -> None:
    found = operator_name(name)
    assert found.startswith(OPERATOR)
    assert len(found) <= LONGEST_NAME
    assert is_name(found)
    assert Revoked(people=(Refused(name=found, since="2030-01-01T00:00:00+00:00", by="boris"),)).text()
    assert operator_name(f"{name}x") != found


def test_no_person_of_an_issuer_is_named_so() -> None:
    assert OPERATOR.startswith(RESERVED)


@pytest.mark.parametrize(
    ("secret", "value", "code", "told"),
    [
        ("ca-vpn", None, Exit.FAILED, f"has no ca-vpn yet: `longhaul up --env {ENVIRONMENT.name}` makes it"),
        ("ca-vpn", '{"certificate": "x", "key": "secret-value"}', Exit.FAILED, "not those that `longhaul up` writes"),
        ("vpn-remotes", "[]", Exit.FAILED, "not those that `longhaul up` writes"),
        ("vpn-remotes", "{", Exit.FAILED, "not those that `longhaul up` writes"),
        ("vpn-key", "secret-value", Exit.FAILED, "not those that `longhaul up` writes"),
        ("", AzureError("Forbidden", status=403), Exit.FAILED, "Forbidden"),
        ("", AzureError("does not answer"), Exit.UNREACHABLE, "does not answer"),
    ],
)
def test_what_can_be_wrong_with_the_vault(
    vault: FakeVault, secret: str, value: str | AzureError | None, code: Exit, told: str
) -> None:
    if isinstance(value, AzureError):
        vault.error = value
    elif value is None:
        del vault.secrets[secret]
    else:
        vault.secrets[secret] = value
    with pytest.raises(CommandError) as refused:
        admit(ENVIRONMENT, REQUEST)
    assert refused.value.code is code
    assert told in str(refused.value)
    assert "secret-value" not in str(refused.value)


def run(monkeypatch: pytest.MonkeyPatch, environment: Any, *words: str) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    project = type("Project", (), {"load": staticmethod(lambda _env: environment)})()
    where: Any = type("Where", (), {"env": environment.name, "lab": None, "project": project})()
    monkeypatch.setattr(command, "context", lambda _invocation: where)
    monkeypatch.setattr(command, "enter_lab", lambda *_: None)
    command.run(Invocation(command="vpn", options=parser.parse_args(words), rest=(), argv=()))


def test_the_command_writes_an_operators_file(
    vault: FakeVault, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    run(monkeypatch, ENVIRONMENT, "--write-only", "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["zones"] == [ENVIRONMENT.domain, "cluster.local"]
    assert (tmp_path / f"longhaul/vpn/{ENVIRONMENT.name}/{ENVIRONMENT.name}.ovpn").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_is_said_before_the_vault_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="has no VPN: declare `vpn` in its file"):
        run(monkeypatch, make.environment())
    for words in (("--issuer", "corp"), ("--device",), ("--replace",)):
        with pytest.raises(CommandError, match="go with --profile") as refused:
            run(monkeypatch, ENVIRONMENT, *words)
        assert refused.value.code is Exit.USAGE
