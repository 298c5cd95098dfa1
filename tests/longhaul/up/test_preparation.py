"""Preparation of racks, which the first ``longhaul up`` does beside the infrastructure."""

from __future__ import annotations

from pathlib import Path

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout, FakeEngine
from tests.longhaul.fake_ansible import FakeAnsible

ALL = ("up", "--env", "dev", "--yes")


def test_the_first_run_prepares_the_racks_beside_the_infrastructure(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    engine.forgets_stack()
    done = checkout.run(*ALL)
    assert done.returncode == Exit.OK, done.stderr
    assert "preparation: done after" in done.stderr
    (log,) = (checkout.home / ".local").rglob("dev-up-*.log")
    text = log.read_text()
    assert "preparation    | a task\n" in text
    assert "infrastructure | dev is made\n" in text
    assert [Path(words[-1]).name for words in ansible.all_words()] == ["prepare.yml", "site.yml"]


def test_a_later_run_leaves_the_racks_to_their_phase(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    checkout.run(*ALL)
    assert [Path(words[-1]).name for words in ansible.all_words()] == ["site.yml"]


def test_a_preparation_that_fails_decides_nothing(checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible) -> None:
    engine.forgets_stack()
    ansible.fails("prepare.yml")
    done = checkout.run(*ALL)
    assert done.returncode == Exit.OK, done.stderr
    assert "preparation: failed after" in done.stderr
    assert "dev is as its file says" in done.stderr


def test_a_preparation_ends_with_a_failed_infrastructure(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    engine.forgets_stack()
    engine.fails("up")
    ansible.waits()
    # An Ansible that is not ended would hold the command until its limit.
    done = checkout.run(*ALL)
    assert done.returncode == Exit.FAILED
    assert "failed in infrastructure; see above" in done.stderr
