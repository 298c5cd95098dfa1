"""The page about the lab's AWS lists every difference that the code declares."""

from __future__ import annotations

from pathlib import Path

from lab.cloud.aws.differences import page


def test_the_page_has_every_difference(root: Path) -> None:
    text = (root / "docs" / "lab-differences.md").read_text(encoding="utf-8")
    assert f"<!-- moto:differences -->\n{page()}<!-- moto:end -->\n" in text
