"""``longhaul show`` as a user runs it: what it needs, and its errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from components.model import load
from components.model.prices.book import PriceBook
from longhaul.costs.cost import price_of
from longhaul.costs.priced_needs import priced_needs
from longhaul.costs.text import cost_json, cost_text
from longhaul.prices.write import save
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, Checkout, FakeEngine
from tests.longhaul.prices.conftest import price

HEAVY = ("pulumi", "boto3", "botocore", "azure", "grpc", "kubernetes", "ansible", "moto", "lab")
"""Modules that a command that only reads a file must not load."""


def test_an_environment_is_shown_and_no_engine_is_started(checkout: Checkout, engine: FakeEngine) -> None:
    done = checkout.run("show", "--env", "dev")
    assert done.returncode == Exit.OK, done.stderr
    assert done.stdout.startswith("dev: 1 site (1 cloud region), 0 nodes, control plane of 3 machines in weu\n")
    assert "`longhaul prices --env dev`" in done.stdout
    assert done.stderr == ""
    assert engine.calls() == []


def test_what_it_costs_is_what_prices_says(checkout: Checkout) -> None:
    environment = load(checkout.path / "stacks" / "Pulumi.dev.yaml")
    book = PriceBook({need.key: price("1.25") for need in priced_needs(environment)})
    save(book, checkout.path / "stacks" / "prices.yaml")
    cost = price_of(environment, book)
    whole = checkout.run("show", "--env", "dev").stdout
    assert whole.endswith(f"\nCost\n{indent(cost_text(cost), '  ')}\n")
    assert json.loads(checkout.run("show", "--env", "dev", "--json").stdout)["cost"] == cost_json(cost)


def test_a_lab_is_not_entered(checkout: Checkout) -> None:
    enter = checkout.path / ".lab" / "dev" / "enter"
    enter.parent.mkdir(parents=True)
    enter.write_text("#!/bin/sh\necho entered\n")
    enter.chmod(0o755)
    done = checkout.run("show", "--env", "dev")
    assert done.returncode == Exit.OK
    assert done.stdout.startswith("dev: ")


def test_json_is_of_the_same_environment(checkout: Checkout) -> None:
    checkout.gains_hosts()
    shown = json.loads(checkout.run("show", "--env", "dev", "--json").stdout)
    assert shown["name"] == "dev"
    assert [site["name"] for site in shown["sites"]] == list(checkout.environment()["sites"])
    assert shown["totals"]["nodes"] == {"min": 2, "max": 11}
    assert shown["cost"] is None


def test_a_wrong_file_is_told_as_validate_tells_it(checkout: Checkout) -> None:
    raw = checkout.environment()
    raw["supernet"] = "8.8.0.0/12"
    raw["control_plane"]["site"] = "mars"
    checkout.write(raw)
    done = checkout.run("show", "--env", "dev")
    assert done.returncode == Exit.USAGE
    assert done.stdout == ""
    assert "control_plane.site" in done.stderr
    assert done.stderr == checkout.run("validate", "--env", "dev").stderr


def test_overlaps_with_neighbours_are_told_too(checkout: Checkout) -> None:
    other = checkout.path / "stacks" / "Pulumi.other.yaml"
    other.write_text(checkout.stack_file.read_text().replace("name: dev", "name: other"))
    done = checkout.run("show", "--env", "dev")
    assert done.returncode == Exit.USAGE
    assert "Pulumi.other.yaml" in done.stderr


def test_without_an_environment_it_names_those_there_are(checkout: Checkout) -> None:
    done = checkout.run("show")
    assert done.returncode == Exit.USAGE
    assert "(here: dev)" in done.stderr
    assert "--example" in done.stderr


def test_an_example_needs_no_project(checkout: Checkout) -> None:
    checkout.environ["LONGHAUL_ENV"] = "dev"
    done = subprocess.run(
        checkout.argv("show", "--example", "hybrid"),
        cwd=checkout.home,
        env=checkout.variables(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == Exit.OK, done.stderr
    assert done.stdout.startswith("hybrid: 3 sites")


def test_an_unknown_example_names_those_there_are(checkout: Checkout) -> None:
    done = checkout.run("show", "--example", "hybrids")
    assert done.returncode == Exit.USAGE
    assert done.stderr == "longhaul: --example hybrids: no such example; the examples are: hybrid, prod\n"


def test_without_utf_8_it_is_ascii_and_as_wide(checkout: Checkout) -> None:
    checkout.gains_hosts()
    checkout.environ["PYTHONIOENCODING"] = "utf-8"
    drawn = checkout.run("show", "--env", "dev").stdout
    checkout.environ["PYTHONIOENCODING"] = "ascii"
    plain = checkout.run("show", "--env", "dev").stdout
    assert "┌─ weu ─" in drawn
    assert plain.isascii()
    assert "+- weu -" in plain
    assert "?" not in plain
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in drawn.splitlines()]


@pytest.mark.parametrize("words", [(), ("--json",), ("--format", "html")])
def test_production_is_shown_without_pulumi_or_a_clouds_library(root: Path, tmp_path: Path, words: tuple[str]) -> None:
    """Checked are the modules that are loaded at the end of the command."""
    program = (
        "import json, sys\n"
        "from longhaul.cli import main\n"
        "code = main(sys.argv[1:])\n"
        "print(json.dumps({'code': code, 'loaded': sorted({name.split('.')[0] for name in sys.modules})}),"
        " file=sys.stderr)\n"
    )
    argv = [sys.executable, "-c", program, "show", "--example", "prod", *words]
    environ = {"PYTHONPATH": str(root), "HOME": str(tmp_path), "PATH": "/nonexistent", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    said = json.loads(done.stderr)
    assert said["code"] == Exit.OK
    assert "components" in said["loaded"]
    assert not set(said["loaded"]) & set(HEAVY)
    assert "h100-azure" in done.stdout
