"""Promises of pages about attacks are proven by tests that exist, row by row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDERS = {
    "security": "tests/redteam",
    "threat-model": "tests/redteam",
    "review": "tests/longhaul/review",
    "teams": "tests/redteam",
    "quarantine": "tests/redteam",
}
"""Pages, and the folder of the tests that they name without one."""
NAMED = re.compile(r"`([\w./-]*test_\w+\.py|…)(?:::(\w+))?`")


@pytest.mark.parametrize("page", FOLDERS)
def test_each_named_test_exists(root: Path, page: str) -> None:
    """A name without a folder is in the page's, or beside the test before it; `…` is the file before it."""
    text = (root / "docs" / f"{page}.md").read_text(encoding="utf-8")
    files = [path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py")]
    before, missing = "", []
    for name, function in NAMED.findall(text):
        beside = f"{Path(before).parent}/{name}"
        known = [file for file in (name, f"{FOLDERS[page]}/{name}", beside) if file in files]
        known += [file for file in files if "/" in name and file.endswith(f"/{name}")]
        file = before if name == "…" else (known or [""])[0]
        if not file or f"def {function}" not in (root / file).read_text(encoding="utf-8"):
            missing.append(f"{name}::{function}")
        before = file or before
    assert missing == []


@pytest.mark.parametrize("page", ["security", "threat-model"])
def test_each_row_of_attacks_names_its_test(root: Path, page: str) -> None:
    columns, rows = 0, {}
    for line in (root / "docs" / f"{page}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if not line.startswith("|"):
            # What follows an empty line has no heading, and is no table to a reader.
            columns = 0 if line.strip() else -1 if columns else 0
        elif cells[-1] == "Test":
            columns = len(cells)
        elif columns > 0 and not line.startswith("|--"):
            rows[line] = len(cells) == columns and ("test" in cells[-1] or cells[-1] == "the same")
        elif columns < 0 and not line.startswith("| W"):
            rows[line] = False
    assert [line for line, is_proven in rows.items() if not is_proven] == []
    assert len(rows) > 20
