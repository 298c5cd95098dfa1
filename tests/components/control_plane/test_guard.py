"""Guards against accidental deletion of etcd members and of the environment."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from clouds.base.errors import CloudError
from components.control_plane import guard
from components.control_plane.replacement import Leaving
from contract.documents.node_answers import Removal, Survival, to_text


def _answers(answers: Mapping[str, str | Exception]) -> guard.Ask:
    def ask(peer: str) -> str:
        answer = answers[peer]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ask


def survival(*, survives: bool, reason: str = "") -> str:
    return to_text(
        Survival(
            without="a", member=True, voters=3, quorum=2, healthy_without=1 + survives, survives=survives, reason=reason
        )
    )


SURVIVES, LOST = survival(survives=True), survival(survives=False, reason="1 of 3 healthy")
GONE = CloudError("gone")


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
    with pytest.raises(guard.GuardRefusedError, match=refusal):
        guard.check_quorum(machine="a", peers=list(answers), ask=_answers(answers))


@pytest.mark.parametrize(
    ("destroyable", "said", "refusal"), [(False, "lab", "destroyable: true"), (True, "prod", "longhaul destroy")]
)
def test_an_environment_stays_unless_it_is_destroyable_and_that_very_one_was_confirmed(
    monkeypatch: pytest.MonkeyPatch, destroyable: bool, said: str, refusal: str
) -> None:
    monkeypatch.setenv(guard.DESTROY_VARIABLE, said)
    with pytest.raises(guard.GuardRefusedError, match=refusal):
        guard.DestructionProvider().delete("lab", {"environment": "lab", "destroyable": destroyable})


def test_a_destroyable_environment_goes_once_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.DESTROY_VARIABLE, "lab")
    guard.DestructionProvider().delete("lab", {"environment": "lab", "destroyable": True})


OUT = to_text(Removal(removed=True, reason=""))
NOT_OUT = to_text(Removal(removed=False, reason="1 healthy of 2 would remain"))


@pytest.mark.parametrize("answers", [{"b": OUT}, {"b": GONE, "c": "usage: longhaul-node", "d": NOT_OUT, "e": OUT}])
def test_a_member_is_taken_out_by_whichever_peer_does_it(answers: dict[str, str | Exception]) -> None:
    asked: list[str] = []

    def run(peer: str, command: str) -> str:
        asked.append(command)
        return _answers(answers)(peer)

    guard.take_out("a", peers=list(answers), run=run)
    assert asked == ["longhaul-node remove --member a"] * len(answers)


@pytest.mark.parametrize(
    ("answers", "refusal"),
    [
        ({"b": NOT_OUT}, r"a must stay.*b: 1 healthy of 2 would remain"),
        ({"b": GONE, "c": "usage: longhaul-node"}, "c: its answer cannot be read"),
        ({}, "there is none"),
    ],
    ids=["too few would remain", "nobody can", "the only member"],
)
def test_a_member_that_nobody_takes_out_stays(answers: dict[str, str | Exception], refusal: str) -> None:
    with pytest.raises(guard.GuardRefusedError, match=refusal):
        guard.take_out("a", peers=list(answers), run=lambda peer, _command: _answers(answers)(peer))


@pytest.mark.parametrize(
    ("leaving", "commands"),
    [
        (Leaving(for_good=False), ["cluster --without m-3"]),
        (Leaving(for_good=True), ["remove --member m-3"]),
        (
            Leaving(for_good=False, doomed=("m-0", "m-4")),
            ["remove --member m-0 --if-dead", "remove --member m-4 --if-dead", "cluster --without m-3"],
        ),
    ],
    ids=["a replacement", "a member less", "the first of several that are dead"],
)
def test_who_is_taken_out_before_a_machine_goes(leaving: Leaving, commands: list[str]) -> None:
    asked: list[tuple[str, str]] = []

    def run(peer: str, command: str) -> str:
        asked.append((peer, command.removeprefix("longhaul-node ")))
        return OUT if "remove" in command else SURVIVES

    guard.may_leave("m-3", leaving, peers=("m-0", "m-1", "m-4"), run=run)
    assert [command for _, command in asked] == commands
    assert not any(f" {peer}" in command for peer, command in asked), "no dead member is asked about itself"
