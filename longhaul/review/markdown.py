"""A review as one comment: a line for each environment, its verdict first, and the plans folded below."""

from __future__ import annotations

import re

from longhaul.plan.markdown import LONGEST
from longhaul.review.cutting import cut
from longhaul.review.outcome import Entry, Outcome, Review

MARKERS = {False: "<!-- longhaul-review -->", True: "<!-- longhaul-drift -->"}
"""How a comment, or an issue about drift, begins: nobody sees it, and the next run finds what it is to update by it."""

_SIGNS = {
    Outcome.SAFE: "✅",
    Outcome.AS_DECLARED: "✅",
    Outcome.ABSENT: "➖",
    Outcome.VALID: "➖",
    Outcome.CARE: "⚠️",
    Outcome.DELETED: "⚠️",
    Outcome.DIFFERS: "⚠️",
    Outcome.FAILED: "❌",
    Outcome.INVALID: "⛔",
    Outcome.REFUSED: "⛔",
}

_FORK = (
    "This comes from a fork, so no plan was made: no credentials are lent to code that nobody here has read. A "
    "maintainer who has read it pushes the branch to this repository and opens a pull request from there."
)

_REFUSED = "What is refused or invalid must not be merged; each reason says what to do instead."

_LEAST = 600
"""Characters that a fold needs to be worth anything."""


def to_markdown(review: Review, *, longest: int = LONGEST) -> str:
    """At most ``longest`` characters, the lines before the folds, the gravest first."""
    head = _head(review, longest=longest // 2)
    foot = _foot(review)
    room = longest - len(head) - len(foot)
    folds = ""
    detailed = [entry for entry in review.environments if entry.plan or entry.report]
    for index, entry in enumerate(detailed):
        # What one does not need is the next one's.
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
    while sum(map(len, listed)) > longest - 1000:
        listed.pop()
    rest = len(review.environments) - len(listed)
    lines += [*listed, *([f"- and {rest:,} more, none of them graver"] if rest else []), *([""] if listed else [])]
    if any(entry.outcome in (Outcome.REFUSED, Outcome.INVALID) for entry in review.environments):
        lines += [_REFUSED, ""]
    return "\n".join(lines) + "\n"


def _title(review: Review) -> str:
    subject = "Longhaul, declared and real" if review.drift else "Longhaul"
    return f"{subject}: {review.worst}" if review.worst is not None else f"{subject}: no environment is affected"


def _line(entry: Entry) -> str:
    return f"- {_SIGNS[entry.outcome]} **{entry.outcome}** `{_code(entry.name)}`: {plain(entry.said)}"


def _fold(entry: Entry, room: int) -> str:
    """One environment's plan or problems, in ``room`` characters; nothing where that is too few to be of use."""
    title = "Plan" if entry.plan else "What was said"
    begin = f"<details><summary>{title}, {_code(entry.name)}: {entry.outcome}</summary>\n\n"
    end = "\n</details>\n\n"
    left = room - len(begin) - len(end)
    body = cut(entry.plan, left) if entry.plan else _fenced(entry.report, left)
    return begin + body + end if body and room >= _LEAST else ""


def _fenced(text: str, room: int) -> str:
    """The end of ``text``, where errors say what it was all about."""
    inner = text.replace("```", "'''").strip()
    left = room - len("```text\n\n```\n") - len("…\n")
    if left <= 0:
        return ""
    shown = inner if len(inner) <= left else "…\n" + inner[-left:]
    return f"```text\n{shown}\n```\n"


def _foot(review: Review) -> str:
    if review.drift:
        said = "`longhaul review --drift` says the same; tunnels were not looked at (docs/review.md)."
    else:
        said = f"`longhaul review --base {_code(review.base.split(' ')[0])}` says the same."
    against = "" if review.drift else f" against {plain(review.base)}"
    return f"<sub>{_code(review.commit)}{against}. {said}</sub>\n"


def plain(text: str) -> str:
    """Text that is nothing but text to GitHub: no tag, no link, no mention; code stays code."""
    parts = text.replace("\n", " ").split("`")
    if len(parts) % 2 == 0:
        parts = [" ".join(parts)]
    return "`".join(_escaped(part) if index % 2 == 0 else part for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([|*_\[\]\\#])", r"\\\1", text).replace("@", "@\u200b")


def _code(text: str) -> str:
    return re.sub(r"[`<>&\n@]", "'", text)
