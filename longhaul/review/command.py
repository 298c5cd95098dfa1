"""``longhaul review``: report what a change does to each environment, for its pull request."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.project.checkout import find_project
from longhaul.project.invocation import Invocation
from longhaul.report.json_output import document, line
from longhaul.review.git import is_commit
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from longhaul.review.outcome import Review

HELP = "show what a change does to each environment, for its pull request"
REST = ""

FORMATS = ("text", "markdown", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``review``."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--base", metavar="REF", help="branch into which the change is to be merged, such as origin/main")
    what.add_argument(
        "--drift",
        action="store_true",
        help="compare the declared state with the clouds, instead of a change with its base",
    )
    what.add_argument(
        "--from",
        dest="sources",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="only merge results that earlier runs wrote with --format json",
    )
    what.add_argument(
        "--names",
        metavar="FILE",
        type=Path,
        help="print the environments that can be planned, from JSON of --no-plan, as a JSON list",
    )
    parser.add_argument(
        "--change",
        metavar="COMMIT",
        help="with --base: review this commit, which was fetched, instead of the work tree, and run nothing of it",
    )
    parser.add_argument(
        "--no-plan", action="store_true", help="validate only, which needs no credentials and no engine"
    )
    parser.add_argument("--fork", action="store_true", help="the change comes from a fork (GitHub Actions is detected)")
    parser.add_argument(
        "--no-verdict", action="store_true", help="exit with 0: a later run with --from has the verdict"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="output format (default: text)")
    parser.add_argument("--to", metavar="FILE", type=Path, help="append to FILE instead of writing to stdout")


def run(invocation: Invocation) -> int:
    """Review and write. Return the exit code of the gravest verdict."""
    options = invocation.options
    if options.change is not None and (not options.base or not is_commit(options.change)):
        raise CommandError("--change is for --base, and takes the whole hash of a commit", code=Exit.USAGE)
    if options.names:
        print(line(_read(options.names).plannable))
        return Exit.OK
    review = _merged(options.sources) if options.sources else _review(invocation)
    _write(_written(review, options.format), options.to)
    return Exit.OK if options.no_verdict else review.exit_code


def _review(invocation: Invocation) -> Review:
    from longhaul.review.planner import CommandPlanner
    from longhaul.review.reviewing import Reviewer

    options = invocation.options
    project, fork = find_project(options.project), options.fork or _from_fork(os.environ)
    planner = None if fork or options.no_plan else CommandPlanner(program=project.root, environ=dict(os.environ))
    reviewer = Reviewer(project=project, planner=planner, fork=fork, only=options.env)
    if options.drift:
        return reviewer.drift()
    return reviewer.commit(options.base, options.change) if options.change else reviewer.change(options.base)


def _from_fork(environ: Mapping[str, str]) -> bool:
    """Return whether this is a job of GitHub Actions for a pull request whose branch is in another repository, or in a
    repository that no longer exists (docs.github.com, "Variables reference" and "Webhook events and payloads",
    ``pull_request``). Raise ``CommandError`` when the job's event cannot be read."""
    path = environ.get("GITHUB_EVENT_PATH")
    if not path:
        return False
    try:
        event: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"GITHUB_EVENT_PATH, {path}, cannot be read: {error}", code=Exit.USAGE) from error
    request = event.get("pull_request") if isinstance(event, dict) else None
    if not isinstance(request, dict):
        return False
    head = str(((request.get("head") or {}).get("repo") or {}).get("full_name", ""))
    return not head or head.lower() != environ.get("GITHUB_REPOSITORY", "").lower()


def _merged(sources: list[Path]) -> Review:
    """Merge the results of earlier runs into one review."""
    from longhaul.review.outcome import merge

    return merge([_read(path) for path in sources])


def _read(path: Path) -> Review:
    from pydantic import ValidationError

    from longhaul.review.outcome import Review

    try:
        return Review.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError:
        wrong = f"{path}: `longhaul review --format json` of this version did not write it"
        raise CommandError(wrong, code=Exit.USAGE) from None


def _written(review: Review, form: str) -> str:
    if form == "json":
        return document(review.model_dump(mode="json"), unicode=True) + "\n"
    if form == "markdown":
        from longhaul.review.text import to_markdown

        return to_markdown(review)
    from longhaul.review.text import to_text

    return to_text(review)


def _write(text: str, to: Path | None) -> None:
    if to is None:
        sys.stdout.write(text)
        return
    with to.open("a", encoding="utf-8") as file:
        file.write(text)
