"""Rules of style that a linter does not know."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LINES = 450
"""Maximum number of lines in a Python file. A longer file should be split. Below the limit, files are divided by
concern, not by length; most have a third of it."""

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
"""Package registries and mirrors. The machine's own settings choose between them, never the project. The names are put
together here, so that this file does not contain them."""

HOME = re.compile(r"(?<![\w.}-])/(home|Users)/[a-z]")

QUESTIONS = frozenset(("how", "what", "when", "where", "whether", "which", "who", "whom", "whose", "why"))
"""First words that no docstring has: it begins with a verb or a noun."""


def tracked() -> list[Path]:
    """Return every file that git tracks, and those that ``git add`` would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


FILES = tracked()


@cache
def lines() -> list[tuple[str, str]]:
    """Return every line of every text file, with its place."""
    found = []
    for path in FILES:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [(f"{path.relative_to(ROOT)}:{number}", line) for number, line in enumerate(text.splitlines(), 1)]
    return found


def test_there_are_files_to_look_at() -> None:
    assert Path(__file__) in FILES
    assert len(lines()) > 1000


def test_no_python_file_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES if path.suffix == ".py"}
    assert {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > LINES} == {}


@pytest.mark.parametrize("host", REGISTRIES)
def test_no_package_registry_is_named(host: str) -> None:
    assert [place for place, line in lines() if host in line] == []


def test_no_path_of_the_machine_is_named() -> None:
    """Neither the path of this checkout nor a home folder is named."""
    here = re.compile(rf"(?<![\w.}}-]){re.escape(str(ROOT))}(?![\w-])")
    assert [place for place, line in lines() if here.search(line) or HOME.search(line)] == []


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of the docstrings of a module, its classes and functions, and of those below attributes."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text


def questions(source: str) -> list[int]:
    """Lines of the docstrings that begin with a question."""
    first = ((line, re.search(r"\w+", text)) for line, text in docstrings(source))
    return [line for line, word in first if word is not None and word[0].lower() in QUESTIONS]


def test_a_docstring_that_begins_with_a_question_is_found() -> None:
    assert questions('"""Return it."""\nON = True\n"""Whether it is on."""\n') == [3]


def test_no_docstring_begins_with_a_question() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in FILES if path.suffix == ".py"}
    assert {str(path.relative_to(ROOT)): found for path, text in sources.items() if (found := questions(text))} == {}
