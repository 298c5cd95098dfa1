"""Runs the command line in a copy of this process: an interpreter of its own would cost each test half a second."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from longhaul.cli import main


def run_command(
    words: Sequence[str], *, cwd: Path, environ: Mapping[str, str], limit_s: float, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``longhaul`` as a child with its own folder, variables and streams, and wait for its end.

    Raises:
        subprocess.TimeoutExpired: it has not ended after ``limit_s``; it is killed.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        given.write((stdin or "").encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            _become(words, cwd, environ, (given, said, complained))
        code = os.waitstatus_to_exitcode(_await(child, words, limit_s))
        return subprocess.CompletedProcess(list(words), code, _text(said), _text(complained))


def _become(words: Sequence[str], cwd: Path, environ: Mapping[str, str], streams: Sequence[IO[bytes]]) -> NoReturn:
    """Run the command in this child, and exit without the cleanup of the tests' process."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environ)
        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
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


def _await(child: int, words: Sequence[str], limit_s: float) -> int:
    ending = os.pidfd_open(child)
    try:
        if not select.select([ending], [], [], limit_s)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise subprocess.TimeoutExpired(list(words), limit_s)
    finally:
        os.close(ending)
    return os.waitpid(child, 0)[1]


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return io.TextIOWrapper(file, encoding="utf-8").read()
