"""Proofs of AWS machines, real and stolen: signatures that a lab machine really makes, judged by the lab's STS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from join_endpoint.aws import BUSY, AwsProofs
from join_endpoint.outgoing_http import SourceError
from join_endpoint.proof import ProofQuestion
from node import proofs as node_proofs
from node.attest import JoinError, ProofRequest

from contract.certificate_requests import Attested, RefusedError
from contract.documents.node_controller import NodeEnvironment, NodeSite
from contract.documents.pools import DeclaredPool
from tests.images.aws_pool import POOL, STRANGERS, AwsPool, aws_pool
from tests.support.loopback import Answering

ENVIRONMENT = NodeEnvironment(
    name="lab",
    aws_role="arn:aws:iam::123456789012:role/lab-node-controller",
    sites={
        "use1": NodeSite(name="use1", kind="aws", region="us-east-1", node_role="node"),
        "other": NodeSite(name="other", kind="aws", region="us-west-2", node_role="other"),
    },
    pools={"cpu": DeclaredPool(name="cpu", site="use1", groups=("pool",))},
    hosts={},
)
ELSEWHERE = replace(ENVIRONMENT, aws_role="arn:aws:iam::210987654321:role/lab-node-controller")
KEY, CHALLENGE = "ab" * 32, "0123456789"
QUESTION = ProofQuestion(environment=ENVIRONMENT, fingerprint=KEY, challenge=CHALLENGE)
ASKED = ProofRequest(cluster="lab", fingerprint=KEY, challenge=CHALLENGE)

Machine = Callable[..., Mapping[str, object]]


@pytest.fixture(name="pool", scope="module")
def _pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsPool]:
    with aws_pool(tmp_path_factory.mktemp("aws")) as found:
        yield found


@pytest.fixture(name="prove")
def _prove(pool: AwsPool) -> Machine:
    return lambda asked=ASKED, group=POOL: pool.prove(asked, group=group)


def says(
    proof: Mapping[str, object],
    *,
    question: ProofQuestion = QUESTION,
    later: timedelta = timedelta(),
    url: Callable[[str], str] | None = None,
) -> Attested | str:
    """Return the machine that a proof is about, or the reason of the refusal. No refusal contains what was signed."""
    now = datetime.now(UTC) + later
    proofs = AwsProofs(now=lambda: now, **({"url": url} if url else {}))
    refused = ""
    try:
        return proofs.attested(proof, question)
    except RefusedError as error:
        refused = f"{error.reason} {error}"
    assert not [secret for secret in ("session", "authorization") if str(proof.get(secret) or "?") in refused]
    return refused.partition(" ")[0]


def test_a_machine_proves_its_own_name(pool: AwsPool, prove: Machine) -> None:
    proof = prove()
    assert says(proof) == Attested(site="use1", machine=pool.machine())
    assert set(proof) == {"kind", "region", "date", "session", "authorization"}, "and nothing that signs"


@pytest.mark.parametrize(
    ("made", "judged", "expected"),
    [
        ({"asked": replace(ASKED, fingerprint="cd" * 32)}, {}, "ForgedProof"),
        ({"asked": replace(ASKED, challenge="9876543210")}, {}, "ForgedProof"),
        ({"asked": replace(ASKED, cluster="prod")}, {}, "ForgedProof"),
        ({}, {"question": replace(QUESTION, fingerprint="cd" * 32)}, "ForgedProof"),
        ({}, {"later": timedelta(minutes=6)}, "StaleProof"),
        ({}, {"later": timedelta(minutes=-6)}, "StaleProof"),
        ({"group": STRANGERS}, {}, "ForeignProof"),
        ({}, {"question": replace(QUESTION, environment=ELSEWHERE)}, "ForeignProof"),
    ],
    ids=["key", "challenge", "cluster", "asked with another key", "old", "future", "role", "account"],
)
def test_a_stolen_proof(prove: Machine, made: dict[str, Any], judged: dict[str, Any], expected: str) -> None:
    assert says(prove(**made), **judged) == expected


def test_the_date_is_signed_too(prove: Machine) -> None:
    moved = datetime.now(UTC) + timedelta(minutes=4)
    proof = {**prove(), "date": moved.strftime("%Y%m%dT%H%M%SZ")}
    assert says(proof, later=timedelta(minutes=3)) == "ForgedProof"


@pytest.mark.parametrize("signed", [{}, {"x-longhaul-cluster": "lab", "x-longhaul-key": KEY}], ids=["nothing", "two"])
def test_a_proof_that_is_not_bound_to_all(
    prove: Machine, monkeypatch: pytest.MonkeyPatch, signed: dict[str, str]
) -> None:
    monkeypatch.setattr(node_proofs, "bound", lambda **_: signed)
    assert says(prove()) == "UnboundProof"


@pytest.mark.parametrize("region", ["us-west-2", "eu-west-1", "cn-north-1"])
def test_a_region_of_another_site_or_of_none(prove: Machine, region: str) -> None:
    """The request is signed for one site and claims to be from elsewhere."""
    assert says({**prove(), "region": region}) == "ForeignProof"


@pytest.mark.parametrize(
    "change",
    [
        {"region": "us-east-1.evil.example/"},
        {"region": "evil.example#us-east-1"},
        {"region": "us-east-1\r\nHost: evil.example"},
        {"region": None},
        {"date": "yesterday"},
        {"date": "20269999T999999Z"},
        {"session": "short"},
        {"session": "line\r\nX-Other: header" * 2},
        {"authorization": "AWS4-HMAC-SHA256 Credential=A"},
        {"authorization": ["a"]},
    ],
)
def test_what_is_no_proof(prove: Machine, change: dict[str, Any]) -> None:
    assert says({**prove(), **change}) == "Malformed"


# STS's possible answers.


def caller(arn: str) -> bytes:
    return (
        '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>'
        f"<Arn>{arn}</Arn><UserId>AROA:x</UserId><Account>123456789012</Account>"
        "</GetCallerIdentityResult></GetCallerIdentityResponse>"
    ).encode()


@pytest.mark.parametrize(
    ("arn", "known"),
    [
        ("arn:aws:sts::123456789012:assumed-role/node/i-0123456789abcdef0", True),
        ("arn:aws:sts::123456789012:assumed-role/node/someone", False),
        ("arn:aws:sts::123456789012:assumed-role/node/i-0123456789abcdef0/x", False),
        ("arn:aws:sts::123456789012:assumed-role/other/i-0123456789abcdef0", False),
        ("arn:aws:iam::123456789012:user/i-0123456789abcdef0", False),
        ("arn:aws:iam::123456789012:root", False),
        ("arn:aws-cn:sts::123456789012:assumed-role/node/i-0123456789abcdef0", False),
        ("", False),
    ],
)
def test_who_the_caller_may_be(prove: Machine, arn: str, known: bool) -> None:
    expected = Attested(site="use1", machine="i-0123456789abcdef0") if known else "ForeignProof"
    with Answering(lambda _: (200, caller(arn))) as sts:
        assert says(prove(), url=lambda _: f"{sts.url}/") == expected


@pytest.mark.parametrize(
    "answer",
    [(503, b"busy"), (429, b"slow"), (200, b"<html>"), (200, b"<a/>"), (302, b"")]
    + [(400, f"<Error><Code>{code}</Code>busy</Error>".encode()) for code in BUSY],
)
def test_when_sts_does_not_answer_nobody_is_refused(prove: Machine, answer: tuple[int, bytes]) -> None:
    with Answering(lambda _: answer) as sts, pytest.raises(SourceError) as told:
        says(prove(), url=lambda _: f"{sts.url}/")
    assert "busy" not in str(told.value)


def test_a_refusal_does_not_repeat_what_sts_says(prove: Machine) -> None:
    text = b"<Error><Code>SignatureDoesNotMatch</Code><Message>x-amz-security-token:secret</Message></Error>"
    with Answering(lambda _: (403, text)) as sts, pytest.raises(RefusedError, match=r"says SignatureDoesNotMatch$"):
        AwsProofs(url=lambda _: f"{sts.url}/").attested(prove(), QUESTION)


# The machine's side.


@pytest.mark.parametrize("answers", [["t", "us-east-1", ""], ["t", "us-east-1", "node", "no JSON with a secret"]])
def test_a_machine_without_credentials_says_so(monkeypatch: pytest.MonkeyPatch, answers: list[str]) -> None:
    given = iter(answers)
    monkeypatch.setattr(node_proofs, "ask", lambda *_, **__: next(given))
    with pytest.raises(JoinError, match="credentials") as told:
        node_proofs.aws(ASKED, metadata="http://127.0.0.1:1")
    assert "secret" not in str(told.value)
