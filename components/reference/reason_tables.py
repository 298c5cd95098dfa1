"""Tables of reasons in Markdown: each member of the enumerations in ``contract/reasons``, and the sentence below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import contract.reasons


@dataclass(frozen=True, kw_only=True)
class ReasonSource:
    """An enumeration of reasons, as its module writes it."""

    name: str
    """Name of the class."""
    meaning: str
    members: tuple[tuple[str, str], ...]
    """Value of each member, and the sentence below it; the sentence is empty if there is none."""


def reason_tables(part: str) -> str:
    """Render the reasons of one part, the name of a module of ``contract/reasons``."""
    return "\n".join(
        f"**{enumeration.meaning}**\n\n| `reason` | |\n|---|---|\n"
        + "".join(f"| `{value}` | {meaning} |\n" for value, meaning in enumeration.members)
        for enumeration in reason_sources(part)
    )


def reason_sources(part: str) -> Iterator[ReasonSource]:
    """Yield the enumerations of one part."""
    source = Path(contract.reasons.__path__[0], f"{part}.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "StrEnum" for base in node.bases):
            meaning = _in_a_line(ast.get_docstring(node) or "")
            yield ReasonSource(name=node.name, meaning=meaning, members=tuple(_members(node)))


def _members(enumeration: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for member, below in zip(enumeration.body, [*enumeration.body[1:], ast.Pass()], strict=True):
        match member, below:
            case ast.Assign(value=ast.Constant(value=str(value))), ast.Expr(value=ast.Constant(value=str(meaning))):
                yield value, _in_a_line(meaning)
            case ast.Assign(value=ast.Constant(value=str(value))), _:
                yield value, ""


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
