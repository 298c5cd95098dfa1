"""The command: its options, its output, the meaning of its exit codes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clouds.aws import spot
from components.model.prices.book import BookError, PriceBook
from longhaul.prices import command as prices
from longhaul.prices.write import save
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.prices.conftest import hybrid_with_pools, write_environment
from tests.longhaul.prices.conftest import price as own_price
from tests.longhaul.prices.price_server import PriceServer
from tests.longhaul.prices.sample_book import CPU, book

Run = Callable[..., int]


@pytest.fixture(name="stacks")
def _stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's ``stacks`` folder with the environment `dev`; the project is the current folder."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "Pulumi.yaml").write_text("name: longhaul\nruntime: python\n", encoding="utf-8")
    write_environment(tmp_path / "project" / "stacks", hybrid_with_pools())
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project" / "stacks"


@pytest.fixture(name="run")
def _run(stacks: Path, server: PriceServer, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Function that runs the command in that project, with the interfaces on loopback and without credentials."""
    monkeypatch.setattr(spot, "client", lambda: None)
    addresses = ("--azure-url", server.azure_url, "--aws-url", f"{server.address}/")

    def run(*words: str) -> int:
        parser = argparse.ArgumentParser()
        parser.add_argument("--env")
        parser.add_argument("--project")
        prices.add_arguments(parser)
        argv = ("--env", "dev", *words, *(() if "--check" in words else addresses))
        return prices.run(Invocation(command="prices", options=parser.parse_args(argv), rest=(), argv=argv))

    return run


def test_prices_are_read_into_the_stacks_folder(run: Run, stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == Exit.OK
    out, err = capsys.readouterr()
    assert out.startswith(
        "stacks/prices.yaml: 13 prices read, 0 kept as they were\nnot found:\n  p5.48xlarge spot, AWS"
    )
    assert "there are no AWS credentials here" in out
    assert "\n  together " in out
    assert "never counted: traffic" in out
    assert err.splitlines()[0] == "longhaul: 1/11 Standard_L8s_v3, Azure westeurope"
    assert len(PriceBook.load(stacks / "prices.yaml").prices) == 13


def test_for_programs_it_is_one_document(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--to", "mine.yaml", "--json") == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == "mine.yaml"
    assert len(found["read"]) == 13
    assert list(found["missing"]) == ["p5.48xlarge spot, AWS us-east-1"]
    assert found["failed"] == {}
    assert found["cost"]["minimum"]["hourly"] == {"USD": "29.0870"}
    assert Path("mine.yaml").exists()


def test_what_cannot_be_read_fails(run: Run, server: PriceServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.refused = {"AmazonEC2"}
    assert run() == Exit.FAILED
    out = capsys.readouterr().out
    assert "not read; another run reads only these:\n  AWS us-east-1, AmazonEC2\n" in out
    assert "answered 404 Not Found" in out
    assert "pool cpu" in out
    assert "without a price, and not in the sums:\n  pool cpu: machines (m6id.xlarge, AWS us-east-1)\n" in out


def test_again_asks_anew(run: Run, server: PriceServer, capsys: pytest.CaptureFixture[str]) -> None:
    run()
    server.asked.clear()
    run()
    assert server.asked == []
    run("--again")
    assert len(server.asked) > 10


def test_check_before_anything_was_read(run: Run, server: PriceServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--check") == Exit.FAILED
    out, err = capsys.readouterr()
    assert "stacks/prices.yaml does not exist; `longhaul prices --env dev` writes it" in err
    assert out.startswith("stacks/prices.yaml: 0 good, 12 missing, 0 older than 90 days\n")
    assert "  missing  Standard_L8s_v3, Azure westeurope, for control plane\n" in out
    assert server.asked == []


def test_check_after_reading(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run()
    capsys.readouterr()
    assert run("--check") == Exit.OK
    assert capsys.readouterr().out == (
        "stacks/prices.yaml: 12 good, 0 missing, 0 older than 90 days\n"
        "  note     p5.48xlarge spot, AWS us-east-1: no spot price, so the ordinary one counts\n"
    )


def test_check_of_old_prices(run: Run, stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(book().updated({CPU: own_price("1", read="2020-01-01")}), stacks / "prices.yaml")
    assert run("--check", "--days", "100000", "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["healthy"] is True
    assert run("--check") == Exit.FAILED
    assert "  old      m6id.xlarge, AWS us-east-1: read on 2020-01-01, " in capsys.readouterr().out
    run("--check", "--json")
    old = json.loads(capsys.readouterr().out)["old"]
    assert old["m6id.xlarge, AWS us-east-1"] == {"read": "2020-01-01", "source": "contract"}


@pytest.mark.parametrize("words", [[], ["--check"]])
def test_a_file_that_is_wrong_is_refused(words: list[str], run: Run, stacks: Path) -> None:
    (stacks / "prices.yaml").write_text("format: one\n", encoding="utf-8")
    with pytest.raises(BookError, match=r"prices\.yaml:1: format"):
        run(*words)


def test_a_folder_that_is_not_there_is_said(run: Run) -> None:
    with pytest.raises(CommandError, match="there is no folder nowhere") as refused:
        run("--to", "nowhere/prices.yaml")
    assert refused.value.code == Exit.USAGE


def test_days_are_a_number(run: Run) -> None:
    with pytest.raises(SystemExit):
        run("--check", "--days", "soon")


def test_credentials_are_looked_for_only_where_they_are_of_use(
    run: Run, stacks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwanted() -> None:
        raise AssertionError("looked for credentials")

    raw = hybrid_with_pools()
    del raw["pools"]["gpu-spot"]
    write_environment(stacks, raw)
    monkeypatch.setattr(spot, "client", unwanted)
    assert run() == Exit.OK
