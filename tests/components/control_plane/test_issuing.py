"""Certificates contain what was asked for, chain to their authority, and are due when a third of their life is left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from components.control_plane import issuing


@pytest.fixture(name="authority")
def _authority() -> issuing.Pair:
    return issuing.new_authority(common_name="lab etcd", days=10, key=issuing.new_key())


def _member(days: float = 9) -> issuing.Subject:
    return issuing.Subject(
        common_name="lab-etcd-0",
        organizations=["longhaul:members"],
        dns_names=["lab-etcd-0.lab.internal"],
        addresses=["10.64.1.10"],
        usages=["server", "client"],
        days=days,
    )


def test_a_leaf_is_accepted_by_a_verifier_for_its_name_and_address(authority: issuing.Pair) -> None:
    leaf = x509.load_pem_x509_certificate(issuing.issue(_member(), authority=authority).certificate.encode())
    store = Store([x509.load_pem_x509_certificate(authority.certificate.encode())])
    for subject in (x509.DNSName("lab-etcd-0.lab.internal"), x509.IPAddress(ip_address("10.64.1.10"))):
        PolicyBuilder().store(store).build_server_verifier(subject).verify(leaf, [])
    PolicyBuilder().store(store).build_client_verifier().verify(leaf, [])


def test_a_leaf_is_refused_for_another_name_and_by_another_authority(authority: issuing.Pair) -> None:
    leaf = x509.load_pem_x509_certificate(issuing.issue(_member(), authority=authority).certificate.encode())
    store = Store([x509.load_pem_x509_certificate(authority.certificate.encode())])
    with pytest.raises(VerificationError):
        PolicyBuilder().store(store).build_server_verifier(x509.DNSName("other.lab.internal")).verify(leaf, [])
    stranger = x509.load_pem_x509_certificate(
        issuing.new_authority(common_name="x", days=1, key=issuing.new_key()).certificate.encode()
    )
    with pytest.raises(VerificationError):
        PolicyBuilder().store(Store([stranger])).build_client_verifier().verify(leaf, [])


def test_usages_and_subject_are_those_asked_for(authority: issuing.Pair) -> None:
    subject = issuing.Subject(common_name="system:kube-scheduler", organizations=["g"], usages=["client"], days=1)
    leaf = x509.load_pem_x509_certificate(issuing.issue(subject, authority=authority).certificate.encode())
    usages = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usages) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert leaf.subject.rfc4514_string() == "CN=system:kube-scheduler,O=g"


def test_the_key_belongs_to_the_certificate(authority: issuing.Pair) -> None:
    pair = issuing.issue(_member(), authority=authority)
    key = serialization.load_pem_private_key(pair.key.encode(), password=None)
    leaf = x509.load_pem_x509_certificate(pair.certificate.encode())
    assert key.public_key() == leaf.public_key()


def test_an_authority_cannot_sign_authorities(authority: issuing.Pair) -> None:
    parsed = x509.load_pem_x509_certificate(authority.certificate.encode())
    constraints = parsed.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert (constraints.ca, constraints.path_length) == (True, 0)


@pytest.mark.parametrize(("elapsed_days", "due"), [(0, False), (5.9, False), (6.1, True), (8.9, True), (10, True)])
def test_a_certificate_of_nine_days_is_due_after_six(authority: issuing.Pair, elapsed_days: float, due: bool) -> None:
    certificate = issuing.issue(_member(days=9), authority=authority).certificate
    assert issuing.due(certificate, now=datetime.now(UTC) + timedelta(days=elapsed_days)) is due
