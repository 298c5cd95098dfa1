"""``longhaul review``, from its command line to what is posted."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from longhaul.project.invocation import Invocation
from longhaul.review import command, planner
from longhaul.review.outcome import Review, ReviewOutcome
from longhaul.review.text import MARKERS
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.review.conftest import Checkout, Plans, plan

REPOSITORY = "octo-org/octo-repo"


@pytest.fixture(name="plans")
def _plans(monkeypatch: pytest.MonkeyPatch) -> Plans:
    plans = Plans()
    monkeypatch.setattr(planner, "CommandPlanner", lambda **_: plans)
    return plans


@pytest.fixture(autouse=True)
def _no_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_EVENT_PATH", "GITHUB_REPOSITORY", "LONGHAUL_ENV"):
        monkeypatch.delenv(name, raising=False)


def run(checkout: Checkout, *words: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env")
    parser.add_argument("--project")
    command.add_arguments(parser)
    options = parser.parse_args(["--project", str(checkout.path), *words])
    return int(command.run(Invocation(command="review", options=options, rest=(), argv=())))


def event(path: Path, monkeypatch: pytest.MonkeyPatch, *, head: str | None) -> None:
    """Write the file of a pull request's event, with its branch in the repository ``head``; None for a deleted
    repository."""
    repo = None if head is None else {"full_name": head}
    content: dict[str, Any] = {"pull_request": {"number": 7, "head": {"repo": repo}}}
    path.write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    monkeypatch.setenv("GITHUB_REPOSITORY", REPOSITORY)


def test_a_branch_of_the_repository_is_planned(
    checkout: Checkout,
    plans: Plans,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    event(tmp_path / "event.json", monkeypatch, head="Octo-Org/octo-repo")
    checkout.resize("dev", 5)
    checkout.commit()
    plans.answers["dev"] = plan("refused")
    assert run(checkout, "--base", "main", "--format", "markdown") == Exit.REFUSED
    assert capsys.readouterr().out.startswith(f"{MARKERS[False]}\n## Longhaul: refused\n")


@pytest.mark.parametrize("head", ["stranger/octo-repo", None])
def test_for_a_fork_nothing_is_planned(
    head: str | None,
    checkout: Checkout,
    plans: Plans,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    event(tmp_path / "event.json", monkeypatch, head=head)
    checkout.resize("dev", 5)
    checkout.commit()
    assert run(checkout, "--base", "main", "--format", "markdown") == Exit.FAILED
    assert "A maintainer who has read it can push the branch" in capsys.readouterr().out
    assert plans.asked == {}


def test_a_fork_elsewhere_is_said_by_the_caller(checkout: Checkout, plans: Plans) -> None:
    checkout.resize("dev", 5)
    assert run(checkout, "--base", "main", "--fork") == Exit.FAILED
    assert plans.asked == {}


def test_a_fork_may_change_what_affects_nothing(checkout: Checkout, plans: Plans) -> None:
    checkout.write("docs/read.md", "other\n")
    assert run(checkout, "--base", "main", "--fork") == Exit.OK


@pytest.mark.parametrize("words", [("--drift",), ("--base", "main")])
def test_a_commit_is_named_whole_and_compared_with_a_base(words: tuple[str, ...], checkout: Checkout) -> None:
    name = "change" if "--base" in words else "0" * 40
    with pytest.raises(CommandError, match="whole hash"):
        run(checkout, *words, "--change", name)


def test_an_invalid_file_of_a_fork_is_still_found(checkout: Checkout, plans: Plans) -> None:
    checkout.change("dev", checkout.read("dev") | {"supernet": "nonsense"})
    assert run(checkout, "--base", "main", "--fork") == Exit.REFUSED


def test_in_three_jobs(
    checkout: Checkout,
    plans: Plans,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As .github/workflows/preview.yml does."""
    event(tmp_path / "event.json", monkeypatch, head=REPOSITORY)
    checkout.write("tools.toml")
    checkout.change("two", checkout.read("two") | {"supernet": "nonsense"})
    checkout.commit()
    first, second = tmp_path / "affected.json", tmp_path / "plan.json"
    as_json = ("--no-verdict", "--format", "json")
    assert run(checkout, "--base", "main", "--no-plan", *as_json, "--to", str(first)) == Exit.OK
    assert plans.asked == {}
    assert run(checkout, "--names", str(first)) == Exit.OK
    assert capsys.readouterr().out == '["dev"]\n'
    plans.answers["dev"] = plan("care")
    assert run(checkout, "--base", "main", "--env", "dev", *as_json, "--to", str(second)) == Exit.OK
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    written = ("--format", "markdown", "--to", str(summary))
    assert run(checkout, "--from", str(first), str(second), *written) == Exit.REFUSED
    before, _, body = summary.read_text(encoding="utf-8").partition("\n")
    assert before == "before"
    assert [line.split("**")[1] for line in body.splitlines() if line.startswith("- ") and "**" in line][:2] == [
        "invalid",
        "needs care",
    ]


def test_drift_differs_until_nothing_does(checkout: Checkout, plans: Plans, capsys: pytest.CaptureFixture[str]) -> None:
    same = plan("safe")
    same = planner.Planned(
        summary=same.summary.model_copy(update={"counts": {}}), markdown=same.markdown, has_state=True
    )
    plans.answers = {"dev": plan("care"), "two": same}
    assert run(checkout, "--drift", "--format", "markdown") == Exit.FAILED
    assert plans.drift
    assert plans.asked == {"dev": None, "two": None}
    body = capsys.readouterr().out
    assert body.startswith(MARKERS[True])
    assert "**differs** `dev`" in body
    assert "**as declared** `two`" in body
    plans.answers["dev"] = same
    assert run(checkout, "--drift") == Exit.OK


def test_what_is_nowhere_yet_has_not_drifted(checkout: Checkout, plans: Plans, tmp_path: Path) -> None:
    plans.answers = {env: plan("safe", has_state=False) for env in ("dev", "two")}
    to = tmp_path / "drift.json"
    assert run(checkout, "--drift", "--format", "json", "--to", str(to)) == Exit.OK
    review = Review.model_validate_json(to.read_text(encoding="utf-8"))
    assert {entry.outcome for entry in review.environments} == {ReviewOutcome.ABSENT}


def test_an_event_that_cannot_be_read(checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "nothing"))
    with pytest.raises(CommandError, match=r"GITHUB_EVENT_PATH, .*cannot be read"):
        run(checkout, "--base", "main")


def test_a_push_is_no_pull_request(
    checkout: Checkout, plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "event.json").write_text('{"before": "0", "after": "1"}', encoding="utf-8")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    checkout.resize("dev", 5)
    assert run(checkout, "--base", "main") == Exit.OK
    assert list(plans.asked) == ["dev"]


def test_a_file_of_something_else(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CommandError, match="of this version did not write it"):
        run(checkout, "--from", str(tmp_path / "x.json"))
