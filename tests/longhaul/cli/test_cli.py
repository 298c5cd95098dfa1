"""The command line itself: help, usage, and error messages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NoReturn

import pytest

from components.model.depots.section import EXAMPLE_AUTHORITY
from longhaul import cli
from longhaul.cli import main
from longhaul.cli.command_list import COMMANDS, GROUPS, command, listing
from longhaul.terminal.exits import Exit, meanings
from tests.longhaul.conftest import Checkout, FakeEngine
from tests.model import make

SCREEN = (100, 43)
"""Columns and lines that ``--help`` may take."""


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_tells_every_exit_code(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    text = capsys.readouterr().out
    said = meanings(None if words == ["--help"] else words[0])
    assert all(f"{code:>3}  {meaning}" in text for code, meaning in said.items())


@pytest.mark.parametrize("name", [name for name in COMMANDS if command(name).REST])
def test_usage_shows_the_words_after_two_hyphens(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    usage = capsys.readouterr().out.split("\n\n")[0]
    assert usage.startswith(f"usage: longhaul {name} [-h]")
    assert usage.endswith(f"[-- {command(name).REST} ...]")
    assert max(map(len, usage.splitlines())) <= 80


def test_a_refusal_is_told_in_each_commands_own_words() -> None:
    refusing = {command: meanings(command)[Exit.REFUSED] for command in COMMANDS if Exit.REFUSED in meanings(command)}
    assert set(refusing) == {"plan", "review", "up", "rotate", "restore", "machine", "access", "destroy", "acceptance"}
    doing = ("up", "rotate", "restore", "machine", "access", "destroy", "acceptance")
    assert all("nothing was done" in refusing.pop(command) for command in doing)
    assert all("the change must not be" in meaning for meaning in refusing.values())


def test_without_a_command_it_shows_the_help_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == Exit.USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert listing() in shown.err


def test_help_has_a_line_for_each_command_by_its_task_and_fits_on_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    listed = re.findall(r"^  (\w* +)(\w+) +\w.*", text.split("options:")[0], re.MULTILINE)
    assert [name for _, name in listed] == list(COMMANDS)
    assert [task.strip() for task, _ in listed if task.strip()] == list(GROUPS)
    lines = text.splitlines()
    assert (max(map(len, lines)) <= SCREEN[0], len(lines) <= SCREEN[1]) == (True, True)


def test_the_page_of_commands_lists_each_by_its_task(root: Path) -> None:
    rows = re.findall(r"^\| ?([a-z]*) \| `longhaul ([a-z]+)", (root / "docs/commands.md").read_text(), re.MULTILINE)
    assert [name for _, name in rows] == list(COMMANDS)
    assert [task for task, _ in rows if task] == list(GROUPS)


@pytest.mark.parametrize(
    "words", [[], ["--env", "dev"], ["fly"], ["up", "--fast"], ["status", "--", "more"], ["shell"]]
)
def test_wrong_usage_is_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == Exit.USAGE


def test_without_an_environment_it_names_those_there_are(checkout: Checkout) -> None:
    done = checkout.run("status")
    assert done.returncode == Exit.USAGE
    assert "--env" in done.stderr
    assert "dev" in done.stderr


def test_the_environment_may_come_from_a_variable(checkout: Checkout) -> None:
    checkout.environ["LONGHAUL_ENV"] = "dev"
    assert checkout.run("validate").stdout == "dev: valid\n"


def test_an_unknown_environment_names_those_there_are(checkout: Checkout) -> None:
    done = checkout.run("validate", "--env", "dve")
    assert done.returncode == Exit.USAGE
    assert "an environment here: dev" in done.stderr


def test_outside_a_project_it_says_how_to_name_one(checkout: Checkout) -> None:
    done = checkout.run("validate", "--project", str(checkout.home))
    assert done.returncode == Exit.USAGE
    assert "Pulumi.yaml" in done.stderr


@pytest.mark.parametrize(
    "words", [["up", "--yes"], ["plan"], ["plan", "--raw"], ["destroy", "--yes"], ["status"], ["kubeconfig"]]
)
def test_a_wrong_file_is_reported_whole_and_nothing_else_happens(
    checkout: Checkout, engine: FakeEngine, words: list[str]
) -> None:
    raw = checkout.environment()
    raw["supernet"] = "8.8.0.0/12"
    raw["control_plane"]["site"] = "mars"
    raw["control_plane"]["api"]["machine_type"] = "Standard_X"
    checkout.write(raw)
    done = checkout.run(*words, "--env", "dev")
    assert done.returncode == Exit.USAGE
    assert "supernet" in done.stderr
    assert "control_plane.site" in done.stderr
    assert "Traceback" not in done.stderr
    assert engine.calls() == []


def test_validate_refuses_user_data_over_the_clouds_limit(checkout: Checkout) -> None:
    raw = checkout.environment()
    raw["sites"]["use1"] = {**make.AWS, "depot": "https://depot.example.internal"}
    raw["sites"]["weu"]["depot"] = "https://depot.example.internal"
    raw["pools"] = {"cpu": {"site": "use1", "machine_type": "m7i.xlarge", "max": 1}}
    for count, code in ((2, Exit.OK), (20, Exit.USAGE)):
        checkout.write(raw | {"depots": {"key": make.DEPOTS_KEY, "authority": EXAMPLE_AUTHORITY * count}})
        done = checkout.run("validate", "--env", "dev")
        assert done.returncode == code, done.stderr
    assert "depots.authority: with it, the user data of machines of cpu has " in done.stderr
    assert "AWS takes 16,384" in done.stderr
    assert "fewer certificates, or smaller ones" in done.stderr


def test_validate_refuses_user_data_of_api_servers_over_the_clouds_limit(checkout: Checkout) -> None:
    namespaces = [f"exporters-{number:053}" for number in range(1000)]
    checkout.write(checkout.environment() | {"pod_security": {"exempt_namespaces": namespaces}})
    done = checkout.run("validate", "--env", "dev")
    assert done.returncode == Exit.USAGE
    assert "pod_security.exempt_namespaces: with it, the user data of dev-api-0 has " in done.stderr
    assert done.stderr.count("Azure takes 65,535") == 1


def test_validate_finds_overlaps_between_all_files(checkout: Checkout) -> None:
    other = checkout.path / "stacks" / "Pulumi.other.yaml"
    other.write_text(checkout.stack_file.read_text().replace("name: dev", "name: other"))
    done = checkout.run("validate")
    assert done.returncode == Exit.USAGE
    assert "Pulumi.dev.yaml" in done.stderr
    assert "Pulumi.other.yaml" in done.stderr


def test_schema_is_json_that_knows_the_environment(checkout: Checkout) -> None:
    schema = json.loads(checkout.run("validate", "--schema").stdout)
    assert "control_plane" in schema["$defs"]["Environment"]["properties"]


def test_a_bug_shows_neither_traceback_nor_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(name: str) -> NoReturn:
        raise KeyError("the secret is 12345")

    monkeypatch.delenv("LONGHAUL_DEBUG", raising=False)
    monkeypatch.setattr(cli, "command", broken)
    assert main(["validate"]) == Exit.FAILED
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert "12345" not in told
    assert "Traceback" not in told


def test_a_bug_shows_its_traceback_to_who_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(name: str) -> NoReturn:
        raise KeyError("where")

    monkeypatch.setenv("LONGHAUL_DEBUG", "1")
    monkeypatch.setattr(cli, "command", broken)
    assert main(["validate"]) == Exit.FAILED
    assert "Traceback" in capsys.readouterr().err


def test_words_without_the_dashes_are_told_where_they_go(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.parse(["shell", "--env", "lab", "lab-api-0", "hostname"])
    assert ended.value.code == Exit.USAGE
    assert (
        "unrecognized arguments: hostname; arguments for the program that it runs go after --"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "words", [["corp:a", "--env", "dev"], ["--env", "dev", "corp:a"], ["--yes", "--env=dev", "corp:a"]]
)
def test_a_word_that_may_be_left_out_has_any_place_among_options(words: list[str]) -> None:
    options = cli.parse(["access", "revoke", *words]).options
    assert (options.user, options.env) == ("corp:a", "dev")
