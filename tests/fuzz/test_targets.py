"""Every reader of what others wrote, with each single value of what it reads changed, or cut short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.catalogue import TARGETS
from tests.fuzz.mutations import DEEP, single
from tests.support.project import REPOSITORY

MOST = 300
"""Number of changes that are tried. An environment's file has more, and each takes some milliseconds."""


@pytest.mark.parametrize("name", TARGETS)
def test_it_answers_whatever_it_reads(name: str, tmp_path: Path) -> None:
    """An exception that the reader does not document ends the test."""
    target = TARGETS[name](tmp_path)
    changed = [one for seed in target.seeds if not isinstance(seed, bytes) for one in single(seed)]
    for data in changed[:: len(changed) // MOST + 1]:
        target.read(data)
    for seed in target.written():
        for end in range(0, len(seed), len(seed) // 100 + 1):
            target.read(seed[:end])
            target.read(seed[:end] + b"\xff" + seed[end + 1 :])
    target.read(DEEP.encode())


@pytest.mark.drill
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_breaks_it(name: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.fuzz", name, "--seconds=60", f"--corpus={tmp_path / 'corpus'}"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
