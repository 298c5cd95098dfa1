"""An aged certificate is the same but for its dates, and its key still fits."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import pytest
from cryptography import x509

from components.control_plane import issuing
from contract.lifetimes import RENEW_BELOW
from lab.drill.certificate_aging import LIVED, put_into, with_dates
from lab.drill.faults.certificates import NEAR_S
from longhaul.status.certificates import WARN_BELOW

ENDS = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_only_the_dates_are_others() -> None:
    authority = issuing.new_authority(common_name="etcd", days=10, key=issuing.new_key())
    subject = issuing.Subject(
        common_name="a", dns_names=("a", "b"), addresses=("10.0.0.1",), usages=("server",), days=9
    )
    before = x509.load_pem_x509_certificate(issuing.issue(subject, authority=authority).certificate.encode())
    text = before.public_bytes(issuing.serialization.Encoding.PEM).decode()
    after = x509.load_pem_x509_certificate(with_dates(text, authority=asdict(authority), ends=ENDS).encode())
    assert (after.not_valid_before_utc, after.not_valid_after_utc) == (ENDS - LIVED, ENDS)
    assert (after.subject, list(after.extensions)) == (before.subject, list(before.extensions))
    assert after.public_key() == before.public_key()
    after.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate.encode()))


def test_the_state_has_it_where_the_engine_looks() -> None:
    outputs = {"secret": "lab-etcd-0-member", "certificate": "old", "not_after": "old"}
    other = {"secret": "lab-etcd-1-member", "certificate": "old", "not_after": "old"}
    dynamic = "pulumi-python:dynamic/longhaul:Certificate"
    resources = [{"type": dynamic, "outputs": outputs}, {"type": dynamic, "outputs": other}, {"type": "x"}]
    put_into({"deployment": {"resources": resources}}, {"lab-etcd-0-member": "new"}, ends=ENDS)
    assert (outputs["certificate"], other["certificate"]) == ("new", "old")
    with pytest.raises(LookupError):
        put_into({"deployment": {"resources": resources}}, {"lab-etcd-9-member": "new"}, ends=ENDS)


def test_what_is_near_its_end_in_a_drill_is_told_and_renewed() -> None:
    assert WARN_BELOW * LIVED.total_seconds() > NEAR_S
    assert WARN_BELOW < RENEW_BELOW
