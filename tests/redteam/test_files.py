"""Files that a stranger may put into a pull request: none of them crashes, hangs or fills what reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.model import ConfigurationError
from longhaul.engine.throwaway import copy_stack_file
from longhaul.judgement.text_changes import machine_files
from longhaul.project.checkout import Project
from longhaul.project.stack_file_secrets import encryption
from longhaul.review.stack_without_secrets import project_without_secrets
from longhaul.terminal.exits import CommandError

ROOT = Path(__file__).parents[2]

NESTED = f"encryptionsalt: v1:a\nconfig: {'[' * 20_000}"
DIGITS = f"encryptionsalt: v1:a\nconfig: {{a:b: {'9' * 5_000}}}\n"
REPEATED = "encryptionsalt: v1:a\na: &a [1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
FORGED = pytest.mark.parametrize("text", [NESTED, DIGITS, REPEATED], ids=["nested", "digits", "repeated"])


def _of_project(path: Path) -> object:
    path.rename(path.parents[1] / "Pulumi.yaml")
    return Project(root=path.parents[1]).definition()


READERS: dict[str, Callable[[Path], object]] = {
    "project": _of_project,
    "copy": lambda path: copy_stack_file(path, path.with_name("copy.yaml"), decrypts=False),
    "init": encryption,
}


@FORGED
@pytest.mark.parametrize("reader", READERS)
def test_a_forged_file_is_refused_by_each_reader(reader: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "stacks" / "Pulumi.dev.yaml"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises((ConfigurationError, CommandError)):
        READERS[reader](path)


@FORGED
def test_forged_user_data_in_a_preview_counts_as_unreadable(text: str) -> None:
    assert machine_files({"userData": text}) == {}


@pytest.mark.parametrize("reader", ["copy", "init"])
def test_a_link_to_a_device_without_an_end_is_refused(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.symlink_to("/dev/zero")
    with pytest.raises((ConfigurationError, CommandError)):
        READERS[reader](path)


def _strange(stacks: Path) -> Iterator[Path]:
    """Yield files that a pull request adds beside those of the environment that is planned."""
    for name, target in (("zero", "/dev/zero"), ("out", "../../outside.yaml"), ("dead", "none.yaml")):
        path = stacks / f"Pulumi.{name}.yaml"
        path.symlink_to(target)
        yield path
    path = stacks / "Pulumi.latin.yaml"
    path.write_bytes(b"\xe9")
    yield path
    path = stacks / "Pulumi.folder.yaml"
    path.mkdir()
    yield path
    path = stacks / "notes"
    path.symlink_to("/dev/zero")
    yield path


def test_strange_files_beside_an_environment_do_not_end_its_review(tmp_path: Path) -> None:
    stacks = tmp_path / "checkout" / "stacks"
    stacks.mkdir(parents=True)
    outside = tmp_path / "outside.yaml"
    outside.write_text("encryptionsalt: mine\n")
    (stacks.parent / "Pulumi.yaml").write_text("name: longhaul\n")
    (stacks / "Pulumi.dev.yaml").write_text("encryptionsalt: v1:a\nconfig: {}\n")
    strange = {path.name for path in _strange(stacks)}
    copy = project_without_secrets(
        Project(root=stacks.parent), "dev", folder=tmp_path / "copy", program=stacks.parent, environ={"PATH": ""}
    ).project.stacks
    assert (copy / "Pulumi.dev.yaml").read_text() == "\nconfig: {}\n"
    assert {path.name for path in copy.iterdir()} == {"Pulumi.dev.yaml", "notes"} < {"Pulumi.dev.yaml", *strange}
    assert (copy / "notes").is_symlink()
    assert outside.read_text() == "encryptionsalt: mine\n"


def test_yaml_that_others_wrote_has_one_reader() -> None:
    reads = re.compile(r"\byaml\.(load|safe_load|full_load|unsafe_load|parse|scan)\w*\(")
    packages = ("clouds", "components", "contract", "longhaul", "services", "stacks")
    found = [
        str(path.relative_to(ROOT))
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if reads.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["components/model/loading/document.py"]
