"""Remains of a killed run: the holder of its lock, and its processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from longhaul.engine import processes
from longhaul.engine.backend import Lock
from longhaul.engine.processes import ProcessIdentity
from longhaul.engine.records import VARIABLE, Run, RunFile, new_run, with_engine
from longhaul.engine.state_lock import Holder, find_holder
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, UP, Checkout, FakeEngine

NOW = datetime.now(tz=UTC)


def lock(pid: int, *, host: str | None = None, since: datetime | None = None) -> Lock:
    since = since or datetime.now(tz=UTC)
    return Lock(path=Path("l"), pid=pid, user="ann", host=host or processes.hostname(), since=since)


@pytest.fixture(name="sleeper")
def _sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose program has the name of the engine's."""
    program = tmp_path / "pulumi"
    shutil.copy(shutil.which("sleep") or "sleep", program)
    process = subprocess.Popen([program, str(LIMIT_S)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def ended() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_living_engine_holds_its_lock(sleeper: subprocess.Popen[bytes]) -> None:
    assert find_holder(lock(sleeper.pid)) is Holder.ALIVE


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert find_holder(lock(ended())) is Holder.DEAD


def test_another_program_of_that_number_holds_nothing() -> None:
    assert find_holder(lock(os.getpid())) is Holder.DEAD


def test_an_engine_younger_than_the_lock_is_another(sleeper: subprocess.Popen[bytes]) -> None:
    assert find_holder(lock(sleeper.pid, since=datetime.now(tz=UTC) - timedelta(minutes=5))) is Holder.DEAD


def test_a_holder_elsewhere_cannot_be_judged() -> None:
    assert find_holder(lock(ended(), host="elsewhere.example")) is Holder.ELSEWHERE


def write_lock(engine: FakeEngine, pid: int, **changed: object) -> Path:
    folder = engine.checkout.backend / ".pulumi" / "locks" / "organization" / "longhaul" / "dev"
    folder.mkdir(parents=True)
    content = {"pid": pid, "username": "ann", "hostname": processes.hostname(), "timestamp": NOW.isoformat(), **changed}
    (folder / "id.json").write_text(json.dumps(content))
    return folder


def test_a_dead_holders_lock_is_released_and_the_run_goes_on(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    pid = ended()
    folder = write_lock(engine, pid)
    done = checkout.run(*UP)
    assert done.returncode == Exit.OK
    assert f"process {pid} of ann" in done.stderr
    assert [call["words"][0] for call in engine.calls()] == ["cancel", "preview", "up"]
    assert not folder.exists()


def test_a_living_holder_is_named_and_left_alone(
    checkout: Checkout, engine: FakeEngine, sleeper: subprocess.Popen[bytes]
) -> None:
    engine.has_stack()
    folder = write_lock(engine, sleeper.pid, timestamp=datetime.now(tz=UTC).isoformat())
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert f"process {sleeper.pid} of ann" in done.stderr
    assert engine.calls() == []
    assert list(folder.iterdir())
    assert sleeper.poll() is None


def test_a_holder_on_another_host_is_named_with_the_way_to_release(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    write_lock(engine, 1, hostname="elsewhere.example")
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert "elsewhere.example" in done.stderr
    assert "pulumi cancel --stack dev" in done.stderr
    assert engine.calls() == []


@pytest.fixture(name="orphans")
def _orphans() -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """A process of the run ``mine``, and one of another run."""
    started = [
        subprocess.Popen(["sleep", str(LIMIT_S)], env={**os.environ, VARIABLE: run}) for run in ("mine", "another")
    ]
    try:
        yield started[0], started[1]
    finally:
        for process in started:
            process.kill()
            process.wait()


def dead_run() -> Run:
    run = with_engine(new_run("up"), ended())
    return Run(**{**vars(run), "id": "mine", "pid": ended(), "started": 1})


def test_only_what_the_dead_run_started_is_ended(
    checkout: Checkout, engine: FakeEngine, orphans: tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]
) -> None:
    engine.has_stack()
    checkout.run(*UP)
    mine, another = orphans
    digest = next((checkout.home / ".local" / "state" / "longhaul").iterdir())
    RunFile(path=digest / "dev.json").write(dead_run())
    done = checkout.run(*UP)
    assert done.returncode == Exit.OK
    assert f"sleep (process {mine.pid})" in done.stderr
    assert mine.wait(LIMIT_S) != 0
    assert another.poll() is None


def test_a_run_of_another_boot_has_nothing_alive() -> None:
    run = new_run("up")
    assert [process.pid for process in run.living()] == [os.getpid()]
    assert Run(**{**vars(run), "boot": "another"}).living() == []
    assert Run(**{**vars(run), "started": run.started + 1}).living() == []


def test_records_survive_being_damaged(tmp_path: Path) -> None:
    records = RunFile(path=tmp_path / "deep" / "r.json")
    assert records.read() is None
    run = new_run("up")
    records.write(run)
    assert records.read() == run
    records.path.write_text('{"id": 1}')
    assert records.read() is None
    records.clear()
    records.clear()
    assert not records.path.exists()


def test_a_process_that_will_not_listen_is_made_to_end() -> None:
    script = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(); time.sleep(120)"
    with subprocess.Popen([sys.executable, "-uc", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        start = processes.start_ticks(process.pid)
        assert start is not None
        found = ProcessIdentity(pid=process.pid, started=start, name="stubborn")
        processes.terminate([found], grace_s=0.2)
        assert not processes.is_alive(found)
        assert process.wait(LIMIT_S) == -9


def test_a_number_that_became_anothers_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    start = processes.start_ticks(sleeper.pid)
    assert start is not None
    processes.terminate([ProcessIdentity(pid=sleeper.pid, started=start - 1, name="gone")])
    assert sleeper.poll() is None


def test_start_times_are_those_of_the_clock(sleeper: subprocess.Popen[bytes]) -> None:
    at = processes.start_time(sleeper.pid)
    assert at is not None
    assert abs(at - time.time()) < LIMIT_S
    assert processes.start_time(ended()) is None
