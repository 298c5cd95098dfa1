"""``longhaul map``: the file that it writes, and its refusals."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from components.model import ConfigurationError
from longhaul.commands import map as command
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from tests.longhaul.conftest import Checkout


@pytest.fixture(autouse=True)
def _here(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout.path)


def run(*words: str, env: str = "dev") -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env")
    parser.add_argument("--project")
    command.add_arguments(parser)
    options = parser.parse_args(["--env", env, *words])
    return command.run(Invocation(command="map", options=options, rest=(), argv=("map", *words)))


def test_by_default_it_is_a_page_here(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == Exit.OK
    assert capsys.readouterr().out == "dev.html\n"
    page = (checkout.path / "dev.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>Map of dev</title>" in page


def test_the_format_follows_the_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--to", str(tmp_path / "a.SVG"))
    run("--to", str(tmp_path / "a.html"))
    picture = (tmp_path / "a.SVG").read_text(encoding="utf-8")
    assert picture.startswith("<svg ")
    assert picture in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"{tmp_path}/a.SVG\n{tmp_path}/a.html\n"


def test_the_page_goes_to_stdout(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(checkout.path.rglob("*"))
    assert run("--to", "-") == Exit.OK
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert sorted(checkout.path.rglob("*")) == before


@pytest.mark.parametrize("name", ["map.png", "map", "map.html.gz"])
def test_another_suffix_is_refused(name: str) -> None:
    with pytest.raises(CommandError, match=r"\.html or \.svg") as refused:
        run("--to", name)
    assert refused.value.code is Exit.USAGE
    assert not Path(name).exists()


def test_an_environment_has_to_be_named() -> None:
    with pytest.raises(CommandError, match=r"which environment\? .* \(here: dev\)") as refused:
        run(env="")
    assert refused.value.code is Exit.USAGE


def test_a_wrong_environment_leaves_the_old_picture(checkout: Checkout) -> None:
    Path("dev.html").write_text("as it was")
    raw = checkout.environment()
    raw["supernet"] = "8.0.0.0/8"
    checkout.write(raw)
    with pytest.raises(ConfigurationError, match="supernet"):
        run()
    assert Path("dev.html").read_text() == "as it was"
