"""``longhaul acceptance`` as a user runs it: its refusals, and a whole run on stand-ins for the engine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from decimal import Decimal
from pathlib import Path

import pytest

from clouds.azure.api import KeyVault
from clouds.azure.errors import AzureError
from components.model.prices.book import PriceBook
from longhaul.acceptance import steps
from longhaul.acceptance import time_limit as limits
from longhaul.acceptance.steps import AcceptanceCommands
from longhaul.acceptance.time_limit import Deadline
from longhaul.prices.write import save
from longhaul.project.checkout import Project
from longhaul.project.context import Context
from longhaul.terminal.exits import Exit
from tests.longhaul.acceptance.exports import exports, holds
from tests.longhaul.conftest import LIMIT_S, Checkout, FakeEngine
from tests.longhaul.prices.sample_book import book

RUN = ("acceptance", "--env", "dev", "--yes")


def test_without_a_terminal_consent_has_to_be_given(checkout: Checkout, engine: FakeEngine) -> None:
    done = checkout.run("acceptance", "--env", "dev", "--without-prices")
    assert done.returncode == Exit.USAGE
    assert "--yes" in done.stderr
    assert engine.calls() == []


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--most-cost", "40"),
        ("--prices", "none.yaml", "--most-cost", "40"),
        ("--without-prices", "--most-cost", "40"),
        ("--reuse", "--most-cost", "40"),
        ("--without-prices", "--most-time", "180"),
        ("--without-prices", "--most-time", "59s"),
        ("--without-prices", "--most-time", "25h"),
        ("--most-cost", "much"),
        ("--without-prices", "--report", "no/such/folder.md"),
    ],
)
def test_terms_have_to_be_whole(checkout: Checkout, engine: FakeEngine, words: tuple[str, ...]) -> None:
    assert checkout.run(*RUN, *words).returncode == Exit.USAGE
    assert engine.calls() == []


def test_prices_that_are_not_there_are_missed_before_a_sum_is(checkout: Checkout) -> None:
    done = checkout.run(*RUN, "--prices", "none.yaml")
    assert done.returncode == Exit.USAGE
    assert "--prices none.yaml: there is no such file; `longhaul prices --env dev --to none.yaml`" in done.stderr


@pytest.mark.parametrize("words", [("--reuse",), ("--without-prices",), ("--reuse", "--without-prices")])
def test_without_a_backend_nothing_is_begun(checkout: Checkout, engine: FakeEngine, words: tuple[str, ...]) -> None:
    checkout.environ["PULUMI_BACKEND_URL"] = ""
    done = checkout.run(*RUN, *words)
    assert done.returncode == Exit.USAGE
    assert "no backend is chosen" in done.stderr
    assert engine.calls() == []


def test_what_no_stack_holds_is_not_reused(checkout: Checkout, engine: FakeEngine) -> None:
    done = checkout.run(*RUN, "--reuse")
    assert done.returncode == Exit.UNREACHABLE
    assert "dev does not exist" in done.stderr
    assert engine.calls() == []


def test_what_cannot_be_asked_is_asked_once(
    checkout: Checkout, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a stack but no credentials: waiting would not help."""

    def unasked(_vault: KeyVault, _name: str) -> str:
        raise AzureError("no Azure credential works")

    # Its name would be looked up in the internet, again and again.
    monkeypatch.setattr(KeyVault, "get", unasked)
    exports(engine)
    holds(engine, "dev", resources=[{"type": "longhaul:Cluster"}])
    done = checkout.run(*RUN, "--reuse", "--json")
    assert done.returncode == Exit.FAILED
    content = json.loads(done.stdout)
    found = {check["name"]: (check["result"], check["evidence"]) for check in content["checks"]}
    assert found["components"][0] == "failed"
    assert "dev cannot be asked: no Azure credential works" in found["components"][1]
    assert Path(content["log"]).read_text().count("$ longhaul status") == 1
    assert f"the steps' output is in {content['log']}" in done.stderr


def test_what_may_not_be_destroyed_is_refused(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.write({**checkout.environment(), "destroyable": False})
    done = checkout.run(*RUN, "--without-prices")
    assert done.returncode == Exit.REFUSED
    assert "destroyable: true" in done.stderr
    assert engine.calls() == []


def test_what_costs_too_much_is_refused(checkout: Checkout, engine: FakeEngine, tmp_path: Path) -> None:
    save(PriceBook(book().prices), tmp_path / "prices.yaml")
    words = ("--prices", str(tmp_path / "prices.yaml"), "--most-cost", str(Decimal("0.01")))
    done = checkout.run(*RUN, *words)
    assert done.returncode == Exit.REFUSED
    assert "(--most-cost)" in done.stderr
    assert engine.calls() == []


def test_a_lab_that_is_not_there_is_no_cloud(checkout: Checkout, engine: FakeEngine) -> None:
    raw = checkout.environment()
    raw["sites"]["weu"]["subscription"] = "00000000-0000-4000-8000-000000000001"
    checkout.write(raw)
    assert checkout.run(*RUN, "--without-prices").returncode == Exit.UNREACHABLE
    assert engine.calls() == []


def test_what_cannot_be_made_is_reported_and_nothing_is_made(checkout: Checkout, engine: FakeEngine) -> None:
    """There are no credentials, which the doctor reports."""
    report = checkout.path / "report.md"
    done = checkout.run(*RUN, "--without-prices", "--json", "--report", str(report))
    assert done.returncode == Exit.FAILED
    content = json.loads(done.stdout)
    assert [(step["name"], step["result"]) for step in content["steps"]] == [("doctor", "failed")]
    assert content["stays"] == "nothing was made"
    assert report.read_text().startswith("# Acceptance of dev")
    assert not [command for command in engine.commands() if command.startswith("up")]


@pytest.fixture(name="commands")
def _commands(checkout: Checkout, engine: FakeEngine) -> AcceptanceCommands:
    assert engine.calls() == []
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    return AcceptanceCommands(where=where, log=checkout.home / "acceptance.log", environ=checkout.variables())


def test_a_command_says_into_the_log_and_its_answer_comes_back(commands: AcceptanceCommands) -> None:
    done = commands.run("validate", limit=Deadline(LIMIT_S))
    assert (done.code, done.stdout, done.late) == (Exit.OK, "dev: valid\n", False)
    assert commands.tail() == "$ longhaul validate\ndev: valid"


def test_the_last_line_that_it_said_is_of_itself_alone(commands: AcceptanceCommands) -> None:
    refused = commands.run("validate", "--no-such-option", limit=Deadline(LIMIT_S))
    assert refused.last_line.endswith("unrecognized arguments: --no-such-option")
    assert commands.run("validate", limit=Deadline(LIMIT_S)).last_line == ""


def test_one_that_takes_long_is_not_awaited_in_silence(
    commands: AcceptanceCommands, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.waits()
    engine.has_stack()
    told: list[str] = []
    monkeypatch.setattr(steps, "TELL_S", 0.05)
    monkeypatch.setattr(limits, "TELL_S", 0.05)
    done = commands.run("up", "--yes", "--only", "infrastructure", limit=_Told(told, engine.folder / "waiting"))
    assert done.late
    assert re.match(r"`longhaul up`: awaited for \d+ s, at most \d+ s more", told[0])
    assert told[-1].startswith("`longhaul up` was asked to end")


class _Told(Deadline):
    """Its time is over once the engine works and the wait was announced."""

    def __init__(self, told: list[str], path: Path) -> None:
        super().__init__(LIMIT_S, tell=told.append)
        self._told, self._path = told, path

    def remaining_s(self) -> float:
        return 0.0 if self._told and self._path.exists() else super().remaining_s()


def test_one_whose_time_is_over_is_asked_to_end_and_awaited(commands: AcceptanceCommands, engine: FakeEngine) -> None:
    engine.waits()
    engine.has_stack()

    limit = _Until(engine.folder / "waiting")
    done = commands.run("up", "--yes", "--only", "infrastructure", limit=limit)
    assert done.late
    assert done.code == Exit.INTERRUPTED
    assert json.loads((engine.folder / "caught").read_text()) == [signal.SIGINT]


class _Until(Deadline):
    """Its time is over once the engine works."""

    def __init__(self, path: Path) -> None:
        super().__init__(LIMIT_S)
        self._path = path

    def remaining_s(self) -> float:
        while not self._path.exists() and super().remaining_s():
            time.sleep(0.05)
        return 0.0


def test_a_killed_run_takes_its_commands_along(checkout: Checkout, engine: FakeEngine) -> None:
    """The commands that it started get the signal of Ctrl-C, so that no engine works when the next run starts."""
    engine.waits()
    engine.has_stack()
    script = (
        "import os; from pathlib import Path; from longhaul.acceptance.time_limit import Deadline; "
        "from longhaul.acceptance.steps import AcceptanceCommands; from longhaul.project.context import Context; "
        "from longhaul.project.checkout import Project; "
        f"where = Context(project=Project(root=Path({str(checkout.path)!r})), env='dev', lab=None); "
        f"commands = AcceptanceCommands(where=where, log=Path({str(checkout.home / 'log')!r}), environ=os.environ); "
        f"commands.run('up', '--yes', '--only', 'infrastructure', limit=Deadline({LIMIT_S}))"
    )
    words = [checkout.argv()[0], "-c", script]
    with subprocess.Popen(words, cwd=checkout.path, env=checkout.variables()) as process:
        _await(engine.folder / "waiting", process)
        os.kill(process.pid, signal.SIGKILL)
    _await(engine.folder / "caught")
    assert signal.SIGINT in json.loads((engine.folder / "caught").read_text())


def _await(path: Path, process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not (path.exists() and (path.name == "waiting" or path.read_text())):
        assert time.monotonic() < deadline, f"{path.name} never came"
        assert process is None or process.poll() is None, "the process has ended"
        time.sleep(0.05)
