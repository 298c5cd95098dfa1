"""A command of a setup step: its output is in a log, and it never outlives the step."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longhaul.toolchain.errors import ToolCommandError
from longhaul.toolchain.process import output_of, run_logged

LIMIT_MS = 30_000


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_command_ends_with_the_process_that_runs_it(tmp_path: Path, how: signal.Signals, end: str) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    program = (
        "import signal, sys; from pathlib import Path; from longhaul.toolchain.process import run_logged\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "run_logged(['sh', '-c', 'echo $$ >\"$0\"; exec sleep 1000', sys.argv[1]], log=Path(sys.argv[2]), what='test',"
        " end=signal.Signals[sys.argv[3]])\n"
    )
    argv = [sys.executable, "-c", program, str(started), str(tmp_path / "log"), end]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL, start_new_session=True) as parent:
        command = os.pidfd_open(int(started.read_text()))
        try:
            parent.send_signal(how)
            poll = select.poll()
            poll.register(command, select.POLLIN)
            assert poll.poll(LIMIT_MS), "the command outlived the process that ran it"
        finally:
            os.close(command)


def test_a_failure_tells_the_end_of_its_own_output_and_where_all_of_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_logged(["echo", "of the command before"], log=log, what="before")
    with pytest.raises(ToolCommandError) as caught:
        run_logged(["sh", "-c", "seq 100; echo why >&2; exit 3"], log=log, what="counting")
    message = str(caught.value)
    assert message.startswith("counting: `sh` failed (exit status 3)")
    assert "why" in message
    assert "    100\n" in message
    assert "    50\n" not in message
    assert "of the command before" not in message
    assert str(log) in message
    assert "of the command before\n" in log.read_text()


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolCommandError, match=r"`/no/such/program` cannot be run: No such file"):
        output_of(["/no/such/program"])
