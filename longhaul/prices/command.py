"""``longhaul prices``: read the clouds' public prices of everything that an environment uses into a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from contract.project import PRICE_FILE
from longhaul.project.context import context
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from datetime import datetime

    from components.model import Environment

HELP = "read the clouds' public prices, and compute an environment's cost"
REST = ""

OLD_DAYS = 90
"""Age in days beyond which a price counts as old. Our own choice: EC2 keeps spot prices for the same time
(docs.aws.amazon.com, DescribeSpotPriceHistory, ``StartTime``), and list prices change less often."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``prices``."""
    parser.add_argument("--to", metavar="FILE", type=Path, help=f"the price file (default: stacks/{PRICE_FILE})")
    parser.add_argument("--check", action="store_true", help="read no prices; report missing and old ones")
    parser.add_argument(
        "--days",
        metavar="N",
        type=_days,
        default=OLD_DAYS,
        help=f"with --check: age from which prices are old (default: {OLD_DAYS})",
    )
    parser.add_argument("--again", action="store_true", help="also read prices again that were read today")
    parser.add_argument("--azure-url", metavar="URL", help="another address of Azure's Retail Prices API (a mirror)")
    parser.add_argument("--aws-url", metavar="URL", help="another address of AWS's price list files (a mirror)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """Read prices and sum them up, or check the file."""
    from datetime import UTC, datetime

    from longhaul.report.text import seen_from

    where = context(invocation)
    environment = where.project.load(where.env)
    path = seen_from(Path.cwd(), invocation.options.to or where.project.stacks / PRICE_FILE)
    now = datetime.now(UTC)
    return (
        _check(environment, path, invocation, now)
        if invocation.options.check
        else _read(environment, path, invocation, now)
    )


def _check(environment: Environment, path: Path, invocation: Invocation, now: datetime) -> Exit:
    from components.model.prices.book import PriceBook
    from longhaul.prices.age import check
    from longhaul.prices.text import check_json, check_text
    from longhaul.report.json_output import line

    days = invocation.options.days
    if not path.exists():
        to = f" --to {path}" if invocation.options.to else ""
        say(f"{path} does not exist; `longhaul prices --env {environment.name}{to}` writes it")
    report = check(environment, PriceBook.load(path) if path.exists() else PriceBook(), today=now.date(), days=days)
    if invocation.options.json:
        print(line(check_json(report, path=path, days=days)))
    else:
        print(check_text(report, path=path, days=days))
    return Exit.OK if report.healthy else Exit.FAILED


def _read(environment: Environment, path: Path, invocation: Invocation, now: datetime) -> Exit:
    """Read the prices. Return exit code 0 when every interface answered, even if some prices are missing."""
    from clouds.registry import clouds
    from longhaul.costs.cost import price_of
    from longhaul.costs.text import cost_text
    from longhaul.prices.gather import PriceSources, gather
    from longhaul.prices.text import gathered_json, gathered_text
    from longhaul.report.json_output import line

    if not path.parent.is_dir():
        raise CommandError(f"--to {path}: there is no folder {path.parent}", code=Exit.USAGE)
    options = invocation.options
    urls = {kind: (getattr(options, f"{kind}_url", None) or "").rstrip("/") for kind in clouds()}
    sources = PriceSources(now=now, urls=urls)
    result = gather(environment, to=path, sources=sources, again=options.again, say=say)
    cost = price_of(environment, result.book)
    if options.json:
        print(line(gathered_json(result, to=path, cost=cost)))
    else:
        print(f"{gathered_text(result, to=path)}\n\n{cost_text(cost)}")
    return Exit.FAILED if result.failed else Exit.OK


def _days(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return int(text)
