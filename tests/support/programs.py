"""Programs that stand in for others during a test."""

from __future__ import annotations

from pathlib import Path


def write_program(path: Path, text: str) -> Path:
    """Write an executable file, and its folder where that is missing; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path
