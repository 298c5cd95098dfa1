"""The engine's stacks: counted, and exported with their secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.acceptance.stacks import Stacks
from longhaul.engine.events import STACK
from longhaul.project.checkout import Project
from longhaul.project.context import Context
from longhaul.terminal.exits import CommandError
from tests.longhaul.acceptance.exports import exports, holds
from tests.longhaul.conftest import Checkout, FakeEngine


@pytest.fixture(name="stacks")
def _stacks(checkout: Checkout, engine: FakeEngine) -> Stacks:
    exports(engine)
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    return Stacks(where, checkout.variables())


def test_where_there_is_no_stack_nothing_is_held_or_asked(stacks: Stacks, engine: FakeEngine) -> None:
    assert (stacks.count_resources(), stacks.exported()) == ({}, {})
    assert not Path(engine.folder / "exports").exists()


def test_resources_and_what_was_being_made_are_counted_and_the_stack_itself_is_not(
    stacks: Stacks, engine: FakeEngine
) -> None:
    holds(engine, "dev", resources=[{"type": STACK}, {"type": "a:b:C"}], pending_operations=[{"type": "creating"}])
    holds(engine, "dev-objects", resources=[{"type": STACK}])
    assert stacks.count_resources() == {"dev": 2}


def test_both_are_exported_with_their_secrets(stacks: Stacks, engine: FakeEngine) -> None:
    texts = {stack: holds(engine, stack, resources=[{"type": "a:b:C"}]) for stack in ("dev", "dev-objects")}
    assert stacks.exported() == texts
    asked = (engine.folder / "exports").read_text().splitlines()
    assert asked[:2] == [f"stack export --show-secrets --stack {stack}" for stack in texts]


def test_a_state_that_cannot_be_read_is_not_an_empty_one(stacks: Stacks, engine: FakeEngine) -> None:
    engine.has_stack("dev")
    with pytest.raises(CommandError, match="the state of dev cannot be read"):
        stacks.count_resources()
