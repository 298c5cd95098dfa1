"""``longhaul up`` without the engine's own work."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from clouds.azure.images import AzureMachineImages
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, SUBSCRIPTION, UP, Checkout, FakeEngine
from tests.support.commands import RunningCommand

JUDGED = "preview --stack dev --suppress-outputs --show-sames --json --refresh"
"""Command that asks the engine for the changes that it would make."""


def wait_for(path: Path, process: RunningCommand) -> None:
    """Wait until the engine has written the file; fail when the command ends before."""
    deadline = time.monotonic() + LIMIT_S
    while not (path.exists() and path.read_text()):
        assert process.poll() is None, "the command ended early"
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.02)


def test_it_runs_the_engine_for_the_stack_and_passes_on_the_rest(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    done = checkout.run(*UP, "--", "--parallel", "4")
    assert done.returncode == Exit.OK
    assert engine.commands() == [
        f"{JUDGED} --parallel 4",
        "up --stack dev --suppress-outputs --yes --refresh --parallel 4 --skip-preview",
    ]
    assert engine.calls()[0]["cwd"] == str(checkout.path)


def test_this_interpreter_is_the_first_that_the_engine_finds(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    checkout.run(*UP)
    assert engine.calls()[0]["environ"]["PATH"].split(":")[0] == str(Path(sys.executable).parent)


def test_a_missing_stack_is_created_first(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.run(*UP)
    assert engine.commands() == [
        "stack init --no-select --stack dev",
        "up --stack dev --suppress-outputs --yes --refresh",
    ]


def test_a_stack_that_cannot_be_created_is_the_end(checkout: Checkout, engine: FakeEngine) -> None:
    engine.fails("stack")
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert "cannot be created" in done.stderr
    assert engine.commands() == ["stack init --no-select --stack dev"]


def test_a_failed_run_is_1_and_forgets_the_run(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.fails("up", 255)
    assert checkout.run(*UP).returncode == Exit.FAILED
    assert list(checkout.home.rglob("dev.json")) == []


def test_without_a_terminal_consent_has_to_be_given(checkout: Checkout, engine: FakeEngine) -> None:
    done = checkout.run("up", "--env", "dev")
    assert done.returncode == Exit.USAGE
    assert "--yes" in done.stderr
    assert engine.calls() == []


def test_without_a_backend_it_says_how_to_choose_one(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.environ["PULUMI_BACKEND_URL"] = ""
    done = checkout.run(*UP)
    assert done.returncode == Exit.USAGE
    assert "PULUMI_BACKEND_URL" in done.stderr
    assert engine.calls() == []


def test_a_login_is_a_backend_too(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    checkout.environ["PULUMI_BACKEND_URL"] = ""
    stored = checkout.home / ".pulumi" / "credentials.json"
    stored.write_text(json.dumps({"current": f"file://{checkout.backend}"}))
    assert checkout.run(*UP).returncode == Exit.OK
    assert engine.commands() == [JUDGED, "up --stack dev --suppress-outputs --yes --refresh --skip-preview"]


def test_an_environment_that_only_a_lab_can_be_says_that_its_lab_is_down(
    checkout: Checkout, engine: FakeEngine
) -> None:
    raw = checkout.environment()
    raw["sites"]["weu"]["subscription"] = "00000000-0000-4000-8000-000000000001"
    checkout.write(raw)
    done = checkout.run(*UP)
    assert done.returncode == Exit.UNREACHABLE
    assert "make lab ENV=dev" in done.stderr
    assert engine.calls() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_engine_once_and_ends_as_interrupted(
    checkout: Checkout, engine: FakeEngine, number: signal.Signals
) -> None:
    engine.has_stack()
    engine.waits()
    process = checkout.start(*UP)
    wait_for(engine.folder / "waiting", process)
    process.send_signal(number)
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    assert json.loads((engine.folder / "caught").read_text()) == [number]


def test_a_hang_up_that_is_ignored_is_left_alone(checkout: Checkout, engine: FakeEngine) -> None:
    """As with nohup(1)."""
    engine.has_stack()
    engine.waits()
    process = checkout.start(*UP, prepare=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for(engine.folder / "waiting", process)
    process.send_signal(signal.SIGHUP)
    # Had the hang-up been taken for an interrupt, the engine would have caught that one too.
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    assert json.loads((engine.folder / "caught").read_text()) == [signal.SIGTERM]


@pytest.mark.parametrize("verb", ["up", "destroy"])
@pytest.mark.parametrize("words", [["--event-log", "mine"], ["--event-log=mine"]])
def test_a_log_of_events_of_the_users_is_refused(
    checkout: Checkout, engine: FakeEngine, verb: str, words: list[str]
) -> None:
    engine.has_stack()
    done = checkout.run(verb, "--env", "dev", "--yes", "--", *words)
    assert done.returncode == Exit.USAGE
    assert "--event-log cannot be given" in done.stderr
    assert engine.calls() == []


def test_the_engine_does_not_outlive_a_killed_command(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.waits()
    process = checkout.start(*UP)
    wait_for(engine.folder / "waiting", process)
    pid = int((engine.folder / "waiting").read_text())
    descriptor = os.pidfd_open(pid)
    process.kill()
    process.wait(LIMIT_S)
    _await_end(descriptor)
    assert json.loads((engine.folder / "caught").read_text()) == [signal.SIGINT]


def _await_end(descriptor: int) -> None:
    ready, _, _ = select.select([descriptor], [], [], LIMIT_S)
    os.close(descriptor)
    assert ready, "the engine still runs"


def test_a_second_command_is_refused_while_the_first_is_at_work(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.waits()
    process = checkout.start(*UP)
    try:
        wait_for(engine.folder / "waiting", process)
        done = checkout.run(*UP)
        assert done.returncode == Exit.FAILED
        assert f"process {process.pid}" in done.stderr
        assert [call["words"][0] for call in engine.calls()] == ["preview", "up"]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT_S)


AMI = "ami-" + 17 * "0"


def test_an_image_that_is_not_baked_is_said_before_anything_is_made(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.gains_hosts()
    raw = checkout.environment()
    raw["sites"]["use1"]["image"] = AMI
    checkout.write(raw)
    for phase in ((), ("--only", "infrastructure")):
        done = checkout.run("up", "--env", "dev", "--yes", *phase)
        assert done.returncode == Exit.USAGE
        assert "sites.use1.image: `longhaul image build --env dev --site use1`" in done.stderr
        assert "sites.weu" not in done.stderr
    assert engine.calls() == []


def test_an_image_that_no_machine_boots_may_wait(checkout: Checkout, engine: FakeEngine) -> None:
    raw = checkout.environment()
    raw["sites"]["use1"] = {"kind": "aws", "region": "us-east-1", "image": AMI}
    checkout.write(raw)
    engine.has_stack()
    done = checkout.run(*UP)
    assert done.returncode == Exit.OK, done.stderr


def test_the_image_that_init_writes_for_azure_is_one_of_them(checkout: Checkout, engine: FakeEngine) -> None:
    raw = checkout.environment()
    raw["sites"]["weu"]["image"] = AzureMachineImages().placeholder(SUBSCRIPTION, kind="node")
    checkout.write(raw)
    done = checkout.run(*UP)
    assert done.returncode == Exit.USAGE
    assert "sites.weu.image" in done.stderr


def test_a_machine_of_the_control_plane_is_replaced_by_name(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    done = checkout.run(*UP, "--replace", "dev-etcd-0", "--replace", "dev-api-0")
    assert done.returncode == Exit.OK, done.stderr
    machine = "--replace **azure-native:compute:VirtualMachine::dev-"
    parents = "longhaul:Cluster$longhaul:ControlPlane$longhaul:azure:ControlMachine$"
    assert f"urn:pulumi:dev::longhaul::{parents}azure-native:compute:VirtualMachine::dev-".endswith(
        machine.split("**")[1]
    )
    words = f"{machine}etcd-0 {machine}api-0"
    assert engine.commands() == [
        f"{JUDGED} {words}",
        f"up --stack dev --suppress-outputs --yes --refresh {words} --skip-preview",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--replace", "dev-etcd-9"), "dev-etcd-9: no machine of the control plane of dev (dev-etcd-0"),
        (("--replace", "dev-etcd-0", "--only", "objects"), "--replace is about the infrastructure"),
    ],
)
def test_what_is_no_machine_of_the_control_plane_is_not_replaced(
    checkout: Checkout, engine: FakeEngine, words: tuple[str, ...], says: str
) -> None:
    done = checkout.run("up", "--env", "dev", "--yes", *words)
    assert done.returncode == Exit.USAGE
    assert says in done.stderr
    assert engine.calls() == []
