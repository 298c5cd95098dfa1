"""The order of a run, what stops it, and that everything that was made is destroyed whatever happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.outcome import Stay, StepResult
from longhaul.acceptance.steps import FinishedCommand
from longhaul.acceptance.time_limit import Deadline
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.acceptance.stand_ins import FakeCommands, World, checking

WHOLE = ["doctor", "plan", "up", "destroy"]


@pytest.fixture(name="world")
def _world() -> World:
    return World()


def healthy() -> str:
    return "seen"


def wrong() -> str:
    raise NotSoError("it is otherwise")


def broken() -> str:
    raise KeyError("a secret")


def test_all_of_it_in_its_order(world: World) -> None:
    report = world.runner().make_and_destroy(checking(healthy, healthy))
    assert world.commands.verbs() == WHOLE
    assert [one.name for one in report.steps] == ["doctor", "plan", "up", "destroy", "nothing left"]
    assert [(one.result, one.evidence) for one in report.checks] == [(StepResult.PASSED, "seen")] * 2
    assert (report.exit_code(), report.stays) == (Exit.OK, Stay.NONE)
    assert (world.told[0], report.log) == (f"the steps' output is in {report.log}", "/state/dev.acceptance.log")
    assert next(line for line in world.told if line.startswith("check 0")) == "check 0: begins"


@pytest.mark.parametrize(("verb", "ran"), [("doctor", ["doctor"]), ("plan", ["doctor", "plan"])])
def test_what_cannot_or_may_not_be_made_is_not(world: World, verb: str, ran: list[str]) -> None:
    world.commands.ends[verb] = [int(Exit.REFUSED)]
    report = world.runner().make_and_destroy(checking(healthy))
    assert world.commands.verbs() == ran
    assert (report.exit_code(), report.stays) == (Exit.FAILED, Stay.NOTHING)
    assert report.checks == ()
    assert f"`longhaul {verb}` ended with 4: refused" in report.steps[-1].evidence
    assert "the last line" in world.told[-1]


@dataclass(kw_only=True)
class Found(FakeCommands):
    """The doctor reports these findings."""

    findings: list[dict[str, str]]

    def run(self, verb: str, *words: str, limit: Deadline) -> FinishedCommand:
        assert verb == "doctor"
        return FinishedCommand(code=Exit.FAILED, stdout=json.dumps({"counts": {}, "findings": self.findings}))


def test_what_the_doctor_finds_is_told_once(world: World) -> None:
    login = {"level": "problem", "what": "no credential works", "do": "az login"}
    world.commands = Found(findings=[login, login, {"level": "ok", "what": "durations", "do": ""}])
    report = world.runner().make_and_destroy(checking(healthy))
    assert [one.evidence for one in report.steps] == ["no credential works (az login)"]
    assert report.stays is Stay.NOTHING


def test_what_was_made_by_half_goes_unchecked(world: World) -> None:
    world.commands.ends["up"] = [int(Exit.FAILED)]
    report = world.runner().make_and_destroy(checking(healthy))
    assert world.commands.verbs() == WHOLE
    assert report.checks == ()
    assert report.exit_code() is Exit.FAILED


@pytest.mark.parametrize("run", [wrong, broken])
def test_a_check_that_fails_hides_no_other_and_stops_no_taking_down(world: World, run: Callable[[], str]) -> None:
    report = world.runner().make_and_destroy(checking(run, healthy))
    assert [one.result for one in report.checks] == [StepResult.FAILED, StepResult.PASSED]
    assert "a secret" not in report.checks[0].evidence
    assert world.commands.verbs() == WHOLE
    assert report.exit_code() is Exit.FAILED


def test_what_does_not_apply_is_no_failure_and_no_success_either(world: World) -> None:
    def nothing() -> str:
        raise NotApplicableError("there is none")

    assert world.runner().make_and_destroy(checking(nothing, healthy)).exit_code() is Exit.OK
    assert world.runner().make_and_destroy(checking(nothing)).exit_code() is Exit.FAILED


@pytest.mark.parametrize("when", ["up", "check"])
def test_an_interrupt_leads_to_the_taking_down(world: World, when: str) -> None:
    def interrupted() -> str:
        raise KeyboardInterrupt

    if when == "up":
        world.commands.ends["up"] = [KeyboardInterrupt]
    report = world.runner().make_and_destroy(checking(interrupted if when == "check" else healthy))
    assert world.commands.verbs() == WHOLE
    assert report.exit_code() is Exit.INTERRUPTED


@pytest.mark.parametrize("verb", ["doctor", "plan"])
def test_an_interrupt_before_anything_is_made_leaves_nothing_to_take_down(world: World, verb: str) -> None:
    world.commands.ends[verb] = [KeyboardInterrupt]
    report = world.runner().make_and_destroy(checking(healthy))
    assert world.commands.verbs()[-1] == verb
    assert (report.exit_code(), report.stays) == (Exit.INTERRUPTED, Stay.NOTHING)


def test_an_interrupted_taking_down_is_told(world: World) -> None:
    world.commands.ends["destroy"] = [KeyboardInterrupt]
    report = world.runner().make_and_destroy(checking(healthy))
    assert (report.exit_code(), report.stays) == (Exit.INTERRUPTED, Stay.PART)


def test_what_is_there_already_is_not_taken_down(world: World) -> None:
    world.held = [{"dev": 120}]
    with pytest.raises(CommandError, match="--reuse") as refused:
        world.runner().make_and_destroy(checking(healthy))
    assert refused.value.code is Exit.REFUSED
    assert world.commands.ran == []


def test_a_failed_taking_down_is_tried_once_more_and_told(world: World) -> None:
    world.commands.ends["destroy"] = [int(Exit.FAILED), int(Exit.FAILED)]
    world.held = [{}, {"dev": 3}]
    report = world.runner().make_and_destroy(checking(healthy))
    assert world.commands.verbs() == [*WHOLE, "destroy"]
    assert report.steps[-1].evidence == "the engine still has 3 resources of dev"
    assert (report.exit_code(), report.stays) == (Exit.FAILED, Stay.PART)
    assert "`longhaul destroy --remove` goes on" in world.told[-1]


def test_what_a_cloud_still_lists_fails_the_run(world: World) -> None:
    world.left = ["vpc-1 in us-east-1"]
    report = world.runner().make_and_destroy(checking(healthy))
    assert report.steps[-1].result is StepResult.FAILED
    assert "vpc-1 in us-east-1" in report.steps[-1].evidence


def test_a_third_of_the_time_is_kept_for_taking_down(world: World) -> None:
    limits: list[float] = []

    def long() -> str:
        world.time.wait(3000)
        return "seen"

    report = world.runner().make_and_destroy(checking(long, healthy, limits=limits))
    assert limits == [pytest.approx(2400)]
    assert [one.result for one in report.checks] == [StepResult.PASSED, StepResult.FAILED]
    assert "--most-time" in report.checks[1].evidence
    assert world.commands.limits[-1] >= 1200


def test_reuse_makes_and_destroys_nothing(world: World) -> None:
    world.held = [{"dev": 120}] * 2
    report = world.runner().reuse(checking(healthy, wrong))
    assert world.commands.ran == []
    assert (report.stays, report.steps, report.exit_code()) == (Stay.ALL, (), Exit.FAILED)
    assert world.runner().reuse(checking(healthy)).exit_code() is Exit.OK


def test_what_is_not_there_cannot_be_reused(world: World) -> None:
    looked: list[float] = []
    with pytest.raises(CommandError, match="dev does not exist") as refused:
        world.runner().reuse(checking(healthy, limits=looked))
    assert refused.value.code is Exit.UNREACHABLE
    assert (looked, world.commands.ran, world.told) == ([], [], [])
