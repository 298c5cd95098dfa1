"""Runs a command, and reports its error output."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence


class HostCommandError(Exception):
    """Raised when a command fails. The message has the command's arguments, exit code and error output."""


async def command(argv: Sequence[str], *, stdin: str | None = None, timeout_s: float = 60.0) -> str:
    """Return the standard output of ``argv``; raises :class:`HostCommandError` when it fails or takes too long."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await process.communicate(None if stdin is None else stdin.encode())
    except TimeoutError as error:
        raise HostCommandError(f"{' '.join(argv)}: no end after {timeout_s:g} s") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode != 0:
        raise HostCommandError(
            f"{' '.join(argv)}: exit code {process.returncode}: {err.decode(errors='replace').strip()}"
        )
    return out.decode(errors="replace")
