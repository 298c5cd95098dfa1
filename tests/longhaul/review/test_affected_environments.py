"""Environments that a change affects, with real commits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from longhaul.review.affected_environments import (
    WITHOUT_EFFECT,
    ChangedFile,
    affected_environments,
    environment_of,
)
from longhaul.review.outcome import Review, ReviewOutcome
from longhaul.review.reviewing import Reviewer
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.review.conftest import Checkout, Plans

BOTH = ["dev", "two"]


def names(review: Review) -> list[str]:
    return sorted(entry.name for entry in review.environments)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("clouds/base/ipsec.py", BOTH),
        ("components/azure/network.py", BOTH),
        ("stacks/__main__.py", BOTH),
        ("images/rootfs/usr/local/bin/x", BOTH),
        ("playbooks/roles/node/tasks/main.yml", BOTH),
        ("tools.toml", BOTH),
        ("requirements.lock", BOTH),
        ("docs/read.md", []),
        ("tests/test_x.py", []),
        ("README.md", []),
        ("CHANGELOG.md", []),
        ("LICENSE", []),
        ("examples/Pulumi.aws.yaml", []),
        ("images.md", BOTH),
        ("stacks/prices.yaml", BOTH),
        ("stacks/hosts.lab.yaml", ["dev"]),
        ("stacks/Pulumi.dev-objects.yaml", ["dev"]),
        ("elsewhere/stacks/Pulumi.dev.yaml", BOTH),
    ],
)
def test_a_path_affects(path: str, expected: list[str], checkout: Checkout) -> None:
    file = checkout.path / path
    checkout.write(path, (file.read_text(encoding="utf-8") if file.exists() else "") + "\n# changed\n")
    checkout.commit()
    assert names(checkout.review(None)) == expected


def test_a_plan_reads_nothing_of_what_has_no_effect(root: Path) -> None:
    """Whatever the stacks' program opens of this repository when it is loaded, or through a link."""
    program = ("environment.cluster", "guards.immutable", "objects.cluster", "guards.policies")
    script = f"""\
import sys
opened = set()
sys.addaudithook(lambda event, words: opened.add(str(words[0])) if event == "open" else None)
import {", ".join(f"components.{module}" for module in program)}
print(*sorted(opened), sep=chr(10))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=root, check=True, capture_output=True, text=True)
    inside = {path.removeprefix(f"{root}/") for path in done.stdout.splitlines() if path.startswith(f"{root}/")}
    assert any(path.startswith("components/") for path in inside)
    assert [path for path in inside if path.startswith(WITHOUT_EFFECT)] == []
    listed = subprocess.run(["git", "ls-files", "-s"], cwd=root, check=True, capture_output=True, text=True)
    links = [line.split("\t")[1] for line in listed.stdout.splitlines() if line.startswith("120000")]
    targets = [str((root / path).resolve()).removeprefix(f"{root}/") for path in links]
    assert [target for target in targets if target.startswith(WITHOUT_EFFECT)] == []


def test_what_was_not_committed_counts(checkout: Checkout) -> None:
    checkout.resize("two", 3)
    assert names(checkout.review(None)) == ["two"]
    checkout.git("checkout", "--", ".")
    raw = checkout.read("two") | {"name": "new", "supernet": "10.96.0.0/12", "domain": "new.longhaul.internal"}
    checkout.change("new", raw)
    assert names(checkout.review(None)) == ["new"]


def test_what_main_did_meanwhile_does_not_count(checkout: Checkout) -> None:
    checkout.resize("dev", 5)
    checkout.commit()
    checkout.git("checkout", "--quiet", "main")
    checkout.resize("two", 3)
    checkout.commit()
    checkout.git("checkout", "--quiet", "change")
    assert names(checkout.review(None)) == ["dev"]


def test_the_plan_is_given_the_file_of_the_merge_base(checkout: Checkout) -> None:
    before = (checkout.path / "stacks/Pulumi.dev.yaml").read_text(encoding="utf-8")
    checkout.resize("dev", 5)
    checkout.commit()
    plans = Plans()
    checkout.review(plans)
    assert plans.asked == {"dev": before}


def test_a_new_environment_has_no_file_of_before(checkout: Checkout) -> None:
    checkout.change("new", checkout.read("two") | {"name": "new", "supernet": "10.96.0.0/12", "domain": "new.internal"})
    checkout.commit()
    plans = Plans()
    checkout.review(plans)
    assert plans.asked == {"new": None}


def test_one_that_was_invalid_before_is_no_file_to_compare_with(checkout: Checkout) -> None:
    good = checkout.read("two")
    checkout.git("checkout", "--quiet", "main")
    checkout.change("two", good | {"supernet": "nonsense"})
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "mend")
    checkout.change("two", good)
    checkout.commit()
    plans = Plans()
    review = checkout.review(plans)
    assert plans.asked == {"two": None}
    assert review.worst is ReviewOutcome.SAFE


def test_a_deleted_file_is_said_and_never_planned(checkout: Checkout) -> None:
    (checkout.path / "stacks/Pulumi.two.yaml").unlink()
    checkout.commit()
    plans = Plans()
    review = checkout.review(plans)
    (entry,) = review.environments
    assert (entry.name, entry.outcome) == ("two", ReviewOutcome.DELETED)
    assert "CI destroys nothing" in entry.reason
    assert plans.asked == {}
    assert review.exit_code == Exit.OK


def test_only_one_of_them(checkout: Checkout) -> None:
    checkout.write("tools.toml")
    plans = Plans()
    assert names(checkout.review(plans, only="two")) == ["two"]
    assert list(plans.asked) == ["two"]


def test_a_project_may_be_a_folder_of_its_repository(checkout: Checkout) -> None:
    inner = Checkout(path=checkout.path / "infra")
    checkout.git("checkout", "--quiet", "main")
    (checkout.path / "infra").mkdir()
    checkout.git("mv", "Pulumi.yaml", "stacks", "infra/")
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "inner")
    inner.resize("two", 3)
    inner.commit()
    plans = Plans()
    assert names(inner.review(plans)) == ["two"]
    assert plans.asked["two"] is not None


@pytest.mark.parametrize("target", ["/dev/zero", "none.yaml", "../../outside.yaml", ""])
def test_a_strange_file_ends_no_review_but_its_own(checkout: Checkout, target: str) -> None:
    path = checkout.path / "stacks/Pulumi.strange.yaml"
    if target:
        path.symlink_to(target)
    else:
        checkout.write("stacks/Pulumi.strange.yaml/file")
    checkout.resize("two", 3)
    checkout.commit()
    found = {entry.name: entry.outcome for entry in checkout.review(Plans()).environments}
    assert found["two"] is ReviewOutcome.SAFE
    assert found.get("strange", ReviewOutcome.INVALID) is ReviewOutcome.INVALID


def test_a_base_that_is_not_there_says_what_to_fetch(checkout: Checkout) -> None:
    with pytest.raises(CommandError, match="fetch-depth: 0") as caught:
        Reviewer(project=checkout.project, planner=None).change("origin/nowhere")
    assert caught.value.code is Exit.USAGE
    checkout.git("checkout", "--quiet", "--orphan", "other")
    checkout.write("docs/read.md", "of another origin\n")
    checkout.commit()
    with pytest.raises(CommandError, match="no commit in common"):
        checkout.review(None)


def test_a_ref_is_no_option(checkout: Checkout) -> None:
    with pytest.raises(CommandError, match="is not a commit here"):
        Reviewer(project=checkout.project, planner=None).change("--all")


def test_names_of_stack_files() -> None:
    assert environment_of("stacks/Pulumi.a-b-objects.yaml") == "a-b"
    assert environment_of("stacks/hosts.a.yaml") is None
    assert environment_of("stacks/sub/Pulumi.a.yaml") is None


def test_a_hosts_file_that_only_one_side_names() -> None:
    before, after = {"a": "stacks/old.yaml"}, {"a": "stacks/new.yaml", "b": None}
    for path in ("stacks/old.yaml", "stacks/new.yaml"):
        assert affected_environments([ChangedFile(path=path)], before=before, after=after).environments == ("a",)
