"""The key that signs for depots and the authority of their servers: what is one, and what a file says without it."""

from __future__ import annotations

import base64
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clouds.base.faults import Caution
from components.model import ConfigurationError, load
from components.model.depots.section import EXAMPLE_AUTHORITY, key_fault
from components.model.loading.cautions import cautions
from components.model.secrets.authority_pem import authority_fault, last_days
from contract.reasons.plan import FileReason
from lab.cloud.pki import ensure_pki
from lab.depot_authority import AUTHORITY
from lab.signing import KEY
from tests.model import files, make


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_public_keys_are_keys_alone_or_together() -> None:
    whole = base64.b64decode(KEY)
    assert key_fault(KEY) == key_fault(text(whole + whole)) == key_fault(make.DEPOTS_KEY) == ""


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bytes([0x94, 40]) + bytes(40), "holds a private key"),
        (bytes([0x9C, 40]) + bytes(40), "holds a private key"),
        (bytes([0xC5, 40]) + bytes(40), "holds a private key"),
        (base64.b64decode(KEY) + bytes([0xC7, 192, 0]) + bytes(192), "holds a private key"),
        (base64.b64decode(KEY)[:-1], "is not an OpenPGP key"),
        (bytes([0xC6, 255, 255, 255, 255, 255]) + bytes(40), "is not an OpenPGP key"),
        (bytes([0x88, 40]) + bytes(40), "is not an OpenPGP public key"),
        (base64.b64decode(KEY) + bytes([0xCB, 1, 0]), "is not an OpenPGP public key"),
        (b"\0" * 40, "is not an OpenPGP key"),
    ],
)
def test_nothing_else_is(content: bytes, says: str, tmp_path: Path) -> None:
    assert key_fault(text(content)).startswith(says)
    raw = make.minimal()
    raw["depots"] = {"key": text(content)}
    with pytest.raises(ConfigurationError) as caught:
        load(files.write(tmp_path, raw))
    (problem,) = caught.value.problems
    assert (problem.key, problem.wrong.startswith(says)) == ("depots.key", True)
    assert text(content) not in str(caught.value)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(content: bytes) -> None:
    key_fault(text(content))


def test_authorities_are_authorities_alone_or_together() -> None:
    lab = AUTHORITY.read_text()
    assert authority_fault(lab) == authority_fault(lab + EXAMPLE_AUTHORITY) == authority_fault(lab + "\n" + lab) == ""
    assert last_days(lab + EXAMPLE_AUTHORITY) == [date(2124, 1, 1)] * 2


PRIVATE = AUTHORITY.with_name("depot-authority-key.pem").read_text().partition("\n")[2]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (PRIVATE, "holds a private key"),
        (EXAMPLE_AUTHORITY + PRIVATE, "holds a private key"),
        (EXAMPLE_AUTHORITY + PRIVATE[:60], "holds a private key"),
        ("", "is not certificates in PEM"),
        ("who knows", "is not certificates in PEM"),
        (EXAMPLE_AUTHORITY + "who knows", "is not certificates in PEM"),
        (EXAMPLE_AUTHORITY.replace("MIIB", "MIIC"), "is not certificates in PEM"),
        (EXAMPLE_AUTHORITY.replace("CERTIFICATE", "X509 CRL"), "is not certificates in PEM"),
    ],
)
def test_nothing_else_is_an_authority(content: str, says: str, tmp_path: Path) -> None:
    assert authority_fault(content).startswith(says)
    raw = make.minimal()
    raw["depots"] = {"authority": content}
    with pytest.raises(ConfigurationError) as caught:
        load(files.write(tmp_path, raw))
    (problem,) = caught.value.problems
    assert (problem.key, problem.wrong.startswith(says)) == ("depots.authority", True)
    assert not [line for line in content.splitlines()[1:-1] if line in str(caught.value)]


def test_a_server_s_own_certificate_is_none(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, ("depot.example",))
    own, authority = pki.server_certificate.read_text(), pki.ca_certificate.read_text()
    assert authority_fault(authority) == ""
    assert authority_fault(authority + own) == "holds certificates that are not an authority's (CA:TRUE): number 2"


@given(st.text(max_size=300))
def test_any_text_is_read(content: str) -> None:
    assert authority_fault(content)


def doubts(tmp_path: Path, raw: dict[str, Any], reason: FileReason, today: date | None = None) -> list[Caution]:
    environment = load(files.write(tmp_path, raw, hosts=make.hosts()))
    found = [one for one in cautions(environment, today=today) if one.reason is reason]
    assert all(one.refused for one in found)
    return found


def test_a_depot_that_nobody_signs_for_is_said(tmp_path: Path) -> None:
    raw = make.full()
    assert doubts(tmp_path, raw, FileReason.DEPOT_UNSIGNED) == []
    del raw["depots"]
    assert [one.site for one in doubts(tmp_path, raw, FileReason.DEPOT_UNSIGNED)] == ["weu", "use1", "colo"]


def test_a_depot_over_plain_http_is_said(tmp_path: Path) -> None:
    raw = make.full()
    assert doubts(tmp_path, raw, FileReason.DEPOT_PLAIN) == []
    raw["sites"]["use1"]["depot"] = "http://depot.example.internal"
    assert [one.site for one in doubts(tmp_path, raw, FileReason.DEPOT_PLAIN)] == ["use1"]


def test_an_authority_that_has_ended_is_said(tmp_path: Path) -> None:
    raw = make.full()
    assert doubts(tmp_path, raw, FileReason.DEPOT_AUTHORITY_ENDED, date(2124, 1, 1)) == []
    raw["depots"]["authority"] = ensure_pki(tmp_path, ("x",)).ca_certificate.read_text() + EXAMPLE_AUTHORITY
    (ended,) = doubts(tmp_path, raw, FileReason.DEPOT_AUTHORITY_ENDED, date(2123, 1, 1))
    assert ended.about == "1"
