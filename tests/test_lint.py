"""Every check that runs nothing, each of them a test: beside the others, they cost no time of their own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "lab" / "lint.sh"
CHECKS = ("mypy", "ansible_lint", "programs", "shellcheck", "yamllint", "ruff", "format")
"""The longest first."""


@pytest.mark.parametrize("check", CHECKS)
def test_lint(check: str) -> None:
    done = subprocess.run([SCRIPT, check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_these_are_all() -> None:
    defined = re.findall(r"^(\w+)\(\) \{", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(defined) == sorted(CHECKS)
