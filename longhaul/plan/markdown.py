"""Renders a plan as a comment on a pull request: the verdict first, details folded, cut to GitHub's limit."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.phrases import names
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.plan import VERDICTS, Plan
from longhaul.judgement.resource_lines import Block, blocks, summary
from longhaul.judgement.text import capacity_table
from longhaul.report.markdown import LONGEST, SIGNS, code, fenced, fold, plain, table

_ROOM = 400
"""Characters reserved for the note that names what was cut."""

_LINES = 40
"""Maximum number of a finding's lines that are shown, so that a long finding is shortened and not cut as a whole."""


def to_markdown(plan: Plan, *, longest: int = LONGEST) -> str:
    """Render the plan in at most ``longest`` characters."""
    text = ""
    cut: list[str] = []
    for title, section in _sections(plan):
        if len(text) + len(section) + 1 <= longest - _ROOM:
            text += section + "\n"
        elif title:
            cut.append(title)
    if cut:
        listed = names(cut, most=2) if len(names(cut, most=2)) <= 120 else f"{len(cut)} sections"
        text += (
            f"_Shortened, since a comment holds {longest:,} characters: {plain(listed)}. `longhaul plan` shows "
            "everything._\n"
        )
    return text[:longest]


def _sections(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield each section as a title, for the note about cut sections, and a text."""
    head = f"## {SIGNS[plan.verdict]} Plan for `{code(plan.environment)}`: {plan.word}\n\n"
    yield "", f"{head}{plain(summary(plan))}; {plain(plan.against)}.\n"
    for title, findings in (("Reasons", plan.reasons), ("Policy", plan.policy)):
        if findings:
            yield "", f"### {title}\n"
            yield from ((title.lower(), _finding(finding)) for finding in findings)
            yield "", ""
    rows = [[plain(cell) for cell in row] for row in capacity_table(plan.rows)]
    if rows:
        yield "capacity", f"### Capacity\n\n{table(rows[0], rows[1:])}\n"
    yield "cost", f"### Cost\n\n{plain(plan.cost.summary)}\n"
    if plan.risks and plan.keys is None:
        listed = "\n".join(f"- {plain(risk.what)} {plain(risk.why)}" for risk in plan.risks)
        yield "risks", "### Risks\n\n" + fold("as before", f"{listed}\n")
    if plan.notes:
        yield "what is not known", "### Not known\n\n" + "".join(f"- {plain(note)}\n" for note in plan.notes)
    shown_blocks = blocks(plan)
    if shown_blocks:
        yield "", "### What happens\n"
        yield from ((block.title, _details(block)) for block in shown_blocks)


def _finding(finding: PlanFinding) -> str:
    where = f" ({names((f'`{code(name)}`' for name in finding.where), most=6)})" if finding.where else ""
    lines = [f"- **{VERDICTS[finding.severity]}**: {plain(finding.what)}{where}"]
    lines += [f"  - {plain(line)}" for line in finding.lines[:_LINES]]
    more = len(finding.lines) - _LINES
    lines += [f"  - and {more:,} more" if more > 1 else f"  - {plain(finding.lines[-1])}"] if more > 0 else []
    lines += [f"  - {plain(finding.why)}"] if finding.why else []
    lines += [f"  - **Do:** {plain(finding.do)}"] if finding.do else []
    return "\n".join(lines)


def _details(block: Block) -> str:
    counts = f" ({plain(block.counts)})" if block.counts else ""
    return fold(f"{plain(block.title)}{counts}", fenced("\n".join(block.lines)))
