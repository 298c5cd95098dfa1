"""``longhaul autoscaler``: add the machines that the cluster needs, and remove those that it does not need."""

from __future__ import annotations

import argparse
import os
from threading import Event
from typing import TYPE_CHECKING

from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook
    from contract.kubernetes.api import Api
    from longhaul.project.checkout import Project

HELP = "size pools: add machines for waiting pods, and end idle machines"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``autoscaler``."""
    parser.add_argument("--once", action="store_true", help="run one pass and end (default: run until stopped)")
    parser.add_argument("--dry-run", action="store_true", help="change nothing; show what would be done")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """Run passes. Return exit code 0 when everything could be read and done; 1 when a cloud did not answer or a step
    failed."""
    options = invocation.options
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)

    from contract.kubernetes.connection import ApiError
    from longhaul.cluster.api_access import api_of

    prices = _prices(where.project)
    try:
        with api_of(where, environment, os.environ) as api:
            if options.once and options.dry_run:
                return _look(environment, api, prices, as_json=options.json)
            return _act(environment, api, prices, options)
    except ApiError as error:
        raise CommandError(str(error), code=Exit.UNREACHABLE if error.passing else Exit.FAILED) from None


def _look(environment: Environment, api: Api, prices: PriceBook, *, as_json: bool) -> int:
    """Look once, and show what a pass would do."""
    from longhaul.report.json_output import document
    from services.autoscaler.decision_text import to_plain, to_text
    from services.autoscaler.evaluation import evaluate_cluster

    evaluation = evaluate_cluster(environment, api, prices)
    if as_json:
        print(document({"environment": environment.name, **to_plain(evaluation.decision, evaluation.unread_groups)}))
    else:
        print(to_text(evaluation.decision, evaluation.unread_groups))
    return Exit.FAILED if evaluation.unread_groups else Exit.OK


def _act(environment: Environment, api: Api, prices: PriceBook, options: argparse.Namespace) -> int:
    """Run one pass, or passes until interrupted."""
    from contract.kubernetes.lease import HeldError
    from longhaul.engine.processes import hostname, namespace
    from services.autoscaler.leader_loop import ProcessSettings, run_once, serve

    acts = not options.dry_run
    instance = f"{hostname()}/{namespace()}/{os.getpid()}"
    terms = ProcessSettings(instance=instance, act=acts, elected=acts, as_json=options.json)
    if not options.once:
        serve(environment, api, prices, stop=Event(), run=terms, write=_print)
        return Exit.OK
    try:
        passed = run_once(environment, api, prices, run=terms, write=_print)
    except HeldError as error:
        message = f"another autoscaler is active ({error}): stop it first, or only look with --dry-run"
        raise CommandError(message) from None
    return Exit.FAILED if passed.evaluation.unread_groups or passed.failed else Exit.OK


def _print(line: str) -> None:
    print(line, flush=True)


def _prices(project: Project) -> PriceBook:
    """Return the prices in the project's file; an empty book when there is no such file."""
    from components.model.prices.book import PriceBook
    from contract.project import PRICE_FILE

    path = project.stacks / PRICE_FILE
    return PriceBook.load(path) if path.exists() else PriceBook()
