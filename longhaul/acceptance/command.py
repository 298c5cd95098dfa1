"""``longhaul acceptance``: make a small environment, check it from end to end, take it down, and write a report."""

from __future__ import annotations

import argparse
import os
import signal
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.project.context import Context, context, enter_lab, state_folder
from longhaul.project.invocation import Invocation
from longhaul.terminal.confirm import require_consent
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.option_types import duration
from longhaul.terminal.say import ask, say

if TYPE_CHECKING:
    from datetime import timedelta
    from types import FrameType

    from components.model import Environment
    from contract.kubernetes.api import Api
    from longhaul.acceptance.budget import AcceptanceBudget
    from longhaul.acceptance.outcome import AcceptanceReport
    from longhaul.acceptance.runner import Checking, Runner
    from longhaul.acceptance.time_limit import Deadline

HELP = "make a small environment, check it from end to end, and take it down; or check one as it is"
REST = ""

MOST_TIME = "3h"
"""Default limit of a whole run: Azure needs half an hour or more to make a VPN gateway (docs/getting-started.md, 7),
and a third of the time is kept for taking down."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``acceptance``."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for the environment's name")
    parser.add_argument(
        "--reuse", action="store_true", help="only run the checks, on an existing environment, and leave it in place"
    )
    parser.add_argument("--disrupt", action="store_true", help="also restart an etcd machine and an API server")
    parser.add_argument("--prices", metavar="FILE", type=Path, help="the price file of `longhaul prices`")
    parser.add_argument(
        "--most-cost", metavar="AMOUNT", type=_amount, help="limit of the whole run's cost, in the prices' currency"
    )
    parser.add_argument(
        "--without-prices", action="store_true", help="run without prices and without a limit of the cost"
    )
    parser.add_argument(
        "--most-time",
        metavar="TIME",
        type=_most_time,
        default=MOST_TIME,
        help=f"limit of the whole run, 90m or 3h; the last third is kept for taking down (default: {MOST_TIME})",
    )
    parser.add_argument(
        "--within",
        metavar="TIME",
        type=duration,
        default="20m",
        help="limit of each condition that a check awaits (default: 20m)",
    )
    parser.add_argument(
        "--image", metavar="NAME", help="container image of Kubernetes' agnhost, for pods of the checks"
    )
    parser.add_argument("--report", metavar="FILE", type=Path, help="also write the report to this file, as Markdown")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """Refuse a run that the limits do not allow; otherwise run. Return exit code 4 when refused, 1 when anything
    failed, 0 when accepted."""
    options = invocation.options
    where = context(invocation)
    environment = where.project.load(where.env)
    budget = _terms(environment, options)
    if options.report is not None and not options.report.absolute().parent.is_dir():
        raise CommandError(f"--report {options.report}: there is no such folder", code=Exit.USAGE)
    lines = _terms_text(environment, budget, reuse=options.reuse)
    require_consent(yes=options.yes)
    enter_lab(where, environment, invocation)
    if not options.yes:
        _confirm(where.env, reuse=options.reuse)

    from longhaul.acceptance.check_list import checks

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    runner = _course(where, environment, budget, lines)
    checking = partial(_checking, where, environment, runner, options, checks)
    say(f"{where.env}: {lines}")
    report = runner.reuse(checking) if options.reuse else runner.make_and_destroy(checking)
    _show(report, options)
    return report.exit_code()


def _terms(environment: Environment, options: argparse.Namespace) -> AcceptanceBudget:
    """Return the declared limits. Raise ``CommandError`` when they are incomplete."""
    from longhaul.acceptance.budget import AcceptanceBudget
    from longhaul.costs.known import KnownPrices

    minutes = options.most_time.total_seconds() / 60
    if options.reuse or options.without_prices:
        if options.prices or options.most_cost is not None:
            alone = "--reuse" if options.reuse else "--without-prices"
            raise CommandError(f"{alone} looks at no prices: leave --prices and --most-cost out", code=Exit.USAGE)
        return AcceptanceBudget(most_minutes=minutes)
    if options.prices is not None and not options.prices.is_file():
        raise CommandError(
            f"--prices {options.prices}: there is no such file; `longhaul prices --env {environment.name} --to "
            f"{options.prices}` writes it",
            code=Exit.USAGE,
        )
    if options.prices is None or options.most_cost is None:
        raise CommandError(
            "a run costs money: say how much it may (--prices FILE --most-cost AMOUNT), or --without-prices. "
            f"`longhaul prices --env {environment.name}` writes such a file",
            code=Exit.USAGE,
        )
    prices = KnownPrices.of_file(options.prices)
    if prices is None:
        raise CommandError(f"--prices {options.prices}: there is no price in it", code=Exit.USAGE)
    return AcceptanceBudget(most_minutes=minutes, most_cost=options.most_cost, prices=prices)


def _terms_text(environment: Environment, budget: AcceptanceBudget, *, reuse: bool) -> str:
    """Return the terms as text. Raise ``CommandError`` with every reason why the run may not begin."""
    from longhaul.acceptance.budget import expected, refusals

    if reuse:
        return f"checked as it is, within {budget.most_minutes:g} minutes"
    expected_use = expected(environment, budget)
    reasons = list(refusals(environment, budget, expected_use))
    if reasons:
        raise CommandError(f"{environment.name} is not made: {'; '.join(reasons)}", code=Exit.REFUSED)
    allowed = "" if budget.most_cost is None else f" and {budget.most_cost}"
    return f"{expected_use}; allowed are {budget.most_minutes:g} minutes{allowed}"


def _confirm(env: str, *, reuse: bool) -> None:
    what = "changes the size of a pool" if reuse else "makes everything of it, and takes it down again"
    typed = ask(f"This {what}. Type the environment's name, {env}: ")
    if typed != env:
        raise CommandError(f"that is not {env!r}; nothing was done")


def _course(where: Context, environment: Environment, budget: AcceptanceBudget, lines: str) -> Runner:
    from longhaul.acceptance.clouds import remaining_resources
    from longhaul.acceptance.runner import Runner
    from longhaul.acceptance.stacks import Stacks
    from longhaul.acceptance.steps import AcceptanceCommands

    folder = state_folder(where, os.environ)
    log = folder / f"{where.env}.acceptance.log"
    stacks = Stacks(where, os.environ)
    return Runner(
        env=where.env,
        most_s=budget.most_minutes * 60,
        budget=lines,
        commands=AcceptanceCommands(where=where, log=log, environ=os.environ),
        log=str(log),
        count_resources=stacks.count_resources,
        left=lambda: remaining_resources(environment),
        tell=_tell,
    )


def _checking(
    where: Context, environment: Environment, runner: Runner, options: argparse.Namespace, checks: Any, limit: Deadline
) -> Checking:
    from components.model.versions.section import pinned
    from longhaul.acceptance.pods import IMAGE
    from longhaul.acceptance.stacks import Stacks
    from longhaul.acceptance.target import AcceptanceTarget

    target = AcceptanceTarget(
        environment=environment,
        commands=runner.commands,
        api=_apis(environment),
        exported=Stacks(where, os.environ).exported,
        limit=limit,
        within_s=options.within.total_seconds(),
        image=options.image or f"{IMAGE}:{pinned('agnhost')}",
    )
    made: Checking = checks(target, disrupt=options.disrupt)
    return made


def _apis(environment: Environment) -> Any:
    """Return a function that gives the cluster's API for any user name. The administrator's certificate is fetched
    once."""
    from components.model import plan
    from components.model.network.api_address import api_url
    from contract.kubernetes.api import Api
    from longhaul.cluster.identity import fetch_identity, identity_renewer

    @cache
    def identity() -> dict[str, str]:
        return fetch_identity(environment)

    @cache
    def api(user: str) -> Api:
        return Api(
            api_url(environment, plan(environment)), identity(), acting_as=user, renew=identity_renewer(environment)
        )

    return api


def _show(report: AcceptanceReport, options: argparse.Namespace) -> None:
    from longhaul.acceptance.text import to_json, to_markdown, to_text
    from longhaul.report.json_output import document

    if options.report is not None:
        options.report.write_text(to_markdown(report), encoding="utf-8")
    print(document(to_json(report)) if options.json else to_text(report))


def _tell(line: str) -> None:
    """Show a line. A closed terminal must not stop the taking down."""
    with suppress(OSError):
        say(line)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount, such as 40 or 12.50")
    return amount


def _most_time(text: str) -> timedelta:
    most = duration(text)
    if not 60 <= most.total_seconds() <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time from 1m to 24h")
    return most
