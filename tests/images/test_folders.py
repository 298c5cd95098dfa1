"""A folder of machine programs names its units, settings, installation and tests, and all of these exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

LIBRARY = "usr/local/lib/longhaul"
ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent.name for path in (ROOT / "images/rootfs" / LIBRARY).glob("*/__init__.py"))
UNIT = re.compile(r"[\w@-]+\.(?:service|socket|timer|path|target)\b")
PATH = re.compile(r"\b(?:components|contract|images|playbooks|tests)/[\w./-]*\w|\btools\.toml\b")


def page(folder: str) -> str:
    text = (ROOT / "images/rootfs" / LIBRARY / folder / "__init__.py").read_text()
    return ast.get_docstring(ast.parse(text)) or ""


def units(folder: str) -> set[str]:
    """Return the units that start a program of a folder."""
    systemd = ROOT / "images/rootfs/etc/systemd/system"
    started = re.compile(rf"/longhaul-program {folder}\.")
    return {path.name for path in systemd.iterdir() if started.search(path.read_text())}


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_a_folder_names_exists(folder: str) -> None:
    text = page(folder)
    named = set(UNIT.findall(text))
    assert units(folder) <= named
    assert {name for name in named if not (ROOT / "images/rootfs/etc/systemd/system" / name).exists()} == set()
    paths = set(PATH.findall(text))
    assert {path for path in paths if not (ROOT / path).exists()} == set()
    assert f"tests/images/{folder}" in paths
    assert {"Settings:", "Tests:"} <= set(text.split())
