"""Runs a drill: the verifier loads the environment, the fault begins and ends, all becomes healthy again, and then the
verifier gives its verdict."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.journal import read
from lab.drill.members import hashes, term
from lab.drill.observer import Figure
from lab.drill.pods import disturbances, running
from lab.drill.timing import Timing, timing
from lab.state import LabError

QUIET_S = 5.0
"""Seconds of load before the fault, so that the journal shows the normal state."""
RECOVERY_S = 600.0
"""Time limit in seconds for the environment to become healthy again."""
SAID_S = 90.0
"""Time limit in seconds for `longhaul status` to report the fault."""
ERRORS_END = "errors end after"
"""Name of the figure for drills with a goal for the last failing request."""
READ_GAP_S = 10.0
"""Longest time in seconds without an answered read, in drills whose reads must go on."""


@dataclass(frozen=True, kw_only=True)
class DrillResult:
    """Result of one drill."""

    drill: str
    date: str
    """Day on which the drill ran, as in 2026-01-31 (UTC)."""
    summary: str
    where: str
    """Machines with the fault."""
    goal_s: float
    longest_gap_s: float
    recovery_s: float
    """Seconds from the fault's end, when its repair begins, until all was healthy."""
    terms: int
    """Number by which the term of the main etcd cluster rose."""
    timing: Timing
    verdict: dict[str, Any]
    """The verifier's verdict (:class:`lab.drill.verdict.DrillVerdict`)."""
    figures: tuple[Figure, ...] = ()
    """Further times for which the drill has goals."""
    notes: tuple[str, ...] = ()
    """Sentences about the fault's actions."""
    moved: tuple[str, ...] = ()
    """Pods that the fault moved, as their tolerations allow."""
    failures: tuple[str, ...]
    """Broken promises, one sentence each."""

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def slow(self) -> bool:
        """Return whether any time exceeds its goal."""
        return self.longest_gap_s > self.goal_s or any(figure.slow for figure in self.figures)


class VerifierProcess:
    """The verifier's process, as the operator of the environment."""

    def __init__(self, environment: DrillEnvironment, folder: Path) -> None:
        kubeconfig = folder / "kubeconfig"
        environment.write_kubeconfig(kubeconfig)
        words = [sys.executable, "-m", "lab.drill.verifier", "--kubeconfig", str(kubeconfig), "--folder", str(folder)]
        self._process = subprocess.Popen(
            [str(environment.project.state.enter), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._secret = kubeconfig

    def await_ready(self) -> None:
        """Wait until writes are acknowledged. Raise ``LabError`` when the verifier ends earlier."""
        if next(iter(self._process.stdout or ()), "").strip() != "ready":
            raise LabError(f"the verifier ended with {self._process.wait()}; see above")

    def verdict(self) -> dict[str, Any]:
        """End the load and return the verdict. Raise ``LabError`` when there is none."""
        printed, _ = self._process.communicate()
        try:
            return dict(json.loads(printed))
        except ValueError:
            raise LabError(f"the verifier ended with {self._process.returncode}; see above") from None

    def close(self) -> None:
        """End the process if it runs, and remove its credentials."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._secret.unlink(missing_ok=True)


def run(drill: Drill, environment: DrillEnvironment, folder: Path, *, say: Callable[[str], None]) -> DrillResult:
    """Run a drill, with an empty ``folder`` for the verifier's journal. Raise :class:`LabError` when the environment is
    not healthy before the drill, or when the drill cannot be run."""
    if not environment.status()["healthy"]:
        raise LabError(f"{drill.name}: the environment is not healthy before the drill: `longhaul status`")
    environment.notes.clear()
    first_term = _term(environment)
    with drill.observing(environment) as observer, _verifier(environment, folder) as verifier:
        pods = environment.pods()
        before, movable = running(pods), observer.movable(pods)
        verifier.await_ready()
        time.sleep(QUIET_S)
        began = time.monotonic()
        with drill.fault(environment) as where:
            say(f"{drill.summary}: {where}")
            was_said = _await_said(environment, drill.says)
            time.sleep(drill.lasts_s)
            ended = time.monotonic()
        healthy = _await_healthy(environment)
        recovery = time.monotonic() - ended
        figures = observer.figures(ended)
        verdict = verifier.verdict()
        after = running(environment.pods())
    terms = _term(environment) - first_term
    times = timing(read(folder / "journal.jsonl"), began=began, ended=ended)
    moved = {name: before[name] for name in movable & before.keys()}
    stay = {name: identity for name, identity in before.items() if name not in moved}
    return DrillResult(
        drill=drill.name,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        summary=drill.summary,
        where=where,
        goal_s=drill.goal_s,
        longest_gap_s=verdict["longest_gap_s"],
        recovery_s=recovery,
        terms=terms,
        timing=times,
        verdict=verdict,
        figures=(*_calm(drill, times), *figures),
        notes=tuple(environment.notes),
        moved=disturbances(moved, after),
        failures=(
            *broken_promises(drill, verdict, was_said=was_said, terms=terms),
            *_failures(environment, verdict, healthy=healthy),
            *disturbances(stay, after),
        ),
    )


def _calm(drill: Drill, times: Timing) -> Iterator[Figure]:
    if drill.calm_s is not None:
        yield Figure(what=ERRORS_END, seconds=times.errors_s, goal_s=drill.calm_s)


def _term(environment: DrillEnvironment) -> int:
    return term(environment, environment.machines("etcd"))


def _await_said(environment: DrillEnvironment, words: str) -> bool:
    """Return whether `longhaul status` says ``words`` within :data:`SAID_S`."""
    deadline = time.monotonic() + SAID_S
    while words and words not in json.dumps(environment.status(), ensure_ascii=False):
        if time.monotonic() > deadline:
            return False
        time.sleep(1.0)
    return True


def broken_promises(drill: Drill, verdict: dict[str, Any], *, was_said: bool, terms: int) -> Iterator[str]:
    """Yield a sentence for each broken promise of this drill, besides those of all drills."""
    if not was_said:
        yield f"`longhaul status` did not say {drill.says!r} within {SAID_S:.0f} s"
    if drill.reads_go_on and verdict["longest_read_gap_s"] > READ_GAP_S:
        yield f"no read was answered for {verdict['longest_read_gap_s']:.1f} s"
    if drill.elections is not None and terms > drill.elections:
        yield f"the term of the main etcd cluster rose by {terms}, more than {drill.elections}"


@contextmanager
def _verifier(environment: DrillEnvironment, folder: Path) -> Iterator[VerifierProcess]:
    verifier = VerifierProcess(environment, folder)
    try:
        yield verifier
    finally:
        verifier.close()


def _await_healthy(environment: DrillEnvironment) -> bool:
    deadline = time.monotonic() + RECOVERY_S
    while time.monotonic() < deadline:
        if environment.status()["healthy"]:
            return True
        time.sleep(1.0)
    return False


def _failures(environment: DrillEnvironment, verdict: dict[str, Any], *, healthy: bool) -> Iterator[str]:
    if not healthy:
        yield f"the environment is not healthy {RECOVERY_S:.0f} s after the fault"
    kinds = {
        "lost": "acknowledged writes are lost",
        "ghosts": "refused writes were done",
        "unseen": "acknowledged writes were never seen by the watch",
    }
    for kind, what in kinds.items():
        if keys := verdict[kind]:
            yield f"{len(keys)} {what}: {', '.join(keys[:5])}"
    counts = {
        "stale": "reads were stale",
        "fallen": "writes have a revision below an earlier one",
        "disordered": "events of the watch came out of order",
    }
    yield from (f"{verdict[kind]} {what}" for kind, what in counts.items() if verdict[kind])
    for part in ("etcd", "events"):
        by_member = hashes(environment, environment.machines(part))
        if len(set(by_member.values())) > 1:
            yield f"members of {part} hold different data: {by_member}"
