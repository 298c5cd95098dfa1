"""Content of the certificates that the nodes' authority issues."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from controller.request import Request, parse
from controller.signing import LIFETIME, AuthorityError, Signer
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from components.control_plane import issuing
from tests.images import kubelets

NODE, ADDRESS = "i-0123456789abcdef0", "10.65.128.4"


def authority(path: Path, *, days: float = 3650) -> issuing.Pair:
    pair = issuing.new_authority(common_name="lab nodes", days=days, key=issuing.new_key())
    path.write_text(pair.certificate + pair.key)
    return pair


def request(**more: object) -> Request:
    return parse(kubelets.by_token(kubelets.document(kubelets.csr(NODE, kubelets.key()), **more)))


def serving() -> Request:
    asked = kubelets.csr(NODE, kubelets.key(), dns_names=[NODE], addresses=[ADDRESS])
    return parse(kubelets.by_node(kubelets.document(asked, signer=kubelets.SERVING), NODE))


def signed(path: Path, asked: Request) -> x509.Certificate:
    return x509.load_pem_x509_certificate(Signer(path).sign(asked))


def test_a_client_s_certificate(tmp_path: Path) -> None:
    pair = authority(tmp_path / "authority.pem")
    asked = request()
    found = signed(tmp_path / "authority.pem", asked)
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(pair.certificate.encode()))
    assert found.public_key() == asked.key
    names = [(each.oid, each.value) for each in found.subject]
    assert names == [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{NODE}")]
    usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    key_usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    assert key_usage.digital_signature
    assert not key_usage.key_cert_sign
    with pytest.raises(x509.ExtensionNotFound):
        found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert found.not_valid_before_utc < datetime.now(UTC) - timedelta(minutes=4)
    life = found.not_valid_after_utc - datetime.now(UTC)
    assert LIFETIME - timedelta(minutes=1) < life <= LIFETIME


def test_a_server_s_certificate(tmp_path: Path) -> None:
    authority(tmp_path / "authority.pem")
    found = signed(tmp_path / "authority.pem", serving())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [NODE]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == [ADDRESS]
    usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_a_rsa_key_may_encipher_keys(tmp_path: Path) -> None:
    authority(tmp_path / "authority.pem")
    own = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    asked = parse(kubelets.by_token(kubelets.document(kubelets.csr(NODE, own))))
    usage = signed(tmp_path / "authority.pem", asked).extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.key_encipherment


def test_it_lives_no_longer_than_was_asked_for(tmp_path: Path) -> None:
    authority(tmp_path / "authority.pem")
    found = signed(tmp_path / "authority.pem", request(expirationSeconds=3600))
    assert found.not_valid_after_utc - datetime.now(UTC) <= timedelta(hours=1)
    longer = signed(tmp_path / "authority.pem", request(expirationSeconds=86400 * 365))
    assert longer.not_valid_after_utc - datetime.now(UTC) <= LIFETIME


def test_it_does_not_outlive_its_authority(tmp_path: Path) -> None:
    pair = authority(tmp_path / "authority.pem", days=3)
    end = x509.load_pem_x509_certificate(pair.certificate.encode()).not_valid_after_utc
    assert signed(tmp_path / "authority.pem", request()).not_valid_after_utc == end


def test_a_renewed_authority_is_used_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "authority.pem"
    authority(path)
    signer = Signer(path)
    signer.sign(request())
    renewed = authority(path)
    found = x509.load_pem_x509_certificate(signer.sign(request()))
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(renewed.certificate.encode()))


@pytest.mark.parametrize("text", [None, "", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_an_authority_that_cannot_be_used_is_said_with_its_file(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "authority.pem"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AuthorityError, match=r"authority\.pem: "):
        Signer(path).sign(request())
