"""Runs the tests in parts, by what they need: one run of pytest for each part.

``python -m tests.run PART…``; with ``drill tests/lab/test_killed.py`` it runs some drills. Parts of one lane
run one after the other, lanes side by side, since a lab waits for two thirds of its time. A part that fails ends its
lane. Tools are compiled meanwhile with low priority; a test that needs a tool waits for it.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lab import packages
from longhaul.toolchain.errors import SetupError

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / ".lab" / "log"
MOST_OF_A_REASON = 2
"""Failures of one reason that the end of a run names."""
LOW, LOWEST = 5, 10
"""Niceness of tests that wait for nothing, and of compilers: a lab's machines come first, for they have time limits."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One run of pytest."""

    name: str
    mark: str = ""
    """Mark of its tests; empty: tests of any mark or none."""
    without: tuple[str, ...] = ()
    """Marks that its tests do not have."""
    processes: int = 1
    by_file: bool = True
    """False when any process may take any test."""
    niceness: int = 0
    verbose: bool = False
    """True when the name of each test is printed, with its end: a run that is stopped has shown something."""

    def words(self, chosen: Sequence[str]) -> list[str]:
        """Return the command; ``chosen``: files of tests, all when empty."""
        spread = ["--numprocesses", str(self.processes), "--dist", "loadfile" if self.by_file else "worksteal"]
        marks = " and ".join([*filter(None, [self.mark]), *(f"not {mark}" for mark in self.without)])
        spread = spread if self.processes > 1 else []
        words = [sys.executable, "-m", "pytest", "-v" if self.verbose else "-q", "-m", marks, *spread]
        return [*(["nice", "-n", str(self.niceness)] if self.niceness else ()), *words, *(chosen or self.files())]

    def files(self, tests: Path = ROOT / "tests") -> list[str]:
        """Return the files that may have tests of this part, none for all: to import every file takes each process of
        pytest nine seconds."""
        if not self.mark:
            return []
        texts = {path: path.read_text(encoding="utf-8") for path in sorted(tests.rglob("test_*.py"))}
        of_all = {path: " ".join(re.findall(r"^pytestmark = .*", text, re.MULTILINE)) for path, text in texts.items()}
        return [
            str(path)
            for path, text in texts.items()
            if names(text, self.mark) and not any(names(of_all[path], mark) for mark in self.without)
        ]


def names(text: str, mark: str) -> bool:
    """Return whether a file with this text may give a test the mark; ``tests/conftest.py`` checks that each does so by
    its name."""
    return f"mark.{mark}" in text


FAST = Part(
    name="fast", without=("engine", "lab", "loopback", "image", "drill"), processes=2, by_file=False, niceness=LOW
)
"""Lint, unit and golden tests, which need nothing."""
ENGINE = Part(name="engine", mark="engine", without=("drill",), processes=2, niceness=LOW)
"""Tests with the real Pulumi engine, a real API server or another tool. The engine gives a plugin ten seconds to answer
(pulumi 3.250.0, ``sdk/go/common/resource/plugin``, ``pluginRPCConnectionTimeout``), which more processes beside the
other lanes use up."""
IMAGES = Part(name="images", mark="image", without=("drill",), niceness=LOW)
"""Tests that build images and play their roles into folders: as root, without a machine that boots."""
LOOPBACK = Part(name="loopback", mark="loopback", without=("drill",), processes=2, niceness=LOW)
"""Members, API servers and controllers of a control plane, each a process on loopback: they wait, and boot nothing."""
MACHINES = Part(name="machines", mark="lab", without=("cluster", "drill"), processes=2)
"""Tests on real machines of the lab, in labs of their own."""
CLUSTER = Part(name="cluster", mark="cluster", without=("drill",))
"""Tests in a whole environment in the lab, which most of them share."""
DRILL = Part(name="drill", mark="drill", verbose=True)
"""Tests that kill, stall, roll or compile."""
LANES = ((MACHINES, CLUSTER), (ENGINE,), (FAST, IMAGES, LOOPBACK), (DRILL,))
"""Machines and the cluster are in one lane, for Linux gives a user too few inotify instances for both at once
(:mod:`lab.inotify`). API servers without machines run as a user of their own, who has as many again."""


@dataclass
class Result:
    """End of a part."""

    part: Part
    status: int
    seconds: float
    processor: float
    """Seconds of processor time of it and of all that it awaited."""
    summary: str
    """The last line that pytest printed."""
    failures: Sequence[str] = ()
    """Lines of pytest's summary that name a failed test."""

    def __str__(self) -> str:
        return f"{self.part.name:<9} {self.seconds:6.0f} s, {self.processor:6.0f} s of processor: {self.summary}"


def failures(lines: Sequence[str]) -> list[str]:
    """Return the lines of pytest's summary that name a failed test. Logs of tests, which may begin alike, come before
    the summary."""
    begins = max((at for at, line in enumerate(lines) if "= short test summary info =" in line), default=len(lines))
    return [line for line in lines[begins:] if line.startswith(("FAILED ", "ERROR "))]


def summarized(failures: Sequence[str]) -> list[str]:
    """Return the failures without the repetitions of one reason, which would hide the others: of each reason the first
    :data:`MOST_OF_A_REASON`, and the number of the rest."""
    numbers: dict[str, int] = {}
    lines = []
    for line in failures:
        reason = line.partition(" - ")[2]
        numbers[reason] = numbers.get(reason, 0) + 1
        if not reason or numbers[reason] <= MOST_OF_A_REASON:
            lines.append(line)
    more = {reason: number - MOST_OF_A_REASON for reason, number in numbers.items() if reason}
    return [*lines, *(f"{number} more - {reason}" for reason, number in more.items() if number > 0)]


@dataclass
class Lane:
    """Parts that run one after the other."""

    parts: Sequence[Part]
    chosen: Sequence[str]
    results: list[Result] = field(default_factory=list)
    running: subprocess.Popen[str] | None = None
    ended: bool = False
    """True once no further part may begin."""

    def run(self) -> None:
        """Run the parts until one fails."""
        for part in self.parts:
            if self.ended:
                return
            self.results.append(self._run(part))
            if self.results[-1].status:
                return

    def _run(self, part: Part) -> Result:
        _say(f"== {part.name}: begins at {time.strftime('%H:%M:%S', time.gmtime())} ==")
        started = time.monotonic()
        process = subprocess.Popen(
            part.words(self.chosen),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.running = process
        lines = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            _say(f"{part.name}: {lines[-1]}")
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        self.running = None
        return Result(
            part=part,
            status=process.returncode,
            seconds=time.monotonic() - started,
            processor=usage.ru_utime + usage.ru_stime,
            summary=next(filter(None, reversed(lines)), ""),
            failures=failures(lines),
        )

    def stop(self) -> None:
        """End what runs as Ctrl-C would: pytest takes its labs down."""
        self.ended = True
        if self.running is not None:
            os.killpg(self.running.pid, signal.SIGINT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts; return 0 when all passed. The lab's packages are installed first, for no test depends on another
    that installs them."""
    known = {part.name: part for lane in LANES for part in lane}
    parser = argparse.ArgumentParser(prog="python -m tests.run", description="Runs the tests in parts.")
    parser.add_argument("words", nargs="+", metavar="PART|FILE", help=f"{', '.join(known)}; files of tests")
    words = parser.parse_args(argv).words
    chosen = [word for word in words if word not in known]
    lanes = [Lane([part for part in lane if part.name in words], chosen) for lane in LANES]
    lanes = [lane for lane in lanes if lane.parts]
    if not lanes:
        parser.error(f"no part is called so: {', '.join(known)}")
    wanted = any(part is not FAST for lane in lanes for part in lane.parts)
    try:
        if wanted:
            LOGS.mkdir(parents=True, exist_ok=True)
            packages.ensure(log_dir=LOGS, progress=_say)
    except SetupError as error:
        _say(f"error: {error}")
        return 1
    with _compiling(wanted=wanted):
        _run_side_by_side(lanes)
    results = [result for lane in lanes for result in lane.results]
    print()
    for result in results:
        for line in summarized(result.failures):
            print(f"{result.part.name}: {line}")
    for result in results:
        print(result)
    missing = [part.name for lane in lanes for part in lane.parts[len(lane.results) :]]
    failed = [result.part.name for result in results if result.status] + missing
    print(f"failed or not run: {', '.join(failed)}" if failed else "all parts passed", flush=True)
    return 1 if failed else 0


def _run_side_by_side(lanes: Sequence[Lane]) -> None:
    """Run the lanes. A signal ends what runs, and the run with it. The handler raises nothing: join() would take a
    thread for ended (python/cpython issue 90882)."""

    def stop(*_: object) -> None:
        for lane in lanes:
            lane.stop()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    threads = [threading.Thread(target=lane.run) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@contextmanager
def _compiling(*, wanted: bool) -> Iterator[None]:
    """Make the tools meanwhile."""
    if not wanted:
        yield
        return
    words = ["nice", "-n", str(LOWEST), sys.executable, "-m", "lab.tools", "ensure"]
    with (LOGS / "tools.log").open("w", encoding="utf-8") as log:
        tools = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield
        finally:
            tools.terminate()
            tools.wait()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
