"""Runs the command line in a copy of this process: an interpreter of its own would cost each test a third of a
second."""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

import azure.identity  # noqa: F401
import boto3  # noqa: F401

import clouds
import longhaul
from longhaul.cli import main

# Each copy would import for itself what is imported only where it is needed.
for package in (clouds, longhaul):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)


def run_command(
    words: Sequence[str], *, cwd: Path, environ: Mapping[str, str], limit_s: float, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``longhaul`` as a child with its own folder, variables and streams, and wait for its end.

    Raises:
        subprocess.TimeoutExpired: it has not ended after ``limit_s``; it is killed.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given.write((stdin or "").encode())
        given.seek(0)
        running = RunningCommand(words, cwd=cwd, environ=environ, streams=(given, output, errors))
        try:
            code = running.wait(limit_s)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            raise
        return subprocess.CompletedProcess(list(words), code, _text(output), _text(errors))


class RunningCommand:
    """``longhaul`` as a child of this process, with the methods of ``subprocess.Popen`` that tests use."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        streams: Sequence[IO[bytes] | int | None],
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        """Start it. ``streams``: its input, output and errors; a file, PIPE or DEVNULL of ``subprocess``, or None for
        this process's own. ``prepare`` is called in the child."""
        self.words, self.returncode = list(words), None
        pipes = {number: os.pipe() for number, stream in enumerate(streams) if stream == subprocess.PIPE}
        files = {number: stream.fileno() for number, stream in enumerate(streams) if hasattr(stream, "fileno")}
        nothing = os.open(os.devnull, os.O_RDWR)
        files |= {number: nothing for number, stream in enumerate(streams) if stream == subprocess.DEVNULL}
        files |= {number: written for number, (_, written) in pipes.items()}
        self.pid = os.fork()
        if self.pid == 0:
            for read, _ in pipes.values():
                os.close(read)
            _become(words, cwd, environ, files, prepare)
        for opened in (nothing, *(written for _, written in pipes.values())):
            os.close(opened)
        self.stdout, self.stderr = (open(pipes[number][0], "rb") if number in pipes else None for number in (1, 2))  # noqa: SIM115

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._end(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return the exit code."""
        if self.returncode is None:
            ending = os.pidfd_open(self.pid)
            try:
                if not select.select([ending], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.words, timeout or 0)
            finally:
                os.close(ending)
        code = self._end(0)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def _end(self, how: int) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, how)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode


def _become(
    words: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    files: Mapping[int, int],
    prepare: Callable[[], object],
) -> NoReturn:
    """Run the command in this child, and exit without the cleanup of the tests' process."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup(1)
        prepare()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environ)
        for number, file in files.items():
            os.dup2(file, number)
        encoding = environ.get("PYTHONIOENCODING", "utf-8")
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding=encoding, closefd=False)  # noqa: SIM115 - they live as long as the process
            for number, mode in enumerate(("r", "w", "w"))
        )
        code = main(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - whatever it is, the tests' own run must not go on in this process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return io.TextIOWrapper(file, encoding="utf-8").read()
