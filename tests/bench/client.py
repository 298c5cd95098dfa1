"""Benchmark of the client: the time from its start to its end, of a command that has nothing to wait for."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.client_wheel import install

REPEATS = 9


def measure(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    program = install(folder / "client") / "longhaul"
    for words in (["--version"], ["login", "--help"]):
        yield f"client, {' '.join(words)}, median ms", statistics.median(_ms(program, words) for _ in range(REPEATS))


def _ms(program: Path, words: list[str]) -> float:
    began = time.monotonic()
    subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - began) * 1000
