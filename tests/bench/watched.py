"""Watches a command and all of its descendants in ``/proc`` (proc(5)): processor time and memory by part."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
BETWEEN_S = 0.02
"""Seconds between two looks. What a process uses after its last look is in the total alone."""

COMMAND, ENGINE, HOST, PROGRAM, PLUGINS = PARTS = ("command", "engine", "language host", "program", "plugins")


@dataclass(frozen=True, kw_only=True)
class Look:
    """State of one process at one moment."""

    parent: int
    cpu_s: float
    resident: int
    """Bytes."""
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Resources that a command used."""

    stdout: str
    wall_s: float
    cpu_s: float
    """Processor seconds of all processes, exactly, as the kernel counts those that were waited for."""
    peak: int
    """Bytes resident in all processes at once; a page that two share counts twice."""
    parts_s: Mapping[str, float]
    """Processor seconds by part."""
    programs: int
    """Number of processes that ran the Pulumi program."""


def watch(words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> Watched:
    """Run a command and watch it; ``CalledProcessError`` when it fails."""
    began, before = time.monotonic(), _children_cpu_s()
    seen: dict[int, Look] = {}
    peak = 0
    with subprocess.Popen(words, cwd=cwd, env=dict(environ), stdout=subprocess.PIPE, text=True) as child:
        while child.poll() is None:
            tree = _tree(child.pid)
            peak = max(peak, sum(look.resident for look in tree.values()))
            seen |= {pid: _named(look, seen.get(pid)) for pid, look in tree.items()}
            time.sleep(BETWEEN_S)
        stdout = child.stdout.read() if child.stdout else ""
    wall_s, cpu_s = time.monotonic() - began, _children_cpu_s() - before
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, words, stdout)
    parts = {pid: part_of(look.words) for pid, look in seen.items()}
    return Watched(
        stdout=stdout,
        wall_s=wall_s,
        cpu_s=cpu_s,
        peak=peak,
        parts_s={part: sum(seen[pid].cpu_s for pid in seen if parts[pid] == part) for part in PARTS},
        programs=sum(part == PROGRAM for part in parts.values()),
    )


def part_of(words: Sequence[str]) -> str:
    """Return the part of a preview that a command line belongs to."""
    names = [Path(word).name for word in words]
    if "pulumi-language-python-exec" in names:
        return PROGRAM
    if any(name.startswith("pulumi-resource-") or name == "pulumi.dynamic" for name in names) or any(
        word.startswith("lab.providers.") for word in words
    ):
        return PLUGINS
    if "pulumi-language-python" in names or "pip" in names:
        return HOST
    return ENGINE if names[:1] == ["pulumi"] else COMMAND


def _named(look: Look, earlier: Look | None) -> Look:
    """Keep the earlier command line: a process that ends has none any more."""
    return replace(look, words=earlier.words) if earlier is not None and not any(look.words) else look


def _tree(root: int) -> dict[int, Look]:
    """Return the process and all of its descendants."""
    everyone = dict(_everyone())
    found = {root} & {*everyone}
    while more := {pid for pid, look in everyone.items() if look.parent in found} - found:
        found |= more
    return {pid: everyone[pid] for pid in found}


def _everyone() -> list[tuple[int, Look]]:
    return [
        (int(entry.name), seen)
        for entry in PROC.iterdir()
        if entry.name.isdigit() and (seen := look(entry)) is not None
    ]


def look(entry: Path) -> Look | None:
    """Return the state of one process, by its folder in :data:`PROC`; None when it is gone."""
    try:
        # From the third field on: the second, the name, may contain anything.
        fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return Look(
        parent=int(fields[1]),
        cpu_s=(int(fields[11]) + int(fields[12])) / TICKS,
        resident=int(fields[21]) * PAGE,
        words=tuple(words),
    )


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def imports_cpu_s(statements: str, *, cwd: Path, environ: Mapping[str, str]) -> float:
    """Return the processor seconds of a Python that runs ``statements`` and ends."""
    before = _children_cpu_s()
    subprocess.run([sys.executable, "-c", statements], cwd=cwd, env=dict(environ), check=True)
    return _children_cpu_s() - before
