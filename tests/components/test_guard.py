"""Guards against accidental deletion of etcd members and of the environment."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from clouds.azure.session import AzureError
from components.control_plane import guard


def _answers(answers: Mapping[str, str | Exception]) -> guard.Ask:
    def ask(peer: str) -> str:
        answer = answers[peer]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ask


SURVIVES, LOST = json.dumps({"survives": True}), json.dumps({"survives": False, "reason": "1 of 3 healthy"})
GONE = AzureError("gone")


@pytest.mark.parametrize(
    "answers", [{"b": SURVIVES, "c": LOST}, {"b": GONE, "c": SURVIVES}], ids=["the first says so", "the next says so"]
)
def test_a_member_may_go_when_a_peer_says_that_quorum_survives(answers: dict[str, str | Exception]) -> None:
    guard.check_quorum(machine="a", peers=list(answers), ask=_answers(answers))


@pytest.mark.parametrize(
    ("answers", "refusal"),
    [
        ({"b": LOST}, r"a must stay.*1 of 3 healthy"),
        ({"b": GONE, "c": "no json"}, "no other member of its etcd cluster answers"),
        ({}, "only member"),
    ],
    ids=["quorum would be lost", "nobody answers", "the only member"],
)
def test_a_member_must_stay(answers: dict[str, str | Exception], refusal: str) -> None:
    with pytest.raises(guard.RefusedError, match=refusal):
        guard.check_quorum(machine="a", peers=list(answers), ask=_answers(answers))


@pytest.mark.parametrize(
    ("destroyable", "said", "refusal"), [(False, "lab", "destroyable: true"), (True, "prod", "longhaul destroy")]
)
def test_an_environment_stays_unless_it_is_destroyable_and_that_very_one_was_confirmed(
    monkeypatch: pytest.MonkeyPatch, destroyable: bool, said: str, refusal: str
) -> None:
    monkeypatch.setenv(guard.DESTROY_VARIABLE, said)
    with pytest.raises(guard.RefusedError, match=refusal):
        guard.DestructionProvider().delete("lab", {"environment": "lab", "destroyable": destroyable})


def test_a_destroyable_environment_goes_once_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.DESTROY_VARIABLE, "lab")
    guard.DestructionProvider().delete("lab", {"environment": "lab", "destroyable": True})
