"""The run of the tests in parts."""

from __future__ import annotations

from tests.run import failures

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
