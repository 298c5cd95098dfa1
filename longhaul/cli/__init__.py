"""The command line: parses a command, runs it, and turns errors into a message and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from longhaul.cli.command_list import OF_EXAMPLES, command
from longhaul.cli.examples import example_project
from longhaul.cli.parsing import parse
from longhaul.engine.failure import report
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, even when nobody can read the messages any more."""
    code = _main(argv)
    try:
        sys.stderr.flush()
    except OSError:
        # Unwritten output would fail again at exit, and replace the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return code


def _main(argv: Sequence[str] | None) -> int:
    given = sys.argv[1:] if argv is None else argv
    try:
        invocation = parse(given)
        _quieten()
        with _located(invocation):
            return int(command(invocation.command).run(invocation))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone. Nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except Exception as error:  # noqa: BLE001 - users never see a traceback
        return report(error)


@contextmanager
def _located(invocation: Invocation) -> Iterator[None]:
    """During the block, let the command work on the example that ``--example`` names, in a temporary project."""
    options = invocation.options
    if options.example is None:
        yield
        return
    if invocation.command not in OF_EXAMPLES:
        raise CommandError(
            f"--example {options.example}: an example has no clouds and no hosts; only {', '.join(OF_EXAMPLES)} take "
            "an example",
            code=Exit.USAGE,
        )
    with example_project(options.example) as project:
        options.env, options.project = options.example, str(project.root)
        yield


def _quieten() -> None:
    """Silence Azure's library, which logs pages about each missing credential; the final error says the same in a
    line."""
    if os.environ.get("LONGHAUL_DEBUG") != "1":
        logging.getLogger("azure").setLevel(logging.CRITICAL)
