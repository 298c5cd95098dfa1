"""``longhaul show --format svg|html``: the map that it writes, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.cli import main
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout


@pytest.fixture(autouse=True)
def _here(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout.path)
    monkeypatch.delenv("LONGHAUL_ENV", raising=False)


def run(*words: str) -> int:
    return main(["show", "--env", "dev", *words])


def test_a_page_goes_to_stdout(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(checkout.path.rglob("*"))
    assert run("--format", "html") == Exit.OK
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>Map of dev</title>" in page
    assert sorted(checkout.path.rglob("*")) == before


def test_the_format_follows_the_name_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.SVG", "a.html", "a.json", "a.txt"):
        assert run("--output", str(tmp_path / name)) == Exit.OK
    assert capsys.readouterr().out == "".join(f"{tmp_path}/{name}\n" for name in ("a.SVG", "a.html", "a.json", "a.txt"))
    picture, page, plain, text = (path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("a.*")))
    assert picture.startswith("<svg ")
    assert picture in page
    assert plain.startswith("{")
    assert text.startswith("dev: 1 site")


def test_a_format_that_is_given_comes_before_the_name(tmp_path: Path) -> None:
    assert run("--format", "svg", "--output", str(tmp_path / "picture")) == Exit.OK
    assert (tmp_path / "picture").read_text(encoding="utf-8").startswith("<svg ")


def test_an_example_can_be_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--example", "hybrid", "--format", "svg"]) == Exit.OK
    assert "map of hybrid" in capsys.readouterr().out.lower()


@pytest.mark.parametrize("name", ["map.png", "map.html.gz"])
def test_another_suffix_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--output", name) == Exit.USAGE
    assert f"--output {name}: give the --format, one of text, json, svg, html" in capsys.readouterr().err
    assert not Path(name).exists()


def test_a_wrong_environment_leaves_the_old_picture(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    Path("dev.html").write_text("as it was")
    raw = checkout.environment()
    raw["supernet"] = "8.0.0.0/8"
    checkout.write(raw)
    assert run("--output", "dev.html") == Exit.USAGE
    assert "supernet" in capsys.readouterr().err
    assert Path("dev.html").read_text() == "as it was"
