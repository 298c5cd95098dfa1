"""The examples are real environments, and their documentation is correct."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from components.model import load_directory
from longhaul.commands import show
from longhaul.exits import CommandError
from longhaul.show.examples import FOLDER, example, names
from longhaul.show.survey import survey
from longhaul.show.text import to_text


def test_every_example_is_valid_and_none_overlaps_another() -> None:
    assert list(load_directory(FOLDER)) == names()


def test_the_help_names_every_example() -> None:
    parser = argparse.ArgumentParser()
    show.add_arguments(parser)
    assert all(name in parser.format_help() for name in names())


def test_hybrid_is_one() -> None:
    hybrid = example("hybrid")
    kinds = {site.kind: site for site in hybrid.sites.values()}
    assert set(kinds) == {"azure", "aws", "onprem"}
    assert {hybrid.sites[pool.site].kind for pool in hybrid.pools.values()} == {"azure", "aws"}
    (onprem,) = survey(hybrid).hosts
    assert (onprem.hosts, len(onprem.gateways)) == (4, 2)


def test_an_example_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(CommandError, match="there are: hybrid"):
        example("../hybrid")


def test_the_page_shows_how_hybrid_begins(root: Path) -> None:
    """Covers the head and the drawing, which contain no version."""
    page = (root / "docs" / "show.md").read_text(encoding="utf-8")
    _, _, after = page.partition("\n```text\n")
    shown, closed, _ = after.partition("```\n")
    text = to_text(survey(example("hybrid")), cost="", everything=False, unicode=True)
    assert closed
    assert shown == text.partition("\n\nSites\n")[0] + "\n"
