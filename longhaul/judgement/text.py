"""Renders a plan as text for a terminal, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clouds.base.phrases import names
from longhaul.judgement.capacity import CapacityRow, PlannedCapacity, total
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.plan import VERDICTS, Plan
from longhaul.judgement.resource_lines import blocks, summary
from longhaul.report.json_output import document
from longhaul.report.text import table, wrapped


def to_json(plan: Plan) -> str:
    """Render the whole plan. Keys are the fields of :class:`longhaul.judgement.plan.Plan`, except ``capacity`` for
    ``rows`` and ``places`` for ``parts``."""
    content: dict[str, Any] = asdict(plan)
    content["verdict"] = plan.word
    content["reasons"] = [_reason(finding) for finding in plan.reasons]
    content["policy"] = [_reason(finding) for finding in plan.policy]
    content["risks"] = [_reason(finding) for finding in plan.risks]
    content["counts"] = {str(action): number for action, number in plan.counts.items()}
    content["capacity"] = content.pop("rows")
    content["places"] = [{**part.pop("place"), "resources": part["lines"]} for part in content.pop("parts")]
    return document(content, unicode=True) + "\n"


def _reason(finding: PlanFinding) -> dict[str, Any]:
    return {
        "level": VERDICTS[finding.severity],
        "reason": finding.reason,
        "what": finding.what,
        "where": finding.where,
        "why": finding.why,
        "do": finding.do,
        "lines": finding.lines,
    }


def to_text(plan: Plan) -> str:
    """Render the verdict and the findings first, then what happens, capacity and cost."""
    return "\n\n".join("\n".join(part) for part in _parts(plan)) + "\n"


def _parts(plan: Plan) -> Iterator[list[str]]:
    yield [f"{plan.environment}: {plan.word}", *wrapped(f"{summary(plan)}; {plan.against}", hanging="  ")]
    for title, findings in (("Reasons", plan.reasons), ("Policy", plan.policy)):
        if findings:
            yield [title, *findings_text(findings)]
    for block in blocks(plan):
        title = f"{block.title} ({block.counts})" if block.counts else block.title
        yield [*wrapped(title, hanging="    "), *(line for uncut in block.lines for line in _cut(uncut))]
    rows = capacity_table(plan.rows)
    if rows:
        yield ["Capacity", *table(rows[0], rows[1:])]
    yield ["Cost", *wrapped(plan.cost.summary, indent="  ")]
    if plan.risks and plan.keys is None:
        sentences = (f"{risk.what} {risk.why}" for risk in plan.risks)
        yield [
            "Risks as before",
            *(line for sentence in sentences for line in wrapped(sentence, indent="  ", hanging="    ")),
        ]
    if plan.notes:
        yield ["Not known", *(line for note in plan.notes for line in wrapped(note, indent="  "))]


def findings_text(findings: Sequence[PlanFinding]) -> list[str]:
    """Render findings in full."""
    return [line for finding in findings for line in _finding(finding)]


def _finding(finding: PlanFinding) -> Iterator[str]:
    yield from wrapped(f"{VERDICTS[finding.severity]}: {finding.what}", indent="  ", hanging="    ")
    for line in finding.lines:
        yield from wrapped(line, indent="      ", hanging="        ")
    for word, text in (("where", names(finding.where, most=6)), ("why", finding.why), ("do", finding.do)):
        if text:
            yield from wrapped(f"{word + ':':<7}{text}", indent="    ", hanging=" " * 11)


def _cut(line: str) -> list[str]:
    """Wrap one line about a resource; its indentation grows by two columns."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return wrapped(line.lstrip(), indent=indent, hanging=indent + "    ")


def capacity_table(rows: Sequence[CapacityRow]) -> list[tuple[str, ...]]:
    """Return a head, the rows that change and the sum; empty when there are no pools and no hosts."""
    if not rows:
        return []
    changing = [row for row in rows if row.changes]
    lines = [(row.name, row.site, *_sides(row.before, row.after)) for row in changing]
    others = len(rows) - len(changing)
    if others:
        lines.append((f"{others} as {'it is' if others == 1 else 'they are'}", "", "", "", ""))
    lines.append(("all", "", *_sides(total(tuple(rows), after=False), total(tuple(rows), after=True))))
    return [("POOL", "SITE", "NODES", "GPUS", "CORES"), *lines]


def _sides(before: PlannedCapacity | None, after: PlannedCapacity | None) -> tuple[str, str, str]:
    old, new = _cells(before), _cells(after)
    return (_side(old[0], new[0]), _side(old[1], new[1]), _side(old[2], new[2]))


def _cells(capacity: PlannedCapacity | None) -> tuple[str, str, str]:
    if capacity is None:
        return ("0", "0", "0")
    return (str(capacity.nodes), str(capacity.gpus), "?" if capacity.cores is None else str(capacity.cores))


def _side(before: str, after: str) -> str:
    return after if before == after else f"{before} -> {after}"
