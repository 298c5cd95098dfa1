"""``longhaul plan``: show a reviewer what ``up`` would do, by site and machine, with a verdict and its reasons."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contract.project import PRICE_FILE
from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.option_types import MAX_REMOVED, add_max_removed, add_offline

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.judgement.cost import Prices
    from longhaul.judgement.plan import Plan
    from longhaul.judgement.preview_document import PreviewDocument

HELP = "show what `up` would do, by site and machine, with a verdict; needs no account, and changes nothing"
REST = "ENGINE_OPTION"

FORMATS = ("text", "markdown", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``plan``."""
    parser.add_argument("--format", choices=FORMATS, default="text", help="output format (default: text)")
    parser.add_argument(
        "--also",
        metavar="FORMAT=FILE",
        action="append",
        default=[],
        type=_also,
        help="also write the plan to FILE, in another format; may be repeated",
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        action="append",
        type=Path,
        help="judge this output of `pulumi preview --json` instead of running a preview; may be repeated",
    )
    parser.add_argument(
        "--base",
        metavar="FILE",
        type=Path,
        help="the environment's earlier file, under any name, with its hosts file beside it: for capacity, racks and "
        "addresses; without a state, the plan compares only with this file",
    )
    add_max_removed(parser)
    add_offline(parser)
    parser.add_argument(
        "--no-objects",
        action="store_true",
        help="leave out the second stack, E-objects, which has the objects on the cluster",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 when the plan needs care")
    parser.add_argument(
        "--raw",
        action="store_true",
        help="show the engine's own preview without a verdict; with --format json, its counts on one line",
    )


def run(invocation: Invocation) -> int:
    """Preview, judge, and show the plan."""
    from clouds.base.findings import Severity

    options = invocation.options
    if options.raw:
        _require_raw(options)
    where = context(invocation)
    environment = where.project.load(where.env)
    base = _base(options.base, environment)
    if not options.source and where.lab is not None and where.lab.is_up():
        enter_lab(where, environment, invocation)
    if options.raw:
        return _raw(where, environment, invocation)
    made = _plan(where, environment, base, invocation)
    for form, path in options.also:
        path.write_text(_written(made, form), encoding="utf-8")
    sys.stdout.write(_written(made, options.format))
    if made.verdict is Severity.PROBLEM:
        return Exit.REFUSED
    return Exit.FAILED if made.verdict is Severity.WARNING and options.strict else Exit.OK


def _require_raw(options: argparse.Namespace) -> None:
    """Refuse options that only a judged plan has."""
    given = {
        "--format markdown": options.format == "markdown",
        "--also": options.also,
        "--from": options.source,
        "--base": options.base,
        "--max-removed": options.max_removed != MAX_REMOVED,
        "--strict": options.strict,
    }
    wrong = [option for option, value in given.items() if value]
    if wrong:
        raise CommandError(f"--raw judges nothing: leave out {', '.join(wrong)}", code=Exit.USAGE)


def _raw(where: Context, environment: Environment, invocation: Invocation) -> Exit:
    from longhaul.plan.raw import show_raw

    as_json = invocation.options.format == "json"
    reason = _no_objects(invocation)
    offline = invocation.options.offline
    return show_raw(where, environment, invocation.rest, no_objects=reason, as_json=as_json, offline=offline)


def _plan(where: Context, environment: Environment, base: Environment | None, invocation: Invocation) -> Plan:
    from longhaul.judgement.api_usage import api_usage_reader
    from longhaul.judgement.changes import read_changes
    from longhaul.judgement.deprecated_apis import no_cluster
    from longhaul.judgement.plan import PlanTerms, make_plan
    from longhaul.judgement.policies import policy_findings
    from longhaul.judgement.without_state import ALONE
    from longhaul.project.baked_images import image_versions

    if invocation.options.source:
        previewed = _read(invocation.options.source, environment)
    else:
        previewed = _preview(where, environment, invocation, has_base=base is not None)
    prices, prices_source = _prices(where)
    terms = PlanTerms(
        against=f"compared with {ALONE}" if previewed.new and base is not None else previewed.against,
        new=previewed.new,
        base=base,
        images=image_versions(where, environment, os.environ),
        apis=no_cluster if invocation.options.source else api_usage_reader(where, environment, os.environ),
        max_removed=invocation.options.max_removed,
        prices=prices,
        prices_source=prices_source,
        policy=policy_findings(previewed.documents, environment),
        unseen=previewed.unseen,
    )
    return make_plan(environment, read_changes(previewed.documents), terms)


def _prices(where: Context) -> tuple[Prices | None, str]:
    """Return the function that applies the project's own price book, and the source of its prices."""
    from longhaul.costs.known import KnownPrices

    known = KnownPrices.of_file(where.project.stacks / PRICE_FILE)
    return (known.cost, known.source) if known else (None, "")


def _written(made: Plan, form: str) -> str:
    if form == "json":
        from longhaul.judgement.text import to_json

        return to_json(made)
    if form == "markdown":
        from longhaul.plan.markdown import to_markdown

        return to_markdown(made)
    from longhaul.judgement.text import to_text

    return to_text(made)


def _base(path: Path | None, environment: Environment) -> Environment | None:
    """Load the earlier version of the environment. Raise ``CommandError`` when the file is of another environment."""
    if path is None:
        return None
    from components.model.loading.load import load_copy

    base = load_copy(path)
    if base.name != environment.name:
        raise CommandError(f"--base {path}: it belongs to {base.name}, not to {environment.name}", code=Exit.USAGE)
    return base


@dataclass(frozen=True, kw_only=True)
class _Previewed:
    documents: tuple[PreviewDocument, ...]
    """Previews of the environment's stack and, if available, of the stack of cluster objects."""
    against: str
    new: bool = False
    """True when there was no stack to compare with."""
    unseen: tuple[str, ...] = ()
    """Parts that were not previewed, each with the reason."""


def _read(sources: Sequence[Path], environment: Environment) -> _Previewed:
    """Read previews that were made elsewhere."""
    from longhaul.judgement.preview_document import read_files

    documents = read_files(sources, env=environment.name)
    return _Previewed(documents=documents, against=f"as previewed in {', '.join(path.name for path in sources)}")


def _preview(where: Context, environment: Environment, invocation: Invocation, *, has_base: bool) -> _Previewed:
    """Run the engine's preview of both stacks."""
    from longhaul.judgement.gate import preview
    from longhaul.judgement.masking import mask_text
    from longhaul.plan.previews import Unseen, lookup_notes, preview_engines

    offline = invocation.options.offline
    reason = _no_objects(invocation)
    with preview_engines(where, environment, no_objects=reason, has_base=has_base, offline=offline) as engines:
        first, objects = engines.infrastructure, engines.objects
        stacks = [first] if isinstance(objects, Unseen) else [first, objects]
        documents = tuple(preview(engine, invocation.rest) for engine in stacks)
    against = "nothing: a new environment" if engines.new else f"the stack in {mask_text(first.backend.url)}"
    unseen = lookup_notes(environment, engines.stand_ins)
    if isinstance(objects, Unseen):
        reason = mask_text(objects.reason.removesuffix("."))
        unseen = (f"The objects on the cluster were not compared: {reason}.", *unseen)
    return _Previewed(documents=documents, against=f"compared with {against}", new=engines.new, unseen=unseen)


def _no_objects(invocation: Invocation) -> str:
    """Return why the stack of cluster objects is left out; empty when it is not."""
    from longhaul.engine.options import names_of_one_stack

    if invocation.options.no_objects:
        return "left out by --no-objects"
    named = names_of_one_stack(invocation.rest)
    return f"{named[0]} names resources of one stack, the environment's own" if named else ""


def _also(text: str) -> tuple[str, Path]:
    """Split ``FORMAT=FILE`` into a format and a path."""
    form, _, file = text.partition("=")
    if form not in FORMATS or not file:
        raise argparse.ArgumentTypeError(f"{text!r} is not FORMAT=FILE, with a format of {', '.join(FORMATS)}")
    return form, Path(file)
