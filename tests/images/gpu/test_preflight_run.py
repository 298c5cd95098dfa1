"""A look in a process of its own, and the failures of that process."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from gpu.preflight_run import PROGRAM, NoReportError, PreflightRun

from tests.images.machines import eventually


def saying(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def test_the_report_is_what_it_prints() -> None:
    echo = saying("import json, sys; print(json.dumps({'words': sys.argv[1:]})); sys.exit(1)")
    assert PreflightRun(echo).run(check=True) == {"words": ["--json"]}
    assert PreflightRun(echo).run(check=False) == {"words": ["--json", "--look-only"]}


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal 11 and without a report"),
        ("print('[]')", "ended with exit code 0 and without a report"),
        ("print('{}'); raise SystemExit(2)", "ended with exit code 2 and without a report"),
    ],
)
def test_one_that_breaks_off_says_how(text: str, how: str) -> None:
    with pytest.raises(NoReportError, match=how):
        PreflightRun(saying(text)).run(check=False)


class Hangs(subprocess.Popen[bytes]):
    """Exceeds its time, once it and its child have opened a pipe that the test reads."""

    pipe: Path
    waited = False

    def wait(self, timeout: float | None = None) -> int:
        if timeout is None or self.waited:
            return super().wait(timeout)
        self.waited = True
        with self.pipe.open("rb") as reader:
            assert reader.read(2) == b"xx"
            type(self).reader = os.dup(reader.fileno())
        raise subprocess.TimeoutExpired(self.args, timeout)

    reader = -1


@pytest.fixture(name="hanging")
def _hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PreflightRun:
    """A look whose process and its child never end by themselves."""
    Hangs.pipe = tmp_path / "pipe"
    os.mkfifo(Hangs.pipe)
    monkeypatch.setattr("gpu.preflight_run.subprocess.Popen", Hangs)
    opened = f"os.fork(); pipe = open({str(Hangs.pipe)!r}, 'wb', 0); pipe.write(b'x')"
    return PreflightRun(saying(f"import os, signal; {opened}; signal.pause()"))


def test_one_that_hangs_is_ended_with_all_that_it_started(hanging: PreflightRun) -> None:
    with pytest.raises(NoReportError, match="did not end within 120 s: the driver hangs"):
        hanging.run(check=False)
    # The pipe ends once no process has it open any more.
    with os.fdopen(Hangs.reader, "rb") as reader:
        assert reader.read() == b""


TRIES = """
import sys, types
sys.path.insert(0, sys.argv.pop(1))
from gpu import preflight as gpu_preflight
from gpu import trial
gpu_preflight.read_declared_gpus = lambda path: None
gpu_preflight.look = lambda promise: trial.run(("sh", "-c", TRIAL))
gpu_preflight.main()
"""
"""The program with nothing but a trial, which has its own session as every trial does."""


def test_the_trial_is_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Hangs.pipe = tmp_path / "pipe"
    os.mkfifo(Hangs.pipe)
    trial = f"exec 3>{Hangs.pipe}; sleep 1000 & printf xx >&3; wait"
    text = f"TRIAL = {trial!r}\n{TRIES}"
    monkeypatch.setattr("gpu.preflight_run.subprocess.Popen", Hangs)
    with pytest.raises(NoReportError, match="did not end"):
        PreflightRun((sys.executable, "-c", text, str(Path(PROGRAM[1]).parent))).run(check=True)
    with os.fdopen(Hangs.reader, "rb") as reader:
        ended, _, _ = select.select([reader], [], [], 30)
        assert ended, "the trial lives on"
        assert reader.read() == b""


STARTS = """
import os, signal, subprocess
class Started(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        open(PIPE, "rb").close()
        os.kill(os.getpid(), signal.SIGTERM)
subprocess.Popen = Started
"""
"""The preflight is told to end when its trial has begun, and the call that began it has not yet returned."""


def test_a_trial_that_has_only_just_begun_is_ended_too(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = f"PIPE, TRIAL = {str(pipe)!r}, {f'exec 3>{pipe}; sleep 1000'!r}\n{STARTS}{TRIES}"
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", 0) as reader:
        command = [*saying(text), str(Path(PROGRAM[1]).parent)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode == 128 + signal.SIGTERM
        ended, _, _ = select.select([reader], [], [], 30)
        assert ended, "the trial lives on"
        assert reader.read() == b""


def test_nobody_joins_one_that_cannot_be_ended(hanging: PreflightRun, monkeypatch: pytest.MonkeyPatch) -> None:
    # As with a fault in the driver: SIGKILL has no effect.
    kill: list[int] = []
    monkeypatch.setattr("gpu.preflight_run.os.killpg", lambda group, _: kill.append(group))
    monkeypatch.setattr("gpu.preflight_run.KILLED_S", 0.0)
    monkeypatch.setattr("gpu.preflight_run.ENDED_S", 0.0)
    try:
        for said in ("did not end within 1020 s", "an earlier preflight of the GPUs still hangs in the driver: reboot"):
            with pytest.raises(NoReportError, match=said):
                hanging.run(check=True)
    finally:
        monkeypatch.undo()
        os.killpg(kill[0], signal.SIGKILL)
    with os.fdopen(Hangs.reader, "rb") as reader:
        assert reader.read() == b""
    monkeypatch.setattr(hanging, "_program", saying("print('{}')"))
    eventually(lambda: _looks(hanging), what="it looks again")


def _looks(looking: PreflightRun) -> bool:
    try:
        return looking.run(check=False) == {}
    except NoReportError:
        return False


def test_it_is_the_preflight_that_is_started() -> None:
    """Runs on this machine, which makes no promise about its GPUs."""
    assert PROGRAM[2] == "gpu.preflight"
    report = PreflightRun().run(check=False)
    assert (report["healthy"], json.dumps(report["findings"])) == (False, "[]")
