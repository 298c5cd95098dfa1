"""What the lab's AWS says of itself is what its page says."""

from __future__ import annotations

from pathlib import Path

from lab.cloud.aws.differences import page


def test_the_page_has_every_difference(root: Path) -> None:
    text = (root / "docs" / "lab-differences.md").read_text(encoding="utf-8")
    assert f"<!-- moto:differences -->\n{page()}<!-- moto:end -->\n" in text
