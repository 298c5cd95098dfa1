"""``longhaul machine quarantine``: take a compromised machine out of the environment, and keep it for an
investigation."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.confirm import confirm
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from longhaul.machine.quarantine.steps import QuarantineRun
    from longhaul.vault.quarantine import QuarantineVault

HELP = "isolate a machine that an attacker controls (`quarantine`); its disk is kept for an investigation"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``machine``."""
    parser.add_argument(
        "verb", choices=("quarantine",), help="quarantine: isolate a machine and keep it for an investigation"
    )
    parser.add_argument("name", metavar="NAME", help="its Node's name, as `longhaul status` shows it")
    parser.add_argument("--release", action="store_true", help="end its quarantine: delete what was kept")
    parser.add_argument(
        "--without-disk", action="store_true", help="replace the machine even if its cloud does not keep its disk"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for the machine's name")
    parser.add_argument("--json", action="store_true", help="the result for programs")


def run(invocation: Invocation) -> int:
    """Print the steps, ask, and run them; a repeated run continues an interrupted run."""
    options = invocation.options
    where = context(invocation)
    environment = where.project.load(where.env)

    from longhaul.machine.quarantine.target import refuse_others

    refuse_others(environment, options.name)
    enter_lab(where, environment, invocation)

    from clouds.base.errors import CloudError
    from contract.kubernetes.connection import ApiError
    from longhaul.vault.quarantine import record_of
    from longhaul.vault.restore_record import refuse_half_restored

    refuse_half_restored(environment)
    record = record_of(environment)
    try:
        with _steps(where, record, keep_disk=not options.without_disk) as steps:
            return _release(steps, options) if options.release else _quarantine(steps, options)
    except (ApiError, CloudError) as error:
        code = Exit.UNREACHABLE if error.passing else Exit.FAILED
        raise CommandError(f"{error}. Run this again: it continues from here", code=code) from None


def _quarantine(steps: QuarantineRun, options: argparse.Namespace) -> int:
    from longhaul.machine.quarantine.node import pod_exposure
    from longhaul.machine.quarantine.target import begin_quarantine
    from longhaul.machine.quarantine.text import document, step_lines
    from longhaul.report.json_output import document as rendered

    env = steps.record.environment.name
    entry, machine = begin_quarantine(steps.record, options.name, now=steps.now())
    known = pod_exposure(steps.api, entry.name)
    confirm(
        step_lines(entry, machine, known, sites=steps.record.environment.sites),
        what=f"put {entry.name} into quarantine",
        name=entry.name,
        noun="machine",
        yes=options.yes,
    )
    entry = steps.quarantine(entry, machine)
    if options.json:
        print(rendered(document(entry, known)))
    say(f"{entry.name} is in quarantine; `longhaul machine quarantine --env {env} {entry.name} --release` ends it")
    return Exit.OK


def _release(steps: QuarantineRun, options: argparse.Namespace) -> int:
    from longhaul.machine.quarantine.target import recorded_machine
    from longhaul.machine.quarantine.text import document, release_lines
    from longhaul.report.json_output import document as rendered

    entry = steps.record.read().find(options.name)
    if entry is None or entry.released:
        raise CommandError(f"{options.name} is not in quarantine, so nothing was done", code=Exit.USAGE)
    steps.refuse_release(entry)
    machine = recorded_machine(steps.record.environment, entry)
    if machine is None and entry.kept:
        say(f"{', '.join(entry.kept)} in {entry.site} stays: the file no longer has this site, so delete it yourself")
    confirm(
        release_lines(entry, machine), what=f"release {entry.name}", name=entry.name, noun="machine", yes=options.yes
    )
    entry = steps.release(entry, machine)
    if options.json:
        print(rendered(document(entry, None)))
    say(f"{entry.name} is released")
    return Exit.OK


@contextmanager
def _steps(where: Context, record: QuarantineVault, *, keep_disk: bool) -> Iterator[QuarantineRun]:
    """Give the steps with the cluster's API, while this run holds the lock."""
    from longhaul.cluster.api_access import api_of
    from longhaul.cluster.api_server_lock import ending_in
    from longhaul.cluster.locks import Words, sole_run
    from longhaul.machine.quarantine.steps import QuarantineRun

    words = Words(begins="of a quarantine", goes_on="a machine is being put into quarantine")
    with (
        api_of(where, record.environment, os.environ) as api,
        sole_run(api, "longhaul-quarantine", words) as is_sole,
    ):
        yield QuarantineRun(
            record=record,
            api=api,
            tell=say,
            now=lambda: datetime.now(UTC),
            has_lease=is_sole,
            turn=lambda: ending_in(where, record.environment, say),
            pause=time.sleep,
            keep_disk=keep_disk,
        )
