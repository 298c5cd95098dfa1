"""The real engine: the next run finishes one that was killed, and a preview leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from lab import tools
from longhaul.engine import processes
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, UP, Checkout
from tests.support.commands import RunningCommand

pytestmark = pytest.mark.engine

PROGRAM = '''
import os
import time
from pathlib import Path

import pulumi
from pulumi.dynamic import CreateResult, ReadResult, Resource, ResourceProvider


class Slow(ResourceProvider):
    """Makes a file of the world, and is not done before the world lets it."""

    serialize_as_secret_always = False

    def create(self, props):
        world = Path(os.environ["WORLD"])
        made = world / props["name"]
        if os.environ.get("STRICT") and made.exists():
            raise Exception(f"cannot create already existing resource '/world/{props['name']}'")
        made.write_text(str(os.getpid()))
        while (world / "hold").exists():
            time.sleep(0.02)
        return CreateResult(id_=f"/world/{props['name']}", outs={**props, "made": True})

    def read(self, id_, props):
        return ReadResult(id_, {**props, "made": True})


class Thing(Resource):
    made: pulumi.Output[bool]

    def __init__(self, name, opts=None):
        super().__init__(Slow(), name, {"name": name, "made": None}, opts)


first = Thing("first")
second = Thing("second", pulumi.ResourceOptions(depends_on=[first]))
pulumi.export("made", first.made)
'''


@pytest.fixture(name="world")
def _world(checkout: Checkout, tmp_path: Path, root: Path) -> Path:
    """Folder with what the program makes; the engine is the pinned one."""
    world = tmp_path / "world"
    world.mkdir()
    (checkout.path / "stacks" / "__main__.py").write_text(PROGRAM)
    found = tools.ensure(["pulumi"], log_dir=root / ".lab" / "log", progress=print)
    checkout.has_plugins()
    checkout.environ |= {"LONGHAUL_PULUMI": str(found["pulumi"]), "WORLD": str(world)}
    return world


@pytest.fixture(name="killed")
def _killed(checkout: Checkout, world: Path) -> int:
    """A run that was killed while it made ``first``, command and engine at once; the value is the provider's pid."""
    (world / "hold").touch()
    process = checkout.start(*UP, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    provider = await_first(world, process)
    engine = engine_of(checkout)
    os.kill(process.pid, signal.SIGKILL)
    os.kill(engine, signal.SIGKILL)
    process.wait(LIMIT_S)
    (world / "hold").unlink()
    return provider


def await_first(world: Path, process: RunningCommand) -> int:
    """Wait until ``first`` is being made; return the pid of the process that makes it."""
    deadline = time.monotonic() + LIMIT_S
    made = world / "first"
    while not (made.exists() and made.read_text()):
        assert process.poll() is None, "the run ended early"
        assert time.monotonic() < deadline, "nothing was made"
        time.sleep(0.05)
    return int(made.read_text())


def engine_of(checkout: Checkout) -> int:
    """Return the engine's pid, once the command has recorded it."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        for path in (checkout.home / ".local").rglob("dev.json"):
            if pid := json.loads(path.read_text())["engine_pid"]:
                return int(pid)
        assert time.monotonic() < deadline, "no engine was recorded"
        time.sleep(0.05)


def await_log(checkout: Checkout, text: str) -> None:
    """Wait until the log of the run holds the text."""
    deadline = time.monotonic() + LIMIT_S
    while not any(text in path.read_text() for path in checkout.home.rglob("log/dev-up-*.log")):
        assert time.monotonic() < deadline, f"no log holds {text!r}"
        time.sleep(0.05)


def locks(checkout: Checkout) -> list[Path]:
    return list((checkout.backend / ".pulumi" / "locks").rglob("*.json"))


def state(checkout: Checkout) -> dict[str, Any]:
    path = checkout.backend / ".pulumi" / "stacks" / "longhaul" / "dev.json"
    content: dict[str, Any] = json.loads(path.read_text())["checkpoint"]["latest"]
    return content


def made(checkout: Checkout) -> dict[str, bool]:
    resources = {resource["urn"].rpartition("::")[2]: resource for resource in state(checkout)["resources"]}
    return {name: bool(resources[name]["outputs"].get("made")) for name in ("first", "second") if name in resources}


def test_the_next_run_finishes_what_a_killed_one_began(checkout: Checkout, world: Path, killed: int) -> None:
    assert locks(checkout), "the killed run left its lock"
    assert state(checkout)["pending_operations"], "and what it was making"
    done = checkout.run(*UP, "--", "--skip-preview")
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    assert "no longer runs; releasing it" in done.stderr
    assert f"process {killed}" in done.stderr
    assert "first" in done.stderr
    assert made(checkout) == {"first": True, "second": True}
    assert locks(checkout) == []
    assert not state(checkout).get("pending_operations")
    assert processes.start_ticks(killed) is None, "the killed run's provider is gone"
    again = checkout.run(*UP, "--", "--skip-preview", "--expect-no-changes")
    assert again.returncode == Exit.OK, again.stdout + again.stderr
    assert "killed" not in again.stderr


def test_what_a_killed_run_made_is_adopted_where_it_cannot_be_made_again(
    checkout: Checkout, world: Path, killed: int
) -> None:
    checkout.environ["STRICT"] = "1"
    done = checkout.run(*UP, "--", "--skip-preview")
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    assert "adopting a resource of the killed run: first" in done.stderr
    assert "/world/first" in done.stderr
    assert (world / "first").read_text() == str(killed), "it was not made again"
    assert made(checkout) == {"first": True, "second": True}
    assert not state(checkout).get("pending_operations")
    assert not list((checkout.home / ".local").rglob("*.pending"))
    again = checkout.run(*UP, "--", "--skip-preview", "--expect-no-changes")
    assert again.returncode == Exit.OK, again.stdout + again.stderr


def test_an_engine_killed_under_a_living_command_leaves_no_lock(checkout: Checkout, world: Path) -> None:
    (world / "hold").touch()
    process = checkout.start(*UP, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    provider = await_first(world, process)
    os.kill(engine_of(checkout), signal.SIGKILL)
    assert process.wait(LIMIT_S) == Exit.FAILED
    assert locks(checkout) == []
    assert processes.start_ticks(provider) is None


def test_an_interrupt_lets_the_engine_finish_what_is_under_way(checkout: Checkout, world: Path) -> None:
    (world / "hold").touch()
    log = world / "log"
    with log.open("wb") as output:
        process = checkout.start(*UP, stdout=output, stderr=output)
    await_first(world, process)
    process.send_signal(signal.SIGINT)
    await_log(checkout, "cancelling")
    (world / "hold").unlink()
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED, log.read_text()
    assert "longhaul: interrupted in infrastructure" in log.read_text()
    assert "stopped half-way" not in log.read_text(), "what was under way was finished"
    assert made(checkout) == {"first": True}
    assert locks(checkout) == []
    assert not (world / "second").exists()


def test_a_second_interrupt_stops_and_the_next_run_finishes(checkout: Checkout, world: Path) -> None:
    (world / "hold").touch()
    log = world / "log"
    with log.open("wb") as output:
        process = checkout.start(*UP, stdout=output, stderr=output)
    await_first(world, process)
    for told in ("cancelling", "terminating"):
        process.send_signal(signal.SIGINT)
        await_log(checkout, told)
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED, log.read_text()
    assert "stopped half-way: first; the next run checks them" in log.read_text()
    assert locks(checkout) == []
    (world / "hold").unlink()
    done = checkout.run(*UP, "--", "--skip-preview")
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    assert made(checkout) == {"first": True, "second": True}
    assert not state(checkout).get("pending_operations")


def test_a_wrong_passphrase_is_said_and_changes_nothing(checkout: Checkout, world: Path) -> None:
    assert checkout.run(*UP, "--", "--skip-preview").returncode == Exit.OK
    before = state(checkout)
    checkout.environ["PULUMI_CONFIG_PASSPHRASE"] = "wrong"
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert "incorrect passphrase" in done.stdout + done.stderr
    assert state(checkout) == before
    assert locks(checkout) == []


def test_a_preview_leaves_the_stack_file_as_it_is(checkout: Checkout, world: Path) -> None:
    checkout.environ |= {"PULUMI_BACKEND_URL": "", "PULUMI_CONFIG_PASSPHRASE": ""}
    before = checkout.stack_file.read_bytes()
    done = checkout.run("plan", "--raw", "--env", "dev", "--format", "json")
    assert done.returncode == Exit.OK, done.stderr
    digest = json.loads(done.stdout)
    assert (digest["create"], digest["same"]) == (3, 0)
    assert checkout.stack_file.read_bytes() == before
    assert sorted(path.name for path in checkout.path.iterdir()) == ["Pulumi.yaml", "stacks"]


def test_a_preview_whose_reader_went_away_leaves_no_process(checkout: Checkout, world: Path) -> None:
    """As in `longhaul plan --raw | head`."""
    process = checkout.start("plan", "--raw", "--env", "dev", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.wait(LIMIT_S)
    # Processes that the engine started end a moment after it.
    deadline = time.monotonic() + LIMIT_S
    while left := list(processes.with_variable("WORLD", str(world))):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_a_preview_of_a_stack_compares_with_it_and_leaves_the_salt_alone(checkout: Checkout, world: Path) -> None:
    assert checkout.run(*UP, "--", "--skip-preview").returncode == Exit.OK
    before = checkout.stack_file.read_bytes()
    assert b"encryptionsalt" in before
    digest = json.loads(checkout.run("plan", "--raw", "--env", "dev", "--format", "json").stdout)
    assert (digest["create"], digest["same"], digest["resources"]) == (0, 3, 3)
    assert checkout.stack_file.read_bytes() == before


def test_destroy_with_remove_leaves_the_environment_file(checkout: Checkout, world: Path) -> None:
    assert checkout.run(*UP, "--", "--skip-preview").returncode == Exit.OK
    done = checkout.run("destroy", "--env", "dev", "--yes", "--remove", "--", "--skip-preview")
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    assert checkout.stack_file.exists()
    assert not list((checkout.backend / ".pulumi" / "stacks").rglob("dev.json"))
