"""Report of drills, as Markdown and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.drill.catalogue import DRILLS
from lab.drill.observer import Figure
from lab.drill.run import ERRORS_END, DrillResult
from lab.drill.timing import Timing
from lab.state import LabError

GIB = 1 << 30
PAGE, DATA = "report.md", "report.json"


def read_results(folder: Path) -> list[DrillResult]:
    """Return the results of a report in ``folder``; empty without a report. Raise :class:`LabError` for a report from
    another machine, because figures of two machines are not comparable."""
    path = folder / DATA
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["machine"] != machine():
        raise LabError(f"{path} was measured on {document['machine']}, and this is {machine()}: name another folder")
    return [_result(drill) for drill in document["drills"]]


def merge(known: Sequence[DrillResult], new: Sequence[DrillResult]) -> list[DrillResult]:
    """Return the results in the catalogue's order. A new result replaces the known result of the same drill."""
    by_name = {result.drill: result for result in (*known, *new)}
    return [by_name[name] for name in DRILLS if name in by_name]


def write(folder: Path, results: Sequence[DrillResult]) -> None:
    """Write the report as Markdown and as JSON."""
    (folder / PAGE).write_text(to_markdown(results), encoding="utf-8")
    (folder / DATA).write_text(to_json(results), encoding="utf-8")


def to_json(results: Sequence[DrillResult]) -> str:
    """Return the results as JSON."""
    entries = [{**asdict(result), "passed": result.passed, "slow": result.slow} for result in results]
    return json.dumps({"machine": machine(), "drills": entries}, indent=1) + "\n"


def to_markdown(results: Sequence[DrillResult]) -> str:
    """Return the results as a page with a table and all failures."""
    head = (
        "# Drill report\n\n"
        f"{_ran(results)} Measured on {machine()}, by `python -m lab drill`; what was done and what the columns mean: "
        "[drills](drills.md).\n\n"
        "| drill | what is done | verdict | longest gap (goal) | errors end after | full strength after | "
        "acknowledged | lost | open | write p99, before and during | elections |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    )
    failures = [f"- {result.drill}: {failure}" for result in results for failure in result.failures]
    broken_section = "\n".join(["", "What must hold and did not:", "", *failures, ""]) if failures else ""
    further = [f"- {result.drill}: {line}" for result in results for line in _further(result)]
    also = "\n".join(["", "Measured besides:", "", *further, ""]) if further else ""
    return head + "".join(_row(result) for result in results) + also + broken_section


def _result(entry: Mapping[str, Any]) -> DrillResult:
    fields = {name: value for name, value in entry.items() if name not in {"passed", "slow"}}
    return DrillResult(
        **fields
        | {
            "timing": Timing(**entry["timing"]),
            "figures": tuple(Figure(**figure) for figure in entry["figures"]),
            "notes": tuple(entry.get("notes", ())),
            "moved": tuple(entry["moved"]),
            "failures": tuple(entry["failures"]),
        }
    )


def _further(result: DrillResult) -> Iterator[str]:
    others = [figure for figure in result.figures if figure.what != ERRORS_END]
    yield from (f"{other.what} {other.seconds:.1f} s (goal {other.goal_s:g} s)" for other in others)
    yield from result.notes
    yield from (f"{moved}, as it tolerates" for moved in result.moved)


def _ran(results: Sequence[DrillResult]) -> str:
    lost = sum(len(result.verdict["lost"]) for result in results)
    days = sorted({result.date for result in results})
    when = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
    safe = sum(result.passed for result in results)
    return f"{len(results)} drills {when}, {safe} safe, {lost} acknowledged writes lost."


def machine() -> str:
    """Return a description of the machine on which the report was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        "an unknown processor",
    )
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GiB, Linux {os.uname().release}"


def _row(result: DrillResult) -> str:
    verdict = "failed" if not result.passed else "safe, slow" if result.slow else "safe"
    judged = result.verdict
    times = result.timing
    calm = "".join(f" ({figure.goal_s:g} s)" for figure in result.figures if figure.what == ERRORS_END)
    cells = (
        result.drill,
        f"{result.summary} ({result.where})",
        verdict,
        f"{result.longest_gap_s:.1f} s ({result.goal_s:g} s)",
        f"{times.errors_s:.1f} s{calm}",
        f"{result.recovery_s:.0f} s",
        f"{judged['acknowledged']:,}",
        str(len(judged["lost"])),
        f"{judged['unknown']:,}",
        f"{times.quiet_p99_ms:.0f} ms, {times.fault_p99_ms:.0f} ms",
        str(result.terms),
    )
    return f"| {' | '.join(cells)} |\n"
