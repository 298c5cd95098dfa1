"""Rules of style that a linter does not know."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
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
ASKED = re.compile(rf"[\"']\W*({'|'.join(sorted(QUESTIONS))})\b", re.IGNORECASE)


def tracked() -> list[Path]:
    """Return every file that git tracks, and those that ``git add`` would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


FILES = tracked()


@cache
def texts() -> dict[Path, str]:
    """Return the content of every text file."""
    read = {}
    for path in FILES:
        with suppress(UnicodeDecodeError):
            read[path] = path.read_text(encoding="utf-8")
    return read


def places(matches: Callable[[str], object]) -> list[str]:
    """Return the places of the lines that match. A file without a match is not divided into lines."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path, text in texts().items()
        if matches(text)
        for number, line in enumerate(text.splitlines(), 1)
        if matches(line)
    ]


def test_there_are_files_to_look_at() -> None:
    assert Path(__file__) in texts()
    assert len(texts()) > 1000
    assert len(places(lambda text: "def test_there_are_files_to_look_at" in text)) == 2


def test_no_python_file_is_too_long() -> None:
    lengths = {path: len(text.splitlines()) for path, text in texts().items() if path.suffix == ".py"}
    assert {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > LINES} == {}


@pytest.mark.parametrize("host", REGISTRIES)
def test_no_package_registry_is_named(host: str) -> None:
    assert places(lambda text: host in text) == []


def test_no_path_of_the_machine_is_named() -> None:
    """Neither the path of this checkout nor a home folder is named."""
    here = re.compile(rf"(?<![\w.}}-]){re.escape(str(ROOT))}(?![\w-])")
    assert places(lambda text: here.search(text) or HOME.search(text)) == []


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of the docstrings of a module, its classes and functions, and of those below attributes."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text


def questions(source: str) -> list[int]:
    """Lines of the docstrings that begin with a question. A source without a string that begins so is not parsed."""
    if not ASKED.search(source):
        return []
    first = ((line, re.search(r"\w+", text)) for line, text in docstrings(source))
    return [line for line, word in first if word is not None and word[0].lower() in QUESTIONS]


def test_a_docstring_that_begins_with_a_question_is_found() -> None:
    assert questions('"""Return it."""\nON = True\n"""Whether it is on."""\n') == [3]


def test_no_docstring_begins_with_a_question() -> None:
    sources = ((path, text) for path, text in texts().items() if path.suffix == ".py")
    assert {str(path.relative_to(ROOT)): found for path, text in sources if (found := questions(text))} == {}
