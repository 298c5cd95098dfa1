"""Project for each test."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from longhaul.project.checkout import Project
from tests.longhaul.init.asked import Here


@pytest.fixture(name="here")
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    root = tmp_path / "project"
    (root / "stacks").mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\n")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LONGHAUL_ENV", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return Here(project=Project(root=root), monkeypatch=monkeypatch, capsys=capsys)
