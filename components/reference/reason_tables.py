"""Tables of reasons in Markdown: each member of an enumeration in ``contract/reasons``, and the sentence below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import contract.reasons


def reason_table(part: str) -> str:
    """Render the reasons of one part, the name of a module of ``contract/reasons``."""
    rows = "".join(f"| `{member}` | {meaning} |\n" for member, meaning in meanings(part))
    return f"| Reason | |\n|---|---|\n{rows}"


def meanings(part: str) -> Iterator[tuple[str, str]]:
    """Yield each member's value and its meaning; the meaning is empty when no docstring follows the member."""
    source = Path(contract.reasons.__path__[0], f"{part}.py").read_text(encoding="utf-8")
    for enumeration in (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)):
        for member, below in zip(enumeration.body, [*enumeration.body[1:], ast.Pass()], strict=True):
            match member, below:
                case ast.Assign(value=ast.Constant(value=str(value))), ast.Expr(value=ast.Constant(value=str(meaning))):
                    yield value, " ".join(meaning.split())
                case ast.Assign(value=ast.Constant(value=str(value))), _:
                    yield value, ""
