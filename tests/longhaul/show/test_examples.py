"""The examples are real environments, and their documentation is correct."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.model import load_directory
from longhaul import cli
from longhaul.cli.examples import PROJECT, example, example_project
from longhaul.project.checkout import example_names, examples_folder
from longhaul.show.gather import gather_overview
from longhaul.show.text import to_text
from longhaul.terminal.exits import CommandError, Exit


def test_every_example_is_valid_and_none_overlaps_another() -> None:
    assert list(load_directory(examples_folder())) == example_names()


@pytest.mark.parametrize("command", cli.OF_EXAMPLES)
def test_the_help_names_every_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in example_names())


def test_an_example_is_validated_without_being_copied(capsys: pytest.CaptureFixture[str], root: Path) -> None:
    before = sorted(root.glob("stacks/*"))
    assert cli.main(["validate", "--example", "prod"]) == Exit.OK
    assert capsys.readouterr().out.startswith("prod: valid\n")
    assert sorted(root.glob("stacks/*")) == before


@pytest.mark.parametrize("command", ["up", "destroy", "status", "init"])
def test_nothing_is_done_to_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--example", "prod"]) == Exit.USAGE
    assert "only show, validate, plan take an example" in capsys.readouterr().err


def test_warnings_about_an_example_name_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", "--example", "hybrid"]) == Exit.OK
    text = capsys.readouterr().out
    assert "  warning: examples/hosts.hybrid.yaml:" in text
    assert "longhaul-example-" not in text


def test_an_example_is_compared_with_nobodys_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own environment may have its name."""
    monkeypatch.setenv("LONGHAUL_ENV", "mine")
    with example_project("prod") as project:
        assert project.definition()["name"] == PROJECT
        assert project.environments() == ["prod"]
    assert not project.root.exists()


def test_hybrid_is_one() -> None:
    hybrid = example("hybrid")
    kinds = {site.kind: site for site in hybrid.sites.values()}
    assert set(kinds) == {"azure", "aws", "onprem"}
    assert {hybrid.sites[pool.site].kind for pool in hybrid.pools.values()} == {"azure", "aws"}
    (onprem,) = gather_overview(hybrid).hosts
    assert (onprem.hosts, len(onprem.gateways)) == (4, 2)


def test_an_example_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(CommandError, match="the examples are: hybrid, prod"):
        example("../hybrid")


def test_the_page_shows_how_hybrid_begins(root: Path) -> None:
    """Covers the head and the drawing, which contain no version."""
    page = (root / "docs" / "show.md").read_text(encoding="utf-8")
    _, _, after = page.partition("\n```text\n")
    shown, closed, _ = after.partition("```\n")
    text = to_text(gather_overview(example("hybrid")), cost="", everything=False, unicode=True)
    assert closed
    assert shown == text.partition("\n\nSites\n")[0] + "\n"
