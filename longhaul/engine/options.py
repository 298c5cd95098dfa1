"""Options for the engine, as the user gives them to ``up``, ``destroy`` and ``plan``."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from longhaul.engine.run_log import new_log
from longhaul.project.context import Context
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit

OF_ONE_STACK = ("--target", "--replace", "--target-replace", "--exclude", "--import-file", "--plan")
"""The engine's options that name resources of one stack."""

EVENT_LOG = "--event-log"
"""The engine's option for a file with its events."""

SHOWING = ("--diff", "--show-", "--debug", "-d", "--verbose", "-v", "--logtostderr")
"""Prefixes of the engine's options that make it show more."""


def names_of_one_stack(rest: Sequence[str]) -> list[str]:
    """Return the options in ``rest`` that name resources of one stack."""
    return [word for word in rest if word.split("=")[0] in OF_ONE_STACK or word.split("=")[0] == "-t"]


def create_log(where: Context, invocation: Invocation) -> Path | None:
    """Create the command's log and return its path. Return None when all output is shown instead: because the user
    wants that, or because the engine is asked to show more than by default. That output may contain a secret, which
    must not get into a log."""
    if invocation.options.verbose or any(word.startswith(SHOWING) for word in invocation.rest):
        return None
    return new_log(where, invocation.command, os.environ)


def refuse_event_log(rest: Sequence[str]) -> None:
    """Refuse the engine's option for an event log: the engine writes only one log, and this program reads progress from
    that log."""
    if any(word.split("=")[0] == EVENT_LOG for word in rest):
        raise CommandError(
            f"{EVENT_LOG} cannot be given: the engine has a single log of events, which is already used to show "
            "progress; --json writes the events on stdout",
            code=Exit.USAGE,
        )


def typed_command(invocation: Invocation) -> str:
    """Return the command as it was typed, for running it again."""
    return shlex.join(["longhaul", *invocation.argv])


def wants_json(options: argparse.Namespace, rest: Sequence[str]) -> bool:
    """Return whether the user wants the engine's JSON, by this program's option or by the engine's own."""
    return options.json or not {"--json", "-j"}.isdisjoint(rest)
