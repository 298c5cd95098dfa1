"""A plan for a terminal: plain text, 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from longhaul.plan.capacity import Capacity, Row, total
from longhaul.plan.findings import Finding, names
from longhaul.plan.lines import blocks, summary
from longhaul.plan.plan import Plan

WIDTH = 100


def to_text(plan: Plan) -> str:
    """Verdict and reasons first, then what happens, capacity and cost."""
    return "\n\n".join("\n".join(part) for part in _parts(plan)) + "\n"


def _parts(plan: Plan) -> Iterator[list[str]]:
    yield [f"{plan.environment}: {plan.verdict}", f"{summary(plan)}; {plan.against}"]
    for title, findings in (("Reasons", plan.reasons), ("Policy", plan.policy)):
        if findings:
            yield [title, *(line for finding in findings for line in _finding(finding))]
    for block in blocks(plan):
        title = f"{block.title} ({block.counts})" if block.counts else block.title
        yield [*_wrapped(title, "", further="    "), *_indented(block.lines)]
    table = capacity_table(plan.rows)
    if table:
        yield ["Capacity", *_aligned(table)]
    yield ["Cost", *_wrapped(plan.cost.summary, "  ")]
    if plan.notes:
        yield ["Not known", *(line for note in plan.notes for line in _wrapped(note, "  "))]


def _finding(finding: Finding) -> Iterator[str]:
    yield from _wrapped(f"{finding.level}: {finding.what}", "  ", further="    ")
    for line in finding.lines:
        yield from _wrapped(line, "      ", further="        ")
    for word, said in (("where", names(finding.where, most=6)), ("why", finding.why), ("do", finding.do)):
        if said:
            yield from _wrapped(f"{word + ':':<7}{said}", "    ", further=" " * 11)


def capacity_table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The rows that change and the sum; empty when there are no nodes."""
    if not rows:
        return []
    changing = [row for row in rows if row.changes]
    lines = [(row.name, row.site, *_sides(row.before, row.after)) for row in changing]
    others = len(rows) - len(changing)
    if others:
        lines.append((f"{others} as {'it is' if others == 1 else 'they are'}", "", "", "", ""))
    lines.append(("all", "", *_sides(total(tuple(rows), after=False), total(tuple(rows), after=True))))
    return [("POOL", "SITE", "NODES", "GPUS", "CORES"), *lines]


def _sides(before: Capacity | None, after: Capacity | None) -> tuple[str, str, str]:
    old, new = _cells(before), _cells(after)
    return (_side(old[0], new[0]), _side(old[1], new[1]), _side(old[2], new[2]))


def _cells(one: Capacity | None) -> tuple[str, str, str]:
    if one is None:
        return ("0", "0", "0")
    return (str(one.nodes), str(one.gpus), "?" if one.cores is None else str(one.cores))


def _side(before: str, after: str) -> str:
    return after if before == after else f"{before} -> {after}"


def _aligned(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip() for row in table
    ]


def _indented(lines: Sequence[str]) -> list[str]:
    return [line for one in lines for line in _cut(one)]


def _cut(line: str) -> list[str]:
    """A line of a resource, wrapped behind its own indentation."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return _wrapped(line.lstrip(), indent, further=indent + "    ")


def _wrapped(text: str, indent: str, *, further: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        width=WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )
