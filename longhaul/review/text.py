"""Renders a review: for a terminal, or as one comment with a line for each environment, its outcome first, and the
plans folded below."""

from __future__ import annotations

import textwrap

from longhaul.report.markdown import LONGEST, SIGNS, cut, fenced, fold, inert, plain
from longhaul.report.text import wrapped
from longhaul.review.outcome import EnvironmentReview, Review, ReviewOutcome
from longhaul.terminal.printable import one_line

MARKERS = {False: "<!-- longhaul-review -->", True: "<!-- longhaul-drift -->"}
"""First line of a comment, or of an issue about drift. Readers do not see it; the next run uses it to find the text to
update."""

_FORK = (
    "This comes from a fork, so no plan was made: unread code gets no credentials. A maintainer who has read "
    "it can push the branch to this repository and open a pull request from there."
)

_REFUSED = "A refused or invalid change must not be merged; each reason says what to do instead."

_LEAST = 600
"""Smallest number of characters for which a fold is useful."""


def to_text(review: Review) -> str:
    """Render a line for each environment, with its problems below. Plans are left to ``longhaul plan``."""
    if not review.environments:
        return f"no environment is affected (against {review.base})\n"
    lines = [f"{review.commit} against {review.base}" + (", from a fork: nothing is planned" if review.fork else "")]
    for entry in review.environments:
        lines += wrapped(f"  {entry.outcome:<18} {entry.name}: {entry.reason}", hanging=" " * 21, hyphens=True)
        lines += textwrap.indent(entry.report, " " * 6).splitlines()
    if review.code:
        lines += wrapped(f"  may run in every plan and apply: {', '.join(_code(review))}", hanging=" " * 4)
    return "\n".join(lines) + "\n"


def to_markdown(review: Review, *, longest: int = LONGEST) -> str:
    """Render the review in at most ``longest`` characters: the lines, then the folds, the gravest first."""
    head = _head(review, longest=longest // 2)
    foot = _foot(review)
    room = longest - len(head) - len(foot)
    folds = ""
    detailed = [entry for entry in review.environments if entry.plan or entry.report]
    for index, entry in enumerate(detailed):
        # Room that one entry does not need is available to the next ones.
        share = (room - len(folds)) // (len(detailed) - index)
        folds += _fold(entry, share)
    return head + folds + foot


def _head(review: Review, *, longest: int) -> str:
    lines = [MARKERS[review.drift], f"## {_title(review)}", ""]
    if review.fork:
        lines += [_FORK, ""]
    if not review.environments:
        lines += ["Nothing in this change is part of an environment.", ""]
    listed = [_line(entry) for entry in review.environments]
    if review.code:
        names = ", ".join(f"`{name}`" for name in _code(review))
        lines += [f"Read before you approve, for it may run in every plan and apply: {names}.", ""]
    while sum(map(len, listed)) > longest - 3000:
        listed.pop()
    rest = len(review.environments) - len(listed)
    lines += [*listed, *([f"- and {rest:,} more, none of them more severe"] if rest else []), *([""] if listed else [])]
    if any(entry.outcome in (ReviewOutcome.REFUSED, ReviewOutcome.INVALID) for entry in review.environments):
        lines += [_REFUSED, ""]
    return "\n".join(lines) + "\n"


def _code(review: Review) -> list[str]:
    """Name the files that whoever approves must read, at most ten and in at most 2,000 characters."""
    rest = len(review.code) - 10
    return [inert(one_line(path))[:150] for path in review.code[:10]] + ([f"{rest:,} more"] if rest > 0 else [])


def _title(review: Review) -> str:
    subject = "Longhaul, declared and real" if review.drift else "Longhaul"
    return f"{subject}: {review.worst}" if review.worst is not None else f"{subject}: no environment is affected"


def _line(entry: EnvironmentReview) -> str:
    return f"- {_sign(entry)} **{entry.outcome}** `{inert(entry.name)}`: {plain(entry.reason)}"


def _sign(entry: EnvironmentReview) -> str:
    return "❌" if entry.outcome is ReviewOutcome.FAILED else SIGNS[entry.outcome.severity]


def _fold(entry: EnvironmentReview, room: int) -> str:
    """Render one environment's plan or problems in ``room`` characters; empty when that is too few to be useful."""
    summary = f"{'Plan' if entry.plan else 'What was said'}, {inert(entry.name)}: {entry.outcome}"
    left = room - len(fold(summary, "")) - 1
    body = cut(entry.plan, left) if entry.plan else _end(entry.report, left)
    return fold(summary, body) + "\n" if body and room >= _LEAST else ""


def _end(text: str, room: int) -> str:
    """Return the end of ``text`` as a block of code, because errors come at the end."""
    stripped = text.strip()
    left = room - len(fenced("")) - len("…\n")
    if left <= 0:
        return ""
    return fenced(stripped if len(stripped) <= left else "…\n" + stripped[-left:])


def _foot(review: Review) -> str:
    if review.drift:
        hint = "`longhaul review --drift` shows the same; tunnels were not checked (docs/review.md)."
    else:
        hint = f"`longhaul review --base {inert(review.base.split(' ')[0])}` says the same."
    against = "" if review.drift else f" against {plain(review.base)}"
    return f"<sub>{inert(review.commit)}{against}. {hint}</sub>\n"
