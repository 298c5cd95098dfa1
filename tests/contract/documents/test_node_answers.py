"""Answers of longhaul-node: each is read as it was written, and anything else is refused."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from contract.documents.node_answers import (
    BackupState,
    CertificateDates,
    Departure,
    MachineCheck,
    MachineCredentials,
    MemberReport,
    NewestBackup,
    NodeReport,
    ObjectsByKey,
    Reclaimed,
    Removal,
    ServerIssuers,
    ServerKeys,
    Survival,
    of_text,
    reason_of,
    to_text,
)
from contract.documents.refusals import RefusedClients

MEMBER = MemberReport(name="m-0", id="1f", healthy=True, leader=True, learner=False, db_size_bytes=5, revision=7)
NEWEST = NewestBackup(name="daily/x", made=1.5, size=2, revision=3, keys=4)
BACKUP = BackupState(
    newest=NEWEST, took_s=2.0, rejected=1, rejected_why="empty", oldest={"daily": 1.0}, declared=True, looked=2.5
)
KEYS = ServerKeys(keys=("key1", "key2"), loaded=True)
REFUSED = RefusedClients(names=("node-1",), digest="ab", loaded=True, ended=True)
CREDENTIALS = MachineCredentials(
    files={"ca.crt": ("ab", "cd")}, unused=("etcd.service",), shown={"member.pem": ("ef",)}, rotations={"x": {"y": 1}}
)
REPORT = NodeReport(
    machine="m-0",
    role="etcd",
    ready=False,
    checks=(MachineCheck(name="disk", ok=False, detail="slow", final=True), MachineCheck(name="version", ok=True)),
    cluster="1f",
    members=(MEMBER,),
    certificates=(CertificateDates(name="member", begins=1.0, ends=2.0),),
    backup=BACKUP,
    encryption=KEYS,
    credentials=CREDENTIALS,
    quarantine=REFUSED,
    restore="daily/x",
)
ANSWERS = (
    REPORT,
    BACKUP,
    KEYS,
    CREDENTIALS,
    REFUSED,
    ObjectsByKey(objects={"key1": 2, "": 1}),
    Survival(without="m-1", member=True, voters=3, quorum=2, healthy_without=2, survives=True, reason="2 of 3"),
    Removal(removed=False, reason="it is alive", alive=True),
    Departure(left=True, reason="another answers"),
    Reclaimed(done=True, reason="room again", sizes={"m-0": (2, 1)}, ask_another=True),
    ServerIssuers(urls=("https://idp",), digest="ab", loaded=True, error="none"),
)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_an_answer_is_read_as_it_was_written(answer: object) -> None:
    assert of_text(type(answer), to_text(answer)) == answer


def test_an_answer_of_another_release_is_read() -> None:
    document = {"machine": "m-0", "role": "etcd", "ready": True, "of_later": {"a": 1}}
    assert of_text(NodeReport, json.dumps(document)) == NodeReport(machine="m-0", role="etcd", ready=True)


@pytest.mark.parametrize(
    "change",
    [
        {"ready": "true"},
        {"ready": 1},
        {"machine": None},
        {"checks": {"name": "disk"}},
        {"checks": [{"ok": True}]},
        {"members": [{**asdict(MEMBER), "revision": "7"}]},
        {"certificates": [{"name": "member", "begins": True, "ends": 2}]},
        {"backup": []},
        {"credentials": {"files": {"ca.crt": "ab"}}},
    ],
    ids=str,
)
def test_a_field_of_another_type_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w+\.?\w* (is|has) "):
        of_text(NodeReport, json.dumps({**asdict(REPORT), **change}))


@pytest.mark.parametrize("text", ["", "usage: longhaul-node", "[]", "null", "{}", "[" * 100_000])
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        of_text(Removal, text)


def test_a_pair_of_sizes_has_two_numbers() -> None:
    with pytest.raises(ValueError, match=r"Reclaimed\.sizes"):
        of_text(Reclaimed, '{"done": true, "reason": "", "sizes": {"m-0": [1, 2, 3]}}')


def test_the_failed_checks_are_the_reason() -> None:
    assert reason_of(REPORT.checks) == "disk: slow"
    assert reason_of(()) == "it gives no reason"
