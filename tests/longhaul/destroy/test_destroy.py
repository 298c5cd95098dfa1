"""``longhaul destroy``: its refusals, its questions, and its commands to the engine."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, UP, Checkout, FakeEngine


def typed(checkout: Checkout, text: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run it on a terminal and type ``text``."""
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, f"{text}\n".encode())
        return subprocess.run(
            checkout.argv("destroy", "--env", "dev", *words),
            cwd=checkout.path,
            env=checkout.variables(),
            stdin=terminal,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    finally:
        os.close(keyboard)
        os.close(terminal)


def pending(kind: str, name: str) -> dict[str, object]:
    urn = f"urn:pulumi:dev::longhaul::longhaul:Cluster${kind}::{name}"
    return {"type": "creating", "resource": {"urn": urn, "type": kind, "inputs": {}}}


def test_the_file_has_to_allow_it(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    checkout.write({**checkout.environment(), "destroyable": False})
    done = checkout.run("destroy", "--env", "dev", "--yes")
    assert done.returncode == Exit.FAILED
    assert "destroyable: true" in done.stderr
    assert engine.calls() == []


def test_without_a_terminal_consent_has_to_be_given(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    assert checkout.run("destroy", "--env", "dev").returncode == Exit.USAGE
    assert engine.calls() == []


@pytest.mark.parametrize("answer", ["prod", "\x04"], ids=["name", "end of input"])
def test_another_answer_is_no_consent(checkout: Checkout, engine: FakeEngine, answer: str) -> None:
    engine.has_stack()
    done = typed(checkout, answer)
    assert done.returncode == Exit.FAILED
    assert b"nothing was done" in done.stderr
    assert engine.calls() == []


def test_the_name_is_consent_and_the_program_is_run_for_its_hooks(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    done = typed(checkout, "dev")
    assert done.returncode == Exit.OK
    assert b"az keyvault purge" in done.stderr
    assert engine.commands() == ["destroy --stack dev --yes --run-program --suppress-outputs"]
    assert engine.calls()[0]["environ"]["LONGHAUL_DESTROY"] == "dev"


def test_other_commands_do_not_carry_the_consent(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    checkout.run(*UP)
    assert engine.calls()[0]["environ"]["LONGHAUL_DESTROY"] is None


def test_removing_the_stack_keeps_the_environment_file(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    done = checkout.run("destroy", "--env", "dev", "--yes", "--remove")
    assert done.returncode == Exit.OK
    assert engine.commands()[1:] == ["stack rm --yes --preserve-config --stack dev"]
    assert checkout.stack_file.exists()


def test_a_failed_destroy_removes_no_stack(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.fails("destroy")
    assert checkout.run("destroy", "--env", "dev", "--yes", "--remove").returncode == Exit.FAILED
    assert len(engine.calls()) == 1


def test_where_there_is_no_stack_there_is_nothing_to_do(checkout: Checkout, engine: FakeEngine) -> None:
    done = checkout.run("destroy", "--env", "dev", "--yes")
    assert done.returncode == Exit.OK
    assert "nothing to destroy" in done.stderr
    assert engine.calls() == []


def test_what_the_state_does_not_know_has_to_be_adopted_first(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack(pending_operations=[pending("azure-native:resources:ResourceGroup", "dev-weu")])
    done = checkout.run("destroy", "--env", "dev", "--yes")
    assert done.returncode == Exit.FAILED
    assert "dev-weu (azure-native:resources:ResourceGroup)" in done.stderr
    assert "longhaul up --env dev" in done.stderr
    assert engine.calls() == []


def test_what_goes_with_its_group_does_not(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack(pending_operations=[pending("azure-native:compute:VirtualMachine", "dev-etcd-0")])
    checkout.run("destroy", "--env", "dev", "--yes")
    assert engine.commands()[0] == "destroy --stack dev --yes --run-program --suppress-outputs"


def test_what_is_destroyed_already_is_not_destroyed_again(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack(
        resources=[{"urn": "urn:pulumi:dev::longhaul::pulumi:pulumi:Stack::dev", "type": "pulumi:pulumi:Stack"}]
    )
    done = checkout.run("destroy", "--env", "dev", "--yes")
    assert done.returncode == Exit.OK
    assert "destroyed already" in done.stderr
    assert engine.calls() == []
