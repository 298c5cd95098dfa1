"""The join endpoint turns a proof into one request in the machine's name, or into a refusal with a reason."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from join_endpoint.challenge import PERIOD_S
from join_endpoint.join_requests import (
    ENVIRONMENT,
    ENVIRONMENT_S,
    LOOKS_AT_ONCE,
    MACHINE_AT_ONCE,
    PROOFS_AT_ONCE,
    SENDER_AT_ONCE,
)
from join_endpoint.outgoing_http import SourceError

from contract.certificate_requests import Attested, RefusedError, fingerprint, parse
from tests.images import kubelets
from tests.images.join_world import NODE, SENDER, JoinWorld


class Machine:
    """A machine's key, and the requests that are made with it."""

    def __init__(self, world: JoinWorld) -> None:
        self.world, self.key = world, kubelets.key()

    @property
    def print(self) -> str:
        return fingerprint(self.key.public_key())

    def request(self, node: str = NODE, **more: Any) -> str:
        return base64.b64decode(kubelets.csr(node, self.key, **more)).decode()

    def join(self, node: str = NODE, **changes: Any) -> tuple[int, str]:
        """Return the status, and the reason if there is one."""
        more = {"request": self.request(node)} | changes
        answer = self.world.join(more.pop("request"), self.print, **more)
        return answer.status, answer.body.get("reason", "")


@pytest.fixture(name="world")
def _world(tmp_path: Path) -> Iterator[JoinWorld]:
    found = JoinWorld(tmp_path)
    yield found
    found.server.server_close()


@pytest.fixture(name="machine")
def _machine(world: JoinWorld) -> Machine:
    return Machine(world)


def test_a_proof_becomes_a_request_with_what_was_proved(world: JoinWorld, machine: Machine) -> None:
    assert machine.join() == (202, "")
    [document] = world.api.requests
    document["metadata"]["creationTimestamp"] = "2026-11-21T16:00:00Z"
    request = parse(document)
    assert (request.node, request.fingerprint) == (NODE, machine.print)
    assert request.attested == Attested(site="use1", machine=NODE)
    assert document["spec"]["signerName"] == kubelets.CLIENT
    [question] = world.told.asked
    assert (question.environment.name, question.fingerprint) == ("lab", machine.print)


def test_who_asks_again_finds_what_was_asked_before(world: JoinWorld, machine: Machine) -> None:
    assert machine.join() == (202, "")
    assert machine.join() == (202, "")
    assert len(world.api.requests) == 1


def test_what_became_of_it(world: JoinWorld, machine: Machine) -> None:
    assert world.endpoint.look(machine.print, sender=SENDER).status == 404
    machine.join()
    assert world.endpoint.look(machine.print, sender=SENDER).status == 202
    world.api.decide("Denied", reason="UnknownMachine")
    refused = world.endpoint.look(machine.print, sender=SENDER)
    assert (refused.status, refused.body["reason"]) == (403, "UnknownMachine")
    world.api.grant()
    given = world.endpoint.look(machine.print, sender=SENDER)
    assert given.status == 200
    assert given.body["certificate"].startswith("-----BEGIN CERTIFICATE-----")


def test_a_request_that_somebody_else_made_is_none(world: JoinWorld, machine: Machine) -> None:
    world.api.user = "system:bootstrap:rackid"
    machine.join()
    world.api.grant()
    assert world.endpoint.look(machine.print, sender=SENDER).status == 404


def test_two_machines_do_not_share_a_key(world: JoinWorld, machine: Machine) -> None:
    machine.join()
    world.told.answer = Attested(site="use1", machine="i-0fedcba9876543210")
    assert machine.join() == (403, "KeyIsTaken")


# The proof's machine and key.


def test_a_challenge_is_of_one_key_and_one_moment(world: JoinWorld, machine: Machine) -> None:
    other = Machine(world)
    theirs = world.endpoint.challenge(other.print, sender=SENDER).body["challenge"]
    assert machine.join(challenge=theirs) == (403, "StaleProof")
    own = world.endpoint.challenge(machine.print, sender=SENDER).body["challenge"]
    world.now += PERIOD_S
    assert machine.join(challenge=own) == (202, "")
    world.now += PERIOD_S
    assert machine.join(challenge=own) == (403, "StaleProof")
    assert len(world.told.asked) == 1


def test_a_used_proof_is_worth_nothing_to_another_key(world: JoinWorld, machine: Machine) -> None:
    own = world.endpoint.challenge(machine.print, sender=SENDER).body["challenge"]
    assert machine.join(challenge=own) == (202, "")
    assert Machine(world).join(challenge=own) == (403, "StaleProof")
    assert len(world.api.requests) == 1


@pytest.mark.parametrize("challenge", ["", "0123456789", "é" * 10])
def test_a_challenge_that_was_not_given(machine: Machine, challenge: str) -> None:
    assert machine.join(challenge=challenge) == (403, "StaleProof")


def test_another_process_knows_no_challenge(world: JoinWorld, machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = JoinWorld(tmp_path / "other")
    other.server.server_close()
    theirs = other.endpoint.challenge(machine.print, sender=SENDER).body["challenge"]
    assert machine.join(challenge=theirs) == (403, "StaleProof")


def test_a_refusal_is_an_event(world: JoinWorld, machine: Machine) -> None:
    world.told.answer = RefusedError("ForeignProof", "it is not")
    assert machine.join() == (403, "ForeignProof")
    [event] = world.api.said("/events")
    assert event["reason"] == "NodeProofRefused"
    assert event["involvedObject"]["name"] == NODE
    assert event["message"] == f"ForeignProof: asked from 10.65.128.4 as {NODE}: it is not"
    assert event["source"] == {"component": "longhaul-join", "host": "lab-api-0"}
    assert world.api.requests == []


def test_a_name_that_no_node_can_have_is_only_logged(
    world: JoinWorld, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    world.told.answer = RefusedError("ForeignProof", "it is not")
    assert machine.join("Not A Node") == (403, "ForeignProof")
    assert world.api.said("/events") == []
    assert "as Not A Node: it is not" in caplog.text


def test_what_a_stranger_writes_is_one_line(
    world: JoinWorld, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    world.told.answer = RefusedError("ForeignProof", "it is not")
    machine.join("a\nERROR everything is lost")
    machine.join(request=machine.request(subject=[(kubelets.NameOID.COMMON_NAME, "a\nERROR all is lost")]))
    assert len(caplog.messages) == 2
    assert not [line for line in caplog.messages if "\n" in line]


def test_when_the_cloud_does_not_answer_nobody_is_refused(world: JoinWorld, machine: Machine) -> None:
    world.told.answer = SourceError("STS in us-east-1 answers 503")
    assert machine.join() == (503, "NotNow")
    assert world.api.said("/events") == []


def test_without_the_environment_nobody_is_refused(world: JoinWorld, machine: Machine) -> None:
    del world.api.objects[ENVIRONMENT]
    assert machine.join() == (503, "NotNow")
    world.api.objects[ENVIRONMENT] = {"data": {"environment.json": "{}"}}
    assert machine.join() == (503, "NotNow")


def test_a_bad_document_leaves_the_one_before(world: JoinWorld, machine: Machine) -> None:
    assert machine.join() == (202, "")
    world.api.objects[ENVIRONMENT] = {"data": {"environment.json": "{}"}}
    world.now += ENVIRONMENT_S + 1
    assert machine.join() == (202, "")


@pytest.mark.parametrize("status", [0, 403, 500])
def test_without_the_api_nobody_is_refused(world: JoinWorld, machine: Machine, status: int) -> None:
    machine.join()
    world.api.refuse = status or 503
    assert machine.join() == (503, "NotNow")
    assert world.endpoint.look(machine.print, sender=SENDER).status == 503


# The content of the request.


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"dns_names": ["kubernetes"]}, "WrongSubject"),
        ({"addresses": ["10.64.3.5"]}, "WrongSubject"),
        ({"subject": [(kubelets.NameOID.COMMON_NAME, "system:node:a")]}, "WrongSubject"),
        (
            {
                "subject": [
                    (kubelets.NameOID.ORGANIZATION_NAME, "system:masters"),
                    (kubelets.NameOID.COMMON_NAME, "system:node:a"),
                ]
            },
            "WrongSubject",
        ),
    ],
)
def test_only_a_node_s_client_certificate_is_to_be_had(machine: Machine, more: dict[str, Any], reason: str) -> None:
    assert machine.join(request=machine.request(**more)) == (403, reason)


def test_a_weak_key(world: JoinWorld, machine: Machine) -> None:
    weak = ec.generate_private_key(ec.SECP192R1())
    request = base64.b64decode(kubelets.csr(NODE, weak)).decode()
    assert machine.join(request=request) == (403, "WeakKey")
    assert world.told.asked == []


@pytest.mark.parametrize(
    "posted",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 60000,
        b'{"request":1,"proof":{},"challenge":""}',
        b'{"request":"","proof":[],"challenge":""}',
        b'{"request":"\\ud800","proof":{},"challenge":""}',
        b'{"request":"","proof":{},"challenge":"\\ud800"}',
    ],
)
def test_what_is_no_question(world: JoinWorld, posted: bytes) -> None:
    answer = world.endpoint.join(posted, sender="10.65.128.4")
    assert (answer.status, answer.body["reason"]) == (403, "Malformed")


def test_a_kind_of_proof_that_is_not_known(machine: Machine) -> None:
    assert machine.join(proof={"kind": "gcp"}) == (403, "Malformed")


@pytest.mark.parametrize("print_", ["", "ab", "../../../api/v1/secrets", "AB" * 32])
def test_what_is_no_fingerprint(world: JoinWorld, print_: str) -> None:
    assert world.endpoint.challenge(print_, sender=SENDER).status == 400
    assert world.endpoint.look(print_, sender=SENDER).status == 404


# Limits on the rate.


def test_so_many_proofs_a_second(world: JoinWorld) -> None:
    for index in range(int(PROOFS_AT_ONCE)):
        world.told.answer = Attested(site="use1", machine=f"i-{index:017}")
        assert Machine(world).join(sender=f"10.65.128.{index}") == (202, "")
    assert Machine(world).join(sender="10.65.129.1") == (429, "TooMany")
    world.now += 1
    assert Machine(world).join(sender="10.65.129.1") == (202, "")


def test_one_address_does_not_take_the_place_of_others(world: JoinWorld, machine: Machine) -> None:
    for _ in range(int(SENDER_AT_ONCE)):
        assert world.endpoint.join(b"", sender="10.65.128.17").status == 403
    assert world.endpoint.join(b"", sender="10.65.128.17").status == 429
    assert machine.join() == (202, "")


def test_one_address_does_not_look_all_the_time(world: JoinWorld, machine: Machine) -> None:
    for _ in range(int(LOOKS_AT_ONCE)):
        assert world.endpoint.look(machine.print, sender="10.65.128.17").status == 404
    assert world.endpoint.look(machine.print, sender="10.65.128.17").status == 429
    assert world.endpoint.challenge(machine.print, sender="10.65.128.17").status == 429
    assert machine.join() == (202, "")


def test_one_machine_does_not_fill_the_api(world: JoinWorld) -> None:
    for _ in range(int(MACHINE_AT_ONCE)):
        assert Machine(world).join() == (202, "")
    assert Machine(world).join() == (429, "TooMany")
    assert len(world.api.requests) == MACHINE_AT_ONCE
    world.told.answer = Attested(site="use1", machine="i-0fedcba9876543210")
    assert Machine(world).join() == (202, "")


def test_nothing_that_proves_is_written_down(
    world: JoinWorld, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secret = {"kind": "told", "session": "a-session-token", "authorization": "a-signature"}
    machine.join(proof=secret)
    world.told.answer = RefusedError("ForgedProof", "no")
    machine.join(proof=secret)
    machine.join(proof={**secret, "kind": "a-session-token"})
    written = caplog.text + json.dumps(world.api.written) + json.dumps(world.api.requests)
    assert "ForgedProof" in written
    assert "a-session-token" not in written
    assert "a-signature" not in written


def test_a_machine_in_quarantine_is_sent_away_though_it_proves_itself(world: JoinWorld, machine: Machine) -> None:
    world.quarantined = {"i-1"}
    assert machine.join()[0] == 202
    world.quarantined.add(NODE)
    world.now += 60
    assert Machine(world).join() == (403, "Quarantined")
    assert len(world.api.requests) == 1
