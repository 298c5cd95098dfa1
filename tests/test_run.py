"""The run of the tests in parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.run import CLUSTER, DRILL, ENGINE, FAST, MACHINES, ROOT, failures, summarized

OUTPUT = """\
.F..E                                                                    [100%]
=================================== FAILURES ===================================
------------------------------ Captured log call -------------------------------
ERROR    asyncio:base_events.py:1785 Task exception was never retrieved
=========================== short test summary info ============================
SKIPPED [1] tests/test_a.py:3: no such tool
FAILED tests/test_a.py::test_sizes[2-x y] - assert 1 == 2
ERROR tests/test_b.py::test_roots - KeyError: 'a'
2 failed, 3 passed in 0.10s
"""


def test_the_end_of_a_run_names_each_failed_test() -> None:
    assert failures(OUTPUT.splitlines()) == [
        "FAILED tests/test_a.py::test_sizes[2-x y] - assert 1 == 2",
        "ERROR tests/test_b.py::test_roots - KeyError: 'a'",
    ]
    assert failures(["ERROR    asyncio: no summary"]) == []


def test_a_reason_of_many_failures_hides_no_other() -> None:
    many = [f"ERROR tests/test_c.py::test_{number} - AssertionError: no lab" for number in range(9)]
    others = [
        "FAILED tests/test_a.py::test_a - KeyError: 'a'",
        "FAILED tests/test_b.py::test_b",
        "FAILED tests/test_d.py",
    ]
    lines = summarized([others[0], *many, *others[1:]])
    assert lines == [others[0], *many[:2], *others[1:], "7 more - AssertionError: no lab"]


def test_a_part_reads_the_files_that_name_its_mark(tmp_path: Path) -> None:
    lines = {
        "test_plain.py": "",
        "test_engine.py": "pytestmark = [pytest.mark.engine, NEEDS_ROOT]",
        "test_some.py": "@pytest.mark.lab\n@pytest.mark.drill\ndef test_a(): ...\n@pytest.mark.lab\ndef test_b(): ...",
        "test_cluster.py": "pytestmark = [pytest.mark.lab, pytest.mark.cluster]",
        "test_killed.py": "pytestmark = [pytest.mark.lab, pytest.mark.drill]",
    }
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
    for part, files in (
        (FAST, []),
        (ENGINE, ["test_engine.py"]),
        (MACHINES, ["test_some.py"]),
        (CLUSTER, ["test_cluster.py"]),
        (DRILL, ["test_killed.py", "test_some.py"]),
    ):
        assert [Path(path).name for path in part.files(tmp_path)] == files, part.name


INTERRUPTED = """
import os, signal, threading
from tests import run

class Slow:
    ended = threading.Event()
    def run(self):
        os.kill(os.getpid(), signal.SIGINT)
        self.ended.wait()
        print("taken down", flush=True)
    def stop(self):
        print("stopped", flush=True)
        threading.Timer(0.3, self.ended.set).start()

run._run_side_by_side([Slow()])
print("over", flush=True)
"""
"""A lane that is interrupted, and takes its lab down for a while."""


def test_an_interrupted_run_waits_for_what_it_has_begun() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == ["stopped", "taken down", "over"]
