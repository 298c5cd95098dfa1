"""``longhaul plan``: show a reviewer what ``up`` would do, by site and machine, with a verdict and its reasons."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.arguments import add_max_removed
from longhaul.commands.prices import FILE
from longhaul.context import Context, context, enter_lab
from longhaul.engine.engine import Engine
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.judged import previewed

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.plan.cost import Prices
    from longhaul.plan.document import Document
    from longhaul.plan.plan import Plan

HELP = "show what `up` would do, by site and machine, and judge it: safe, needs care, or refused (exit code 4)"
TAKES_REST = True

FORMATS = ("text", "markdown", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``plan``."""
    parser.add_argument("--format", choices=FORMATS, default="text", help="how it is written (default: text)")
    parser.add_argument(
        "--also",
        metavar="FORMAT=FILE",
        action="append",
        default=[],
        type=_also,
        help="write the same plan into FILE as well, in another format; may be repeated",
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        action="append",
        type=Path,
        help="judge a preview that was written by `pulumi preview --json`, instead of running one; may be repeated",
    )
    parser.add_argument(
        "--base",
        metavar="FILE",
        type=Path,
        help="the environment's file of before, under any name, the hosts file that it names beside it: for capacity, "
        "racks and addresses, and where there is no state all that is compared with",
    )
    add_max_removed(parser)
    parser.add_argument(
        "--no-objects", action="store_true", help="leave out what runs on the cluster, the second stack E-objects"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 where the plan needs care")


def run(invocation: Invocation) -> int:
    """Preview, judge, and show the plan."""
    from clouds.base.findings import Severity

    where = context(invocation)
    environment = where.project.load(where.env)
    base = _base(invocation.options.base, environment)
    if not invocation.options.source and where.lab is not None and where.lab.is_up():
        enter_lab(where, environment, invocation)
    made = _plan(where, environment, base, invocation)
    for form, path in invocation.options.also:
        path.write_text(_written(made, form), encoding="utf-8")
    sys.stdout.write(_written(made, invocation.options.format))
    if made.verdict is Severity.PROBLEM:
        return Exit.REFUSED
    return Exit.FAILED if made.verdict is Severity.WARNING and invocation.options.strict else Exit.OK


def _plan(where: Context, environment: Environment, base: Environment | None, invocation: Invocation) -> Plan:
    from longhaul.plan.changes import read_changes
    from longhaul.plan.files import ALONE
    from longhaul.plan.plan import Terms, make_plan
    from longhaul.plan.policies import policies

    if invocation.options.source:
        previewed = _read(invocation.options.source)
    else:
        previewed = _preview(where, environment, invocation.rest, objects=not invocation.options.no_objects)
    prices, prices_source = _prices(where)
    terms = Terms(
        against=f"compared with {ALONE}" if previewed.new and base is not None else previewed.against,
        base=base,
        max_removed=invocation.options.max_removed,
        prices=prices,
        prices_source=prices_source,
        policy=policies(previewed.documents, environment),
        unseen=previewed.unseen,
    )
    return make_plan(environment, read_changes(previewed.documents), terms)


def _prices(where: Context) -> tuple[Prices | None, str]:
    """Return the function that applies the project's own price book, and the source of its prices."""
    from longhaul.prices.known import KnownPrices

    known = KnownPrices.of_file(where.project.stacks / FILE)
    return (known.cost, known.source) if known else (None, "")


def _written(made: Plan, form: str) -> str:
    if form == "json":
        from longhaul.plan.text import to_json

        return to_json(made)
    if form == "markdown":
        from longhaul.plan.markdown import to_markdown

        return to_markdown(made)
    from longhaul.plan.text import to_text

    return to_text(made)


def _base(path: Path | None, environment: Environment) -> Environment | None:
    """Load the earlier version of the environment; ``CommandError`` when it is of another environment."""
    if path is None:
        return None
    from components.model.load import load_copy

    base = load_copy(path)
    if base.name != environment.name:
        raise CommandError(f"--base {path}: it is of {base.name}, not of {environment.name}", code=Exit.USAGE)
    return base


@dataclass(frozen=True, kw_only=True)
class _Previewed:
    documents: tuple[Document, ...]
    """Documents of the environment's stack and, when it was previewed, of the stack of cluster objects."""
    against: str
    new: bool = False
    """True when there was no stack to compare with."""
    unseen: tuple[str, ...] = ()
    """Parts that were not looked at, each with the reason."""


def _read(sources: Sequence[Path]) -> _Previewed:
    """Read previews that were made elsewhere."""
    from longhaul.plan.document import read_document

    documents = tuple(read_document(path.read_text(encoding="utf-8"), source=str(path)) for path in sources)
    return _Previewed(documents=documents, against=f"as previewed in {', '.join(path.name for path in sources)}")


def _preview(where: Context, environment: Environment, rest: Sequence[str], *, objects: bool) -> _Previewed:
    """Run the engine's previews as ``longhaul preview`` does."""
    from longhaul.commands.preview import not_looked_up, preview_engine
    from longhaul.engine import processes
    from longhaul.engine.runs import VARIABLE, new_run
    from longhaul.plan.masking import masked_text

    run = new_run("plan")
    with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as folder, ExitStack() as stack:
        engine = preview_engine(where, environment, Path(folder))
        engine = replace(engine, environ={**engine.environ, VARIABLE: run.id})
        stack.callback(lambda: processes.end(run.leftovers()))
        second = _second(where, environment, engine, stack, rest) if objects else _LEFT_OUT
        documents = [previewed(engine, rest)]
        if isinstance(second, Engine):
            documents.append(previewed(second, rest))
    thrown_away = engine.backend.url.startswith(f"file://{folder}/")
    against = "nothing: a new environment" if thrown_away else f"the stack in {masked_text(engine.backend.url)}"
    objects_unseen = [f"What runs on the cluster was not looked at: {second}."] if isinstance(second, str) else []
    unseen = (*objects_unseen, *not_looked_up(environment))
    return _Previewed(documents=tuple(documents), against=f"compared with {against}", new=thrown_away, unseen=unseen)


def _second(
    where: Context, environment: Environment, engine: Engine, stack: ExitStack, rest: Sequence[str]
) -> Engine | str:
    """Return the engine of the stack of cluster objects, or the reason why that stack is not looked at."""
    from longhaul.commands.preview import Unseen, objects_engine
    from longhaul.commands.up import names_of_one_stack
    from longhaul.plan.masking import masked_text

    named = names_of_one_stack(rest)
    if named:
        return f"{named[0]} names resources of one stack, the environment's own"
    found = objects_engine(where, environment, engine, stack)
    return masked_text(found.reason.removesuffix(".")) if isinstance(found, Unseen) else found


_LEFT_OUT = "left out by --no-objects"
"""Reason for not looking at the objects, when the user asked for that."""


def _also(text: str) -> tuple[str, Path]:
    """Split ``FORMAT=FILE`` into a format and a path."""
    form, _, file = text.partition("=")
    if form not in FORMATS or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not FORMAT=FILE, with a format of {', '.join(FORMATS)}")
    return form, Path(file)
