"""``python -m lab drill NAME|all``: run drills on an environment in the lab, and write their report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from lab.drill import report
from lab.drill.catalogue import DRILLS
from lab.drill.environment import DrillEnvironment
from lab.drill.observer import Figure
from lab.drill.run import DrillResult, run
from lab.project import LabProject
from lab.state import LabError, LabState


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``drill``."""
    known = "\n".join(f"  {name:<28} {drill.summary}" for name, drill in DRILLS.items())
    verb.formatter_class = argparse.RawDescriptionHelpFormatter
    verb.epilog = f"drills:\n{known}"
    verb.add_argument("names", nargs="+", metavar="NAME", help="drills, or all")
    verb.add_argument("--long", action="store_true", help="all includes the long drills")
    verb.add_argument(
        "--report",
        type=Path,
        metavar="FOLDER",
        help="folder of the report, beside earlier results (default: the lab's state)",
    )


def run_command(state: LabState, names: Sequence[str], *, long: bool, folder: Path | None) -> int:
    """Run the drills one after the other; return 0 when all passed, else 1. Without ``long``, ``all`` leaves out long
    drills. Raise :class:`LabError` for an unknown name, and for an environment that is not healthy. The report and the
    journals are written to ``folder``; the default folder is in the lab's state, and is removed with it. An existing
    report keeps the results of drills that do not run now."""
    unknown = sorted(set(names) - {*DRILLS, "all"})
    if unknown:
        raise LabError(f"there is no drill {', '.join(unknown)}; there are: {', '.join(DRILLS)}")
    project = LabProject(path=state.root.parent, env=state.env)
    environment = DrillEnvironment(project, project.load())
    folder = folder or state.directory / "drills" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    known = report.read_results(folder)
    results: list[DrillResult] = []
    for name in select_drills(names, long=long):
        journal = folder / name
        journal.mkdir(parents=True, exist_ok=True)
        print(f"{name}: begins", flush=True)
        results.append(run(DRILLS[name], environment, journal, say=print))
        report.write(folder, report.merge(known, results))
        print(_result_line(results[-1]), flush=True)
    print(f"report: {folder / report.PAGE}")
    return 0 if all(result.passed for result in results) else 1


def select_drills(names: Sequence[str], *, long: bool) -> list[str]:
    """Return the drills that ``names`` mean, each once; ``all`` includes long drills only with ``long``."""
    every = [name for name, drill in DRILLS.items() if long or not drill.long]
    return list(dict.fromkeys(drill for name in names for drill in (every if name == "all" else [name])))


def _result_line(result: DrillResult) -> str:
    verdict, times = "safe" if result.passed else "FAILED", result.timing
    goals = (Figure(what="longest gap", seconds=result.longest_gap_s, goal_s=result.goal_s), *result.figures)
    parts = [f"{result.drill}: {verdict}", *map(_measured, goals), f"healthy again after {result.recovery_s:.0f} s"]
    parts += [f"write p99 {times.quiet_p99_ms:.0f} ms before, {times.fault_p99_ms:.0f} ms during"]
    parts += [f"{result.terms} elections"]
    moved = [f"{move}, as it tolerates" for move in result.moved]
    return "\n  ".join(["; ".join(parts), *result.notes, *moved, *result.failures])


def _measured(time: Figure) -> str:
    return f"{time.what} {time.seconds:.1f} s" + (f", beyond its goal of {time.goal_s:g} s" if time.slow else "")
