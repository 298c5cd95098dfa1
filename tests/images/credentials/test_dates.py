"""Dates of the certificates on a machine, as its own program reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from credentials import dates as certificate_dates

from components.control_plane import issuing


def test_every_certificate_of_every_file_is_told_and_no_key(tmp_path: Path) -> None:
    authority = issuing.new_authority(common_name="one", days=10, key=issuing.new_key())
    other = issuing.new_authority(common_name="other", days=20, key=issuing.new_key())
    pair = issuing.issue(issuing.Subject(common_name="a", usages=("client",), days=0.5), authority=authority)
    (tmp_path / "member.pem").write_text(f"{pair.certificate}\n{pair.key}")
    (tmp_path / "etcd-ca.crt").write_text(authority.certificate + other.certificate)
    (tmp_path / "service-account.key").write_text(pair.key)
    (tmp_path / "torn.pem").write_text("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----")
    found = certificate_dates.dates(tmp_path)
    ends = [
        issuing.expiry(authority.certificate),
        issuing.expiry(other.certificate),
        issuing.expiry(pair.certificate),
    ]
    assert [one.name for one in found] == ["etcd-ca", "etcd-ca", "member"]
    assert [datetime.fromtimestamp(one.ends, tz=UTC).isoformat() for one in found] == ends
    assert all(one.begins < one.ends for one in found)
