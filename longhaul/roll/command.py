"""``longhaul roll``: bring a pool's machines to their current version without ending running work."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.roll.limits import AT_ONCE, BUDGET, WITHIN
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.option_types import duration, some
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from clouds.base.live_groups import Rolled
    from components.model import Environment
    from contract.kubernetes.api import Api
    from longhaul.roll.events import RollReport
    from longhaul.roll.loop import Roll, RollSettings

HELP = "update a pool's machines to its new image, or hosts to new versions; each machine once its work has ended"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``roll``."""
    parser.add_argument("--pool", metavar="P", required=True, help="the pool; `hosts` are all bare-metal hosts")
    parser.add_argument(
        "--at-once",
        "--share",
        metavar="N|N%",
        type=some,
        default=AT_ONCE,
        help=f"machines that may be out of service at a time ({AT_ONCE})",
    )
    parser.add_argument(
        "--deadline",
        metavar="TIME",
        type=duration,
        help="end work that still runs this long after its node was cordoned: 6h, 30m, 0s (default: never)",
    )
    parser.add_argument(
        "--within",
        metavar="TIME",
        type=duration,
        default=WITHIN,
        help=f"time after which a machine has failed, if it is not empty or its successor is not in service ({WITHIN})",
    )
    parser.add_argument("--budget", metavar="N", type=_count, default=BUDGET, help=f"machines that may fail ({BUDGET})")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="show each machine's state, and the first steps")
    what.add_argument("--give-up", action="store_true", help="uncordon waiting nodes, and change nothing else")
    parser.add_argument("--json", action="store_true", help="for programs: an object for each event, one at the end")


def run(invocation: Invocation) -> int:
    """Roll, and report the pool's state. Return exit code 0 only when every machine is new and in service."""
    options = invocation.options
    where = context(invocation)
    environment = where.project.load(where.env)

    from clouds.base.errors import CloudError
    from contract.kubernetes.connection import ApiError
    from longhaul.cluster.api_access import api_of
    from longhaul.roll.events import as_json, as_lines
    from longhaul.roll.loop import Roll

    group = _group(where, environment, options.pool)
    enter_lab(where, environment, invocation)
    settings = _settings(environment, options)
    try:
        with api_of(where, environment, os.environ) as api:
            roll = Roll(cloud=group(api), api=api, settings=settings, tell=as_json if options.json else as_lines)
            return _do(where.env, roll, options)
    except (ApiError, CloudError) as error:
        raise CommandError(str(error), code=Exit.UNREACHABLE if error.passing else Exit.FAILED) from None


def _group(where: Context, environment: Environment, pool: str) -> Callable[[Api], Rolled]:
    """Return a function that gives the pool's group, given the cluster's API. Raise ``CommandError`` when there is no
    such pool."""
    from components.model.nodes.host_nodes import HOSTS
    from longhaul.roll.hosts import host_group
    from longhaul.roll.pools import pool_machines

    if pool == HOSTS:
        return host_group(where, environment, os.environ)
    cloud = pool_machines(environment, pool)
    return lambda _api: cloud


def _count(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of machines")
    return int(text)


def _settings(environment: Environment, options: argparse.Namespace) -> RollSettings:
    from components.model.nodes.labels import on_nodes
    from components.model.nodes.taints import pool_taints
    from contract.labels import POOL_LABEL
    from longhaul.roll.loop import RollSettings

    return RollSettings(
        at_once=options.at_once.of,
        deadline=options.deadline,
        within_s=options.within.total_seconds(),
        budget=options.budget,
        pool_label=f"{POOL_LABEL}={on_nodes(options.pool)}",
        taints=frozenset((taint.key, taint.effect) for taint in pool_taints(environment, options.pool)),
    )


def _do(env: str, roll: Roll, options: argparse.Namespace) -> int:
    from longhaul.cluster.locks import pool_lock
    from longhaul.roll.loop import StoppedError

    if options.dry_run:
        return _dry_run(env, roll, options)
    stopped, interrupted = "", False
    try:
        with pool_lock(roll.api, options.pool) as is_held:
            roll.has_lease = is_held
            if options.give_up:
                roll.give_back(roll.look().machines, "the roll was given up")
                roll.look()
            else:
                roll.run()
    except StoppedError as error:
        stopped = str(error)
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        say("interrupted: cordoned nodes stay cordoned; run it again to continue, or with --give-up to release them")
        if roll.view is not None:
            roll.look_back()
    return _end(env, roll, options, stopped=stopped, interrupted=interrupted)


def _dry_run(env: str, roll: Roll, options: argparse.Namespace) -> int:
    roll.look()
    for step in roll.plan.steps:
        say(f"first of all: {step.action} {step.target.name}: {step.reason}")
    _show(_report(env, roll, options), options)
    return Exit.OK


def _end(env: str, roll: Roll, options: argparse.Namespace, *, stopped: str, interrupted: bool) -> int:
    if roll.view is None:
        return Exit.INTERRUPTED
    report = _report(env, roll, options, stopped=stopped, interrupted=interrupted)
    _show(report, options)
    return Exit.OK if options.give_up and not interrupted else report.exit_code()


def _report(
    env: str, roll: Roll, options: argparse.Namespace, *, stopped: str = "", interrupted: bool = False
) -> RollReport:
    from longhaul.roll.events import RollReport
    from longhaul.roll.loop import reasons

    view = roll.view
    if view is None:
        raise ValueError("the pool was not read yet")
    names = {observed.machine.id: observed.name for observed in view.machines}
    return RollReport(
        environment=env,
        pool=options.pool,
        target=view.group.target,
        states={names[id_]: state for id_, state in roll.plan.states.items()},
        reasons=reasons(view, roll.plan.states, roll.settings.limits(view)),
        failed={names.get(id_, id_): reason for id_, reason in roll.failed.items()},
        replaced=len(roll.replaced),
        stopped=stopped,
        interrupted=interrupted,
    )


def _show(report: RollReport, options: argparse.Namespace) -> None:
    from longhaul.roll.events import report_json, report_text

    if options.json:
        report_json(report)
    else:
        print(report_text(report))
