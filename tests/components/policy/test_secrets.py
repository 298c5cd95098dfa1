"""Texts in user data that count as a secret, however they are packed, and texts that do not."""

from __future__ import annotations

import base64
import gzip

import pytest

from clouds.base.secret_checks import LARGEST, PATTERNS, plain_texts, secrets_in
from tests.components.policy.samples import KEY, cloud_config, packed

FOUND = {
    "a private key": KEY,
    "a private key in age's format": f"AGE-SECRET-KEY-1{'Q' * 58}",
    "an AWS access key": "AKIAABCDEFGHIJKLMNOP",
    "a storage account's key": f"AccountName=a;AccountKey={'a' * 86}==",
    "a signed storage address": f"blob?sv=2024-01-01&sig={'a' * 43}",
    "a signed token": f"eyJ{'a' * 20}.eyJ{'b' * 20}.{'c' * 20}",
    "a GitHub token": f"ghp_{'a' * 36}",
    "a Kubernetes bootstrap token": "join abcdef.0123456789abcdef",
    "a password's hash": "passwd $6$salt$0123456789abcdef",
    "a password or token": 'password: "hunter22"',
    "a secret": "client_secret = aB3$xyz",
}
"""Texts that contain a secret, by the kind of secret."""


def kinds(text: str) -> set[str]:
    return {what for what, _ in secrets_in(text)}


def test_every_pattern_has_its_text() -> None:
    assert set(FOUND) == set(PATTERNS)


@pytest.mark.parametrize("what", FOUND)
def test_a_secret_is_found_in_plain_and_packed(what: str) -> None:
    text = f"#cloud-config\n{FOUND[what]}\n"
    packings = (
        text,
        base64.b64encode(text.encode()).decode(),
        packed(text),
        cloud_config(packed(text), encoding="gz+b64"),
        packed(cloud_config(packed(text), encoding="gz+b64")),
    )
    for packing in packings:
        assert what in kinds(packing)


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8VQtMAAl2UUtHkVsmz0sSN0oGVSwoL2Ktm4xLZLyXS admin",
        '"state_secret": "etcd-state",',
        "keys: ${encryption-keys}",
        "ETCD_INITIAL_CLUSTER_TOKEN=lab-etcd",
        "tokenFile: /var/run/token",
        "password: ${vault}",
        "token: /run/secrets/token",
        "metadata: http://169.254.169.254/metadata/identity/oauth2/token",
        "tokenReviews: enabled",
        "registry.k8s.io/pause:3.10",
    ],
)
def test_what_only_looks_like_one_is_not_found(text: str) -> None:
    assert kinds(text) == set()


def test_the_line_is_that_of_the_part_it_is_in() -> None:
    assert list(secrets_in("one\ntwo\npassword: hunter22\n")) == [("a password or token", 3)]


def test_what_unpacks_to_more_than_anybody_reads_is_cut() -> None:
    bomb = base64.b64encode(gzip.compress(b"a\n" * LARGEST)).decode()
    assert max(len(text) for text in plain_texts(bomb)) <= LARGEST


@pytest.mark.parametrize("data", ["", "====", "\x00", base64.b64encode(b"\x1f\x8bbroken").decode(), "a" * 41])
def test_what_is_not_packed_is_read_as_it_is(data: str) -> None:
    assert data in list(plain_texts(data))
