"""Findings, wrapped lines and JSON for programs are each implemented in one place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = "longhaul/racks/ansible_script.py"
"""Script that Ansible runs: it prints an inventory, which no ``--json`` asks for."""


def trees() -> Iterator[tuple[str, ast.AST]]:
    """Yield every module of the clouds and of the command."""
    for folder in ("clouds", "longhaul"):
        for path in (ROOT / folder).rglob("*.py"):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def a_finding(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and node.name in ("Finding", "Severity", "Level")


def wraps(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("textwrap.wrap", "textwrap.fill")


def prints_json(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node).startswith("print(json.dumps(")


@pytest.mark.parametrize(
    ("holds", "places"),
    [
        (a_finding, {"clouds/base/findings.py"}),
        (wraps, {"longhaul/report/text.py"}),
        # What kubectl reads of its plugin, the client alone, and a script for hosts: none has the rest of the program.
        (prints_json, {SCRIPT, "longhaul/client/__main__.py", "longhaul/client/vpn/command.py"}),
    ],
)
def test_it_is_in_one_place(holds: Callable[[ast.AST], bool], places: set[str]) -> None:
    assert {name for name, tree in trees() if any(map(holds, ast.walk(tree)))} == places
