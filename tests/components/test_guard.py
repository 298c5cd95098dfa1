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


def test_a_member_may_go_when_a_peer_says_that_quorum_survives() -> None:
    answers = _answers({"b": json.dumps({"survives": True})})
    guard.check_quorum(machine="a", peers=["b", "c"], ask=answers)


def test_a_member_must_stay_when_quorum_would_be_lost() -> None:
    answers = _answers({"b": json.dumps({"survives": False, "reason": "1 of 3 healthy"})})
    with pytest.raises(guard.RefusedError, match=r"a must stay.*1 of 3 healthy"):
        guard.check_quorum(machine="a", peers=["b"], ask=answers)


def test_a_peer_that_does_not_answer_leaves_the_question_to_the_next() -> None:
    answers = _answers({"b": AzureError("gone"), "c": json.dumps({"survives": True})})
    guard.check_quorum(machine="a", peers=["b", "c"], ask=answers)


def test_a_member_must_stay_when_nobody_answers() -> None:
    answers = _answers({"b": AzureError("gone"), "c": "no json"})
    with pytest.raises(guard.RefusedError, match="no other member of its etcd cluster answers"):
        guard.check_quorum(machine="a", peers=["b", "c"], ask=answers)


def test_the_only_member_must_stay() -> None:
    with pytest.raises(guard.RefusedError, match="only member"):
        guard.check_quorum(machine="a", peers=[], ask=_answers({}))


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
