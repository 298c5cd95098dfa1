"""Habits that a linter does not know."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LINES = 450
"""A Python file that is longer asks to be two. Below it concerns decide, not the count; most files have a third."""

REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("proxy", "golang", "org"),
        ("sum", "golang", "org"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("registry", "npmjs", "org"),
    )
]
"""Which registry or mirror is asked is the machine's own setting, never the project's. Put together here, so that this
file does not name them."""

HOME = re.compile(r"(?<![\w.}-])/(home|Users)/[a-z]")


def tracked() -> list[Path]:
    """Every file that git knows, and those it would be given."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


FILES = tracked()


def lines() -> list[tuple[str, str]]:
    """Every line of every text file, with where it is."""
    found = []
    for path in FILES:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [(f"{path.relative_to(ROOT)}:{number}", line) for number, line in enumerate(text.splitlines(), 1)]
    return found


LINES_OF_TEXT = lines()


def test_there_are_files_to_look_at() -> None:
    assert Path(__file__) in FILES
    assert len(LINES_OF_TEXT) > 1000


def test_no_python_file_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES if path.suffix == ".py"}
    assert {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > LINES} == {}


@pytest.mark.parametrize("host", REGISTRIES)
def test_no_package_registry_is_named(host: str) -> None:
    assert [place for place, line in LINES_OF_TEXT if host in line] == []


def test_no_path_of_the_machine_is_named() -> None:
    """Neither where this checkout lies, nor anybody's home."""
    here = re.compile(rf"(?<![\w.}}-]){re.escape(str(ROOT))}(?![\w-])")
    assert [place for place, line in LINES_OF_TEXT if here.search(line) or HOME.search(line)] == []
