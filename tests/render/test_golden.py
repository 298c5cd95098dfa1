"""Golden copies of the files of the lab's first machine of each role. After an intended change: ``pytest tests/render
--update-golden``. What other machines and environments have otherwise is in test_machines.py and test_nodes.py.

Files that user-data carries stand in it by their paths.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import pytest

from components.model.versions.section import pinned
from components.render import File, files, user_data
from tests.render.conftest import TOKEN, cases, node_cases

GOLDEN = Path(__file__).parent / "golden"


ENVIRONMENT = "lab"


def _by_path(texts: dict[str, str]) -> dict[str, str]:
    """Return the files with the path of each in the place of its content in the user-data, where that is the same to
    the byte."""
    if (told := texts.get("user-data")) is None:
        return texts
    for path, text in texts.items():
        head = rf"(?m)^  - path: /{re.escape(path)}\n    owner: .*\n    permissions: .*\n    content: \|\n"
        if (entry := re.search(head + re.escape(_block(text)), told)) is not None:
            told = told[: entry.end() - len(_block(text))] + f"      [{path}]\n" + told[entry.end() :]
    return {**texts, "user-data": told}


def _block(text: str) -> str:
    return "".join(f"      {line}" if line.strip("\n") else line for line in StringIO(text))


def machines() -> dict[str, dict[str, str]]:
    """Return the texts of the first machine of each role, by its name and their paths."""
    found: dict[str, dict[str, str]] = {}
    roles: set[str] = set()
    for case in (one for one in cases() if one.environment.name == ENVIRONMENT):
        if case.machine.role not in roles:
            roles.add(case.machine.role)
            named = files(case.environment, case.addresses, case.machine)
            user_data_ = user_data(case.environment, case.addresses, case.machine)
            found[case.machine.name] = {**_contents(named), "user-data": user_data_}
    for node in (one for one in node_cases() if one.environment.name == ENVIRONMENT):
        own = node.user_data()
        found[node.name] = {**_contents(node.files()), **({"user-data": own} if own is not None else {})}
    return found


def _contents(found: Mapping[str, File]) -> dict[str, str]:
    return {path.removeprefix("/"): file.content for path, file in found.items()}


def _timeless(text: str) -> str:
    """Return the text without a token and the version of Kubernetes, which is written in ``tools.toml`` alone."""
    return text.replace(TOKEN, "[token]").replace(pinned("kubernetes"), "[kubernetes]")


def test_every_file_is_as_it_was(request: pytest.FixtureRequest) -> None:
    wanted = {
        f"{ENVIRONMENT}/{name}/{path}": text
        for name, texts in machines().items()
        for path, text in _by_path({path: _timeless(text) for path, text in texts.items()}).items()
    }
    if request.config.getoption("--update-golden", default=False):
        for folder in (path for path in GOLDEN.glob("*/*") if path.is_dir()):
            shutil.rmtree(folder)
        for path, text in wanted.items():
            (GOLDEN / path).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / path).write_text(text)
    held = {path for path in GOLDEN.glob("*/*/**/*") if path.is_file()}
    assert {str(path.relative_to(GOLDEN)): path.read_bytes().decode() for path in held} == wanted
