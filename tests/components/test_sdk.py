"""What the program asks the SDK to leave out, and that errors stay whole."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import gc, sys, traceback
from components.sdk import FRAMES, lean

def deep(n):
    return deep(n - 1) if n else len(traceback.extract_stack())

with lean():
    assert deep(40) == FRAMES
    assert not gc.isenabled()

def fail(n):
    if n:
        fail(n - 1)
    raise ValueError("the innermost")

with lean():
    fail(40)
"""


@pytest.fixture(name="done")
def _done() -> subprocess.CompletedProcess[str]:
    """In a process of its own: it concerns all of one."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, check=False)


def test_the_stack_is_cut_and_an_error_is_not(done: subprocess.CompletedProcess[str]) -> None:
    assert done.stderr.splitlines()[-1] == "ValueError: the innermost"
    assert "AssertionError" not in done.stderr
    assert "repeated 37 more times" in done.stderr


def test_importing_it_changes_nothing() -> None:
    import components.sdk  # noqa: F401

    assert gc.isenabled()
    assert not hasattr(sys, "tracebacklimit")
