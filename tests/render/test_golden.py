"""What each machine gets, file by file: ``pytest tests/render --update-golden`` after a change that is meant."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from components.render import files, user_data
from tests.render.conftest import TOKEN, Case, NodeCase, cases, node_cases

GOLDEN = Path(__file__).parent / "golden"


def rendered(case: Case) -> dict[str, str]:
    """Every file by its path below the machine's folder, and the user-data that carries them."""
    found = files(case.environment, case.addresses, case.machine)
    texts = {path.removeprefix("/"): file.content for path, file in found.items()}
    return texts | {"user-data": user_data(case.environment, case.addresses, case.machine)}


def node_rendered(node: NodeCase) -> dict[str, str]:
    """The same of a pool's machines or a rack host, without the token."""
    texts = {path.removeprefix("/"): file.content for path, file in node.files().items()}
    user_data = node.user_data()
    texts |= {"user-data": user_data} if user_data is not None else {}
    return {path: text.replace(TOKEN, "[token]") for path, text in texts.items()}


def folder(case: Case) -> Path:
    return GOLDEN / case.environment.name / case.machine.name


def node_folder(node: NodeCase) -> Path:
    return GOLDEN / node.environment.name / node.name


def test_every_file_is_as_it_was(case: Case, request: pytest.FixtureRequest) -> None:
    _compare(folder(case), rendered(case), request)


def test_every_file_of_a_node_is_as_it_was(node: NodeCase, request: pytest.FixtureRequest) -> None:
    _compare(node_folder(node), node_rendered(node), request)


def _compare(place: Path, wanted: dict[str, str], request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden", default=False):
        _write(place, wanted)
    held = {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}
    assert held == wanted


def test_no_golden_file_is_left_of_a_machine_that_is_gone() -> None:
    wanted = {folder(case) for case in cases()} | {node_folder(node) for node in node_cases()}
    assert {path for path in GOLDEN.glob("*/*") if path.is_dir()} == wanted


def _write(target: Path, texts: dict[str, str]) -> None:
    if target.exists():
        shutil.rmtree(target)
    for path, text in texts.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text)
