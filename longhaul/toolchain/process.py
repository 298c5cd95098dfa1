"""Runs a command with its output in a log."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from longhaul.toolchain.errors import SetupError, ToolCommandError

_TAIL_LINES = 15
_TAIL_BYTES = 16_384


def run_logged(
    argv: Sequence[str],
    *,
    log: Path,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    end: signal.Signals = signal.SIGTERM,
) -> None:
    """Run ``argv``, with its output appended to ``log``; ``env`` is added to this process's environment.

    The command gets the signal ``end`` when this process is interrupted, and also when it is killed. Raise
    :class:`ToolCommandError` with the end of the output when the command fails.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        start = out.tell()
        out.write(f"$ {shlex.join(argv)}\n".encode())
        out.flush()
        together = ("setpriv", "--pdeathsig", end.name.removeprefix("SIG"), "--")
        code = _wait([*together, *argv], out=out.fileno(), cwd=cwd, env=env, end=end)
    if code != 0:
        output = tail(log, start=start)
        raise ToolCommandError(
            f"{what}: `{argv[0]}` failed (exit status {code}). It ended with:\n{_indent(output)}\nWhole output: {log}",
            output=output,
        )


def _wait(
    argv: Sequence[str], *, out: int, cwd: Path | None, env: Mapping[str, str] | None, end: signal.Signals
) -> int:
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd, env={**os.environ, **(env or {})}
    ) as process:
        try:
            return process.wait()
        except BaseException:
            process.send_signal(end)
            raise


def output_of(argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Return the output of ``argv``, both streams together. Raise :class:`ToolCommandError` when it fails or does not
    exist."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOEXEC, errno.EACCES):
            raise ToolCommandError(f"`{argv[0]}` cannot be run: {error.strerror}", output="") from error
        raise SetupError(f"`{shlex.join(argv)}`: {error}") from error
    if done.returncode != 0:
        raise ToolCommandError(
            f"`{shlex.join(argv)}` failed (exit status {done.returncode}):\n{_indent(done.stdout[-_TAIL_BYTES:])}",
            output=done.stdout,
        )
    return done.stdout


def tail(log: Path, *, start: int = 0) -> str:
    """Return the last lines of a log, from byte ``start`` at the earliest."""
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(start, end - _TAIL_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines())
