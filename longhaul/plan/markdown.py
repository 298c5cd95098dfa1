"""A plan as a comment on a pull request: the verdict first, details folded, cut where GitHub would refuse it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from longhaul.plan.findings import Finding, Verdict, names
from longhaul.plan.lines import Block, blocks, summary
from longhaul.plan.plan import Plan
from longhaul.plan.text import capacity_table

LONGEST = 65_536
"""Characters of a comment at most; above, GitHub answers "Body is too long (maximum is 65536 characters)"."""

_ROOM = 400
"""Characters kept free for the note that says what was cut."""

_LINES = 40
"""Lines of a reason that are shown, so that a long one is not cut whole."""

_SIGNS = {Verdict.SAFE: "✅", Verdict.CARE: "⚠️", Verdict.REFUSED: "⛔"}


def to_markdown(plan: Plan, *, longest: int = LONGEST) -> str:
    """At most ``longest`` characters."""
    text = ""
    cut: list[str] = []
    for title, section in _sections(plan):
        if len(text) + len(section) + 1 <= longest - _ROOM:
            text += section + "\n"
        elif title:
            cut.append(title)
    if cut:
        listed = names(cut, most=2) if len(names(cut, most=2)) <= 120 else f"{len(cut)} sections"
        text += f"_Cut, for a comment holds {longest:,} characters: {_plain(listed)}. `longhaul plan` says it all._\n"
    return text[:longest]


def _sections(plan: Plan) -> Iterator[tuple[str, str]]:
    """Title, for the note that it was cut, and text."""
    head = f"## {_SIGNS[plan.verdict]} Plan for `{_code(plan.environment)}`: {plan.verdict}\n\n"
    yield "", f"{head}{_plain(summary(plan))}; {_plain(plan.against)}.\n"
    for title, findings in (("Reasons", plan.reasons), ("Policy", plan.policy)):
        if findings:
            yield "", f"### {title}\n"
            yield from ((title.lower(), _finding(finding)) for finding in findings)
            yield "", ""
    table = capacity_table(plan.rows)
    if table:
        yield "capacity", f"### Capacity\n\n{_table(table)}\n"
    yield "cost", f"### Cost\n\n{_plain(plan.cost.summary)}\n"
    if plan.notes:
        yield "what is not known", "### Not known\n\n" + "".join(f"- {_plain(note)}\n" for note in plan.notes)
    found = blocks(plan)
    if found:
        yield "", "### What happens\n"
        yield from ((block.title, _details(block)) for block in found)


def _finding(finding: Finding) -> str:
    where = f" ({names((f'`{_code(name)}`' for name in finding.where), most=6)})" if finding.where else ""
    lines = [f"- **{finding.level}**: {_plain(finding.what)}{where}"]
    lines += [f"  - {_plain(line)}" for line in finding.lines[:_LINES]]
    more = len(finding.lines) - _LINES
    lines += [f"  - and {more:,} more" if more > 1 else f"  - {_plain(finding.lines[-1])}"] if more > 0 else []
    lines += [f"  - {_plain(finding.why)}"] if finding.why else []
    lines += [f"  - **Do:** {_plain(finding.do)}"] if finding.do else []
    return "\n".join(lines)


def _details(block: Block) -> str:
    counts = f" ({_plain(block.counts)})" if block.counts else ""
    body = "\n".join(_fenced(line) for line in block.lines)
    return f"<details><summary>{_plain(block.title)}{counts}</summary>\n\n```text\n{body}\n```\n\n</details>\n"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    head, *others = [tuple(_plain(cell) for cell in row) for row in rows]
    lines = [head, tuple("---" for _ in head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Text that is nothing but text to GitHub: no tag, no link, no mention, no table's end; code stays code."""
    text = re.sub(r"`{2,}", "'", text)
    parts = text.split("`") if text.count("`") % 2 == 0 else [text.replace("`", "'")]
    return "`".join(_escaped(part) if index % 2 == 0 else part for index, part in enumerate(parts))


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
    text = re.sub(r"([|*_\[\]\\#])", r"\\\1", text)
    return text.replace("@", "@\u200b")


def _code(text: str) -> str:
    return text.replace("`", "'").replace("\n", " ")


def _fenced(text: str) -> str:
    """A line that does not end its fence."""
    return text.replace("```", "'''")
