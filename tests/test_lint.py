"""Every static check as a test. They run beside the other tests, so they add no time."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import lint_names

SCRIPT = Path(__file__).parents[1] / "lab" / "lint.sh"
TEXT = SCRIPT.read_text(encoding="utf-8")
CHECKS = re.findall(r"\|\| set -- (.+)", TEXT)[0].split()
"""Checks that the script runs when none is named."""

SDKS = ("pulumi_aws", "pulumi_azure_native")


@pytest.mark.parametrize("check", CHECKS)
def test_lint(check: str) -> None:
    done = subprocess.run([SCRIPT, check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_these_are_all() -> None:
    defined = re.findall(r"^(\w+)\(\) \{", TEXT, re.MULTILINE)
    assert sorted(defined) == sorted(CHECKS)


VAGUE = """
class Watch:
    held: list[str]

    def told(self, one: str) -> None:
        self._seen = one
"""


def test_a_name_that_is_a_verb_is_refused() -> None:
    refused = list(lint_names.faults([("longhaul/a.py", VAGUE)]))
    assert sorted(line.split("`")[:2] for line in refused) == [
        ["longhaul/a.py:3: ", "held"],
        ["longhaul/a.py:5: ", "one"],
        ["longhaul/a.py:5: ", "told"],
        ["longhaul/a.py:6: ", "_seen"],
    ]


def test_a_class_name_that_stands_for_two_things_is_refused() -> None:
    sources = [
        ("clouds/a.py", "class Pool: ..."),
        ("longhaul/b.py", "class Pool: ..."),
        ("lab/c.py", "class Site: ..."),
    ]
    [refused] = lint_names.faults(sources)
    assert refused.startswith("clouds/a.py:1: class `Pool` is also in longhaul/b.py:1: ")


def test_what_is_used_of_the_clouds_sdks_is_checked_by_type(root: Path) -> None:
    """Of the SDKs' 2,600 modules mypy reads only those named; anything from the others would have type ``Any``."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["overrides"]
    read = {name.removesuffix(".*") for one in settings if one["follow_imports"] == "normal" for name in one["module"]}
    used = {name for path in (root / "components").rglob("*.py") for name in _of_the_sdks(path)}
    assert len(used) > 8
    assert used - read == set()


def _of_the_sdks(path: Path) -> Iterator[str]:
    """Yield the modules of the clouds' SDKs that a file uses: imported by name, or as attributes of a package."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    packages = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in SDKS:
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name[0].islower())
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in SDKS:
            yield str(node.module)
        elif isinstance(node, ast.Import):
            packages |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in SDKS}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr[0].islower():
            package = packages.get(node.value.id)
            if package is not None:
                yield f"{package}.{node.attr}"
