"""Refuse names that say nothing, and class names that stand for two things (``lab/lint.sh names``, on the product).
Tests are not read: a stand-in may have the name of what it stands in for."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

FOLDERS = (
    *("client", "clouds", "components", "contract", "images/rootfs", "lab", "longhaul", "playbooks", "services"),
    "stacks",
)
"""Folders of the product."""

VAGUE = frozenset(("found", "heard", "held", "one", "own", "said", "seen", "told", "untold"))
"""Words that are no names: each tells what somebody did, none what the thing is."""

PLUGINS = frozenset(("FilterModule", "LookupModule"))
"""Names by which Ansible finds the class of a plugin, one a file."""


def vague(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of every function, field, parameter and variable with a vague name."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                pass
            case _:
                continue
        if name.strip("_") in VAGUE:
            yield node.lineno, name


def classes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of every class."""
    yield from ((node.lineno, node.name) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def faults(sources: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each fault in files, given by path and text."""
    places = defaultdict(list)
    for path, text in sources:
        tree = ast.parse(text, path)
        for line, name in vague(tree):
            yield f"{path}:{line}: `{name}` is not a name: use the name of the thing, such as `node` or `reason`"
        for line, name in classes(tree):
            if name not in PLUGINS:
                places[name].append(f"{path}:{line}")
    for name, where in places.items():
        if len(where) > 1:
            yield f"{where[0]}: class `{name}` is also in {', '.join(where[1:])}: give each a name of its own"


def main() -> int:
    """Print every fault of the product's files, and return the exit code."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    names = sorted(set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()))
    folders = tuple(f"{folder}/" for folder in FOLDERS)
    paths = [name for name in names if name.startswith(folders)]
    lines = list(faults([(path, Path(path).read_text(encoding="utf-8")) for path in paths if Path(path).is_file()]))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
