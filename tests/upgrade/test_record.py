"""A recorded state contains no secret, and its certificates are not due for decades."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from cryptography import x509

from clouds.base.inputs import SECRET, SIGNATURE
from components.control_plane import issuing
from tests.upgrade.record import OPAQUE, scrubbed, secrets_of
from tests.upgrade.releases import LAB, Release

KEY = "0123456789abcdef" * 4


def wrapped(value: object) -> dict[str, str]:
    """Return a secret as the engine writes it with ``--show-secrets``."""
    return {SIGNATURE: SECRET, "plaintext": json.dumps(value)}


def test_a_key_becomes_one_word_wherever_it_is() -> None:
    resource = {
        "urn": "a",
        "created": "today",
        "sourcePosition": "project:///a.py#1",
        "outputs": {"key": wrapped({"psk": KEY, "peer": "198.51.100.20"}), "config": f"<key>{KEY}</key>"},
    }
    first = {"version": 3, "deployment": {"secrets_providers": {"type": "passphrase"}, "resources": [resource]}}
    second = {"version": 3, "deployment": {"resources": [{"urn": "b", "outputs": {"key": wrapped(KEY)}}]}}
    found = scrubbed({"one": first, "two": second})
    text = json.dumps(found)
    assert KEY not in text
    (word,) = secrets_of(found["two"])
    assert OPAQUE.fullmatch(word)
    assert text.count(word) == 3
    assert "198.51.100.20" in text
    assert found["one"]["deployment"].keys() == {"resources"}
    assert found["one"]["deployment"]["resources"][0].keys() == {"urn", "outputs"}


@pytest.mark.parametrize("stack", LAB)
def test_a_remembered_state_holds_no_secret(release: Release, stack: str) -> None:
    state = release.state(stack)
    assert [text for text in secrets_of(state) if OPAQUE.fullmatch(text) and not text.startswith("recorded")] == []
    text = json.dumps(state)
    assert not [word for word in ("ciphertext", "PRIVATE KEY", "secrets_providers") if word in text]


def test_leaf_certificates_are_not_due_for_decades(release: Release) -> None:
    leaves = [one for one in release.resources("lab") if one["type"].endswith("longhaul:Certificate")]
    assert leaves
    for leaf in leaves:
        certificate = leaf["outputs"]["certificate"]
        begins = x509.load_pem_x509_certificate(certificate.encode()).not_valid_before_utc
        assert not issuing.due(certificate, now=begins + timedelta(days=50 * 365))
