"""``longhaul review``: report what a change does to each environment, for its pull request."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.project import find_project
from longhaul.report.programs import document, line
from longhaul.say import say

if TYPE_CHECKING:
    from longhaul.review.outcome import Review
    from longhaul.review.pull_request import PullRequest

HELP = "say what a change does to each environment, for its pull request"
TAKES_REST = False

FORMATS = ("text", "markdown", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``review``."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--base", metavar="REF", help="where the change is to be merged, such as origin/main")
    what.add_argument(
        "--drift",
        action="store_true",
        help="compare what is declared with the clouds, instead of a change with its base",
    )
    what.add_argument(
        "--from",
        dest="sources",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="look at nothing: put together what earlier runs wrote with --format json",
    )
    what.add_argument(
        "--names",
        metavar="FILE",
        type=Path,
        help="of what --no-plan wrote as JSON, what can be planned, as a JSON list",
    )
    parser.add_argument(
        "--no-plan", action="store_true", help="validate only, which needs no credentials and no engine"
    )
    parser.add_argument(
        "--fork", action="store_true", help="the change is a stranger's (GitHub Actions says so itself)"
    )
    parser.add_argument(
        "--no-verdict", action="store_true", help="exit with 0: a later run with --from has the verdict"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="how it is written (default: text)")
    parser.add_argument("--to", metavar="FILE", type=Path, help="write into FILE, adding to what it has, not to stdout")
    parser.add_argument("--comment", choices=("github",), help="keep one comment on the pull request up to date")
    parser.add_argument("--issue", choices=("github",), help="keep one issue open while something differs (--drift)")


def run(invocation: Invocation) -> int:
    """Review, write and post. The exit code is that of the gravest verdict."""
    from longhaul.review.pull_request import pull_request

    options = invocation.options
    if options.names:
        print(line(_read(options.names).plannable))
        return Exit.OK
    request = pull_request(os.environ)
    fork = options.fork or (request is not None and request.fork)
    review = _merged(options.sources) if options.sources else _review(invocation, fork=fork)
    _write(_written(review, options.format), options.to)
    if options.comment:
        _comment(review, request, os.environ)
    if options.issue:
        _issue(review, os.environ)
    return Exit.OK if options.no_verdict else review.exit_code


def _review(invocation: Invocation, *, fork: bool) -> Review:
    from longhaul.review.planner import CommandPlanner
    from longhaul.review.reviewing import Reviewer

    options = invocation.options
    project = find_project(options.project)
    planner = None if fork or options.no_plan else CommandPlanner(project=project, environ=dict(os.environ))
    reviewer = Reviewer(project=project, planner=planner, fork=fork, only=options.env)
    return reviewer.drift() if options.drift else reviewer.change(options.base)


def _merged(sources: list[Path]) -> Review:
    """Merge the results of earlier runs into one review."""
    from longhaul.review.outcome import merged

    return merged([_read(path) for path in sources])


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


def _comment(review: Review, request: PullRequest | None, environ: Mapping[str, str]) -> None:
    """Post the review as a comment, except for a fork's pull request: its jobs have no token that may write."""
    from longhaul.review.github import API, GitHub
    from longhaul.review.text import MARKERS, to_markdown

    if review.fork or (request is not None and request.fork):
        say("no comment: a job for a fork has no token that may write one")
        return
    if request is None:
        raise CommandError("--comment github: this job runs for no pull request (GITHUB_EVENT_PATH)", code=Exit.USAGE)
    github = GitHub(repository=request.repository, token=_token(environ), api=environ.get("GITHUB_API_URL", API))
    marker, body, anew = MARKERS[review.drift], to_markdown(review), bool(review.environments)
    where = github.comment(request.number, marker=marker, body=body, anew=anew)
    say(f"commented: {where}" if where else "no comment: no environment is affected")


def _issue(review: Review, environ: Mapping[str, str]) -> None:
    from longhaul.review.github import API, GitHub
    from longhaul.review.pull_request import repository_of
    from longhaul.review.text import MARKERS, to_markdown

    if not review.drift:
        raise CommandError("--issue github is for what --drift finds", code=Exit.USAGE)
    github = GitHub(repository=repository_of(environ), token=_token(environ), api=environ.get("GITHUB_API_URL", API))
    where = github.issue(
        marker=MARKERS[True],
        title="What runs differs from what is declared",
        body=to_markdown(review),
        well=review.exit_code == Exit.OK,
    )
    say(f"issue: {where}" if where else "no issue: nothing differs")


def _token(environ: Mapping[str, str]) -> str:
    token = environ.get("GITHUB_TOKEN", "")
    if not token:
        raise CommandError(
            "GITHUB_TOKEN is not set: pass the job's own, `GITHUB_TOKEN: ${{ github.token }}`", code=Exit.USAGE
        )
    return token
