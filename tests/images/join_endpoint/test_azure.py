"""Proofs of Azure machines: real signatures and tokens, of the lab's Azure and of others."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from join_endpoint.azure_tokens import FAILED_S, KEYS_S, UNKNOWN_S
from join_endpoint.outgoing_http import SourceError

from components.control_plane import issuing
from contract.certificate_requests import Attested
from lab.cloud.azure.attested import Attester, Facts
from lab.cloud.azure.identity import TokenEndpoints
from lab.cloud.pki import ensure_pki
from tests.images.azure_machine import (
    ARM,
    FACTS,
    MACHINE,
    NONCE,
    SET,
    SUBSCRIPTION,
    TENANT,
    Azure,
    sign,
)

SERVER = ("server",)
STRANGE = "99999999-0000-4000-8000-000000000002"


@pytest.fixture(name="azure")
def _azure(tmp_path: Path) -> Iterator[Azure]:
    found = Azure(tmp_path)
    with found.login:
        yield found
    found.store.close()


def test_a_machine_of_a_pool_s_scale_set(azure: Azure) -> None:
    assert azure.says() == Attested(site="weu", machine=MACHINE)
    assert azure.says(token=azure.token(audience=ARM.rstrip("/"))) == Attested(site="weu", machine=MACHINE)
    assert azure.says(token=azure.token(resource=f"{SET}-s1")) == Attested(site="weu", machine=MACHINE)
    assert [asked.path for asked in azure.login.asked] == [f"/{TENANT}/discovery/v2.0/keys"]


# The document.


def test_somebody_else_s_answer_is_none(azure: Azure) -> None:
    assert azure.says(document=azure.document(nonce="1123456789")) == "StaleProof"


@pytest.mark.parametrize("minutes", [-6, 6])
def test_an_answer_of_another_time(azure: Azure, minutes: int) -> None:
    azure.now += timedelta(minutes=minutes)
    assert azure.says() == "StaleProof"


def test_another_subscription(azure: Azure) -> None:
    other = Facts(vm_id=MACHINE, subscription=STRANGE, size="any")
    assert azure.says(document=azure.document(other)) == "ForeignProof"


def test_a_document_that_was_changed(azure: Azure) -> None:
    raw = bytearray(base64.b64decode(azure.document()))
    place = raw.index(MACHINE.encode())
    raw[place] = ord("2")
    assert azure.says(document=base64.b64encode(raw).decode()) == "ForgedProof"


def test_a_signer_that_nobody_vouches_for(azure: Azure, tmp_path: Path) -> None:
    ensure_pki(tmp_path / "other", ("login.microsoftonline.com",))
    theirs = Attester(tmp_path / "other").document(FACTS, nonce=NONCE)["signature"]
    assert azure.says(document=theirs) == "ForgedProof"
    authority = (tmp_path / "other" / "ca.pem").read_text()
    assert azure.says(document=theirs, chain=[authority]) == "ForgedProof", "what is sent along is no authority"


@pytest.mark.parametrize(
    ("name", "usages", "expected"),
    [
        ("eastus.metadata.azure.com", ["server"], "good"),
        ("metadata.azure.com.evil.example", ["server"], "ForgedProof"),
        ("evilmetadata.azure.com", ["server"], "ForgedProof"),
        ("management.azure.com", ["server"], "ForgedProof"),
        ("metadata.azure.com", ["client"], "ForgedProof"),
    ],
)
def test_the_signer_s_name(azure: Azure, name: str, usages: list[str], expected: str) -> None:
    stamp = azure.now.strftime("%m/%d/%y %H:%M:%S -0000")
    said = {"vmId": MACHINE, "subscriptionId": SUBSCRIPTION, "nonce": NONCE, "timeStamp": {"createdOn": stamp}}
    found = azure.says(document=signed(azure, json.dumps(said).encode(), name=name, usages=usages))
    assert found == (Attested(site="weu", machine=MACHINE) if expected == "good" else expected)


@pytest.mark.parametrize("content", [b"no JSON", b"{}", b'{"vmId":""}', b"[1]"])
def test_a_document_that_lacks_something(azure: Azure, content: bytes) -> None:
    assert azure.says(document=signed(azure, content)) == "Malformed"


def signed(
    azure: Azure, content: bytes, *, name: str = "metadata.azure.com", usages: Sequence[str] = ("server",)
) -> str:
    """Sign with a certificate of the one authority that the service then trusts."""
    authority = issuing.new_authority(common_name="any", days=1, key=issuing.new_key())
    subject = issuing.Subject(common_name=name, dns_names=[name], usages=usages, days=1)
    (azure.folder / "ca" / "ca.pem").write_text(authority.certificate)
    return sign(azure.folder, content, issuing.issue(subject, authority=authority))


# The token.


def test_another_tenant_s_token(azure: Azure, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    theirs = TokenEndpoints(state=tmp_path / "theirs", store=azure.store, tenant=STRANGE)
    foreign = theirs.token(object_id="o", app_id="a", audience=ARM, resource_id=SET)
    assert azure.says(token=foreign) == "ForgedProof", "signed with a key that is not our tenant's"
    theirs._key, theirs._kid = azure.identity._key, azure.identity._kid
    foreign = theirs.token(object_id="o", app_id="a", audience=ARM, resource_id=SET)
    assert azure.says(token=foreign) == "ForeignProof", "signed with a key that Azure has for both"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"audience": "https://vault.azure.net"}, "ForeignProof"),
        ({"life_s": -301}, "StaleProof"),
        ({"resource": ""}, "ForeignProof"),
        ({"resource": SET.replace("lab-gpu", "lab-other")}, "ForeignProof"),
        ({"resource": SET.replace("lab-weu", "other")}, "ForeignProof"),
        ({"resource": SET.replace(SUBSCRIPTION, STRANGE)}, "ForeignProof"),
        ({"resource": SET.replace("virtualMachineScaleSets", "virtualMachines")}, "ForeignProof"),
        ({"resource": f"{SET}/virtualMachines/0"}, "ForeignProof"),
    ],
    ids=["audience", "ended", "nothing", "set", "group", "subscription", "single machine", "one of the set"],
)
def test_a_token_of_something_else(azure: Azure, changes: dict[str, Any], expected: str) -> None:
    assert azure.says(token=azure.token(**changes)) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"iss": f"https://sts.windows.net/{STRANGE}/"}, "ForeignProof"),
        ({"tid": STRANGE}, "ForeignProof"),
        ({"exp": None}, "Malformed"),
        ({"aud": [ARM]}, "ForeignProof"),
    ],
)
def test_what_a_token_must_say(azure: Azure, change: dict[str, Any], expected: str) -> None:
    claims = azure.identity.claims(azure.token()) | change
    told = {key: value for key, value in claims.items() if value is not None}
    headers = {"kid": azure.identity._kid}
    assert azure.says(token=jwt.encode(told, azure.identity._key, algorithm="RS256", headers=headers)) == expected


def test_how_a_token_must_be_signed(azure: Azure) -> None:
    claims, headers = azure.identity.claims(azure.token()), {"kid": azure.identity._kid}
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert azure.says(token=jwt.encode(claims, other, algorithm="RS256", headers=headers)) == "ForgedProof"
    assert azure.says(token=jwt.encode(claims, "x" * 32, algorithm="HS256", headers=headers)) == "ForgedProof"
    unsigned = jwt.encode(claims, None, algorithm="none", headers=headers)
    assert azure.says(token=unsigned) == "Malformed"
    _, body, signature = azure.token().split(".")
    none = base64.urlsafe_b64encode(json.dumps({"alg": "none", **headers}).encode()).decode().rstrip("=")
    assert azure.says(token=f"{none}.{body}.{signature}") == "ForgedProof"


def test_keys_that_are_made_up_are_not_asked_for_each_time(azure: Azure) -> None:
    claims = azure.identity.claims(azure.token())
    for name in ("one", "two", "three"):
        made_up = jwt.encode(claims, azure.identity._key, algorithm="RS256", headers={"kid": name})
        assert azure.says(token=made_up) == "ForgedProof"
    assert len(azure.login.asked) == 1
    azure.clock += UNKNOWN_S + 1
    assert azure.says(token=made_up) == "ForgedProof"
    assert len(azure.login.asked) == 2


@pytest.mark.parametrize("answer", [(503, b"later"), (200, b"{}"), (200, b'{"keys": [{"kty": "RSA"}]}'), (302, b"")])
def test_keys_that_cannot_be_had_refuse_nobody(azure: Azure, answer: tuple[int, bytes]) -> None:
    azure.keys = lambda: answer
    with pytest.raises(SourceError):
        azure.says()


def test_one_failure_is_not_asked_for_by_everybody(azure: Azure) -> None:
    good, azure.keys = azure.keys, lambda: (503, b"later")
    for _ in range(3):
        with pytest.raises(SourceError, match="503"):
            azure.says()
    assert len(azure.login.asked) == 1
    azure.keys = good
    azure.clock += FAILED_S + 1
    assert azure.says() == Attested(site="weu", machine=MACHINE)


def test_keys_that_are_held_stay_good(azure: Azure) -> None:
    azure.says()
    azure.keys = lambda: (503, b"later")
    azure.clock += KEYS_S + 1
    for _ in range(3):
        assert azure.says() == Attested(site="weu", machine=MACHINE)
    assert len(azure.login.asked) == 2


def test_while_one_asks_for_keys_nobody_waits_and_nobody_is_refused(azure: Azure) -> None:
    good, meanwhile = azure.keys, list[Any]()

    def slow() -> tuple[int, bytes]:
        with pytest.raises(SourceError, match="being asked for"):
            azure.says()
        meanwhile.append(True)
        return good()

    azure.keys = slow
    assert azure.says() == Attested(site="weu", machine=MACHINE)
    assert meanwhile == [True]


@pytest.mark.parametrize(
    "change",
    [
        {"document": None},
        {"document": "!" * 100},
        {"document": "A" * 101},
        {"token": None},
        {"token": "a.b"},
        {"token": f"{'!' * 9}.{'b' * 9}.{'c' * 9}"},
        {"token": f"{'a' * 9}.{'b' * 9}.{'c' * 9}"},
        {"chain": "text"},
        {"chain": [1]},
        {"chain": ["a"] * 5},
        {"chain": ["\ud800"]},
    ],
)
def test_what_is_no_proof(azure: Azure, change: dict[str, Any]) -> None:
    assert azure.says(**change) == "Malformed"
