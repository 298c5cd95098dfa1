"""The workflows: the permissions of each job, what is posted, and that actionlint finds nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import tools
from longhaul.review.text import MARKERS
from longhaul.toolchain.spec import load
from tests.longhaul.review.conftest import Checkout

WORKFLOWS = ("apply", "check", "drift", "drills", "preview", "review")
PINNED = re.compile(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


@pytest.fixture(name="github")
def _github(root: Path) -> Path:
    return root / ".github"


def jobs(github: Path, name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = workflow(github, name)["jobs"]
    return found


def workflow(github: Path, name: str) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load((github / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))
    return content


def test_these_are_all(github: Path) -> None:
    assert sorted(path.stem for path in (github / "workflows").iterdir()) == sorted(WORKFLOWS)


def test_every_action_is_pinned_by_its_commit(github: Path) -> None:
    lines = [line.strip(" -") for path in github.rglob("*.yml") for line in path.read_text("utf-8").splitlines()]
    uses = [line for line in lines if line.startswith("uses:") and not line.startswith("uses: ./")]
    assert len(uses) > 10
    assert [line for line in uses if not PINNED.search(line)] == []
    commits: dict[str, set[str]] = {}
    for line in uses:
        action, commit = line.removeprefix("uses: ").split("@")
        commits.setdefault(action, set()).add(commit)
    assert {action: len(found) for action, found in commits.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_job_has_what_it_needs_and_no_more(name: str, github: Path) -> None:
    assert workflow(github, name)["permissions"] == {}
    for title, job in jobs(github, name).items():
        may = job["permissions"]
        assert may.pop("contents") == "read", title
        # A job with a cloud's credentials writes nothing to GitHub, and a job that writes there has no credentials.
        assert len(may) <= 1, title
        assert set(may) <= {"id-token", "pull-requests", "issues"}, title
        assert job["timeout-minutes"] <= 360, title


@pytest.mark.parametrize("name", WORKFLOWS)
def test_nothing_from_outside_is_put_into_a_script(name: str, github: Path) -> None:
    for job in jobs(github, name).values():
        assert [step["run"] for step in job["steps"] if "${{" in step.get("run", "")] == []
        checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize(
    ("affected", "planned", "plan", "passes"),
    [
        ("success", "true", "success", True),
        ("success", "false", "skipped", True),
        ("success", "true", "skipped", False),
        ("success", "true", "failure", False),
        ("success", "true", "cancelled", False),
        ("failure", "true", "skipped", False),
        ("cancelled", "false", "skipped", False),
    ],
)
@pytest.mark.parametrize("name", ["preview", "review"])
def test_a_required_check_runs_always_and_fails_with_what_it_needs(
    name: str, affected: str, planned: str, plan: str, passes: bool, github: Path
) -> None:
    job = jobs(github, name)[name]
    assert job["if"] == "${{ always() }}"
    (step,) = (one for one in job["steps"] if "AFFECTED" in one.get("env", {}))
    assert "if" not in step
    # As GitHub runs a script that names no shell.
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        env={"AFFECTED": affected, "PLANNED": planned, "PLAN": plan},
        capture_output=True,
        check=False,
    )
    assert (done.returncode == 0) is passes


@pytest.mark.parametrize("name", ["preview", "review"])
def test_a_pull_request_sees_no_secret_and_a_fork_no_credentials(name: str, github: Path) -> None:
    assert "secrets." not in (github / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    plan = jobs(github, name)["plan"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in plan["if"]
    holders = [title for title, job in jobs(github, name).items() if "id-token" in job["permissions"]]
    assert holders == ["plan"]
    # With an environment's name in the token's subject, it would match another role.
    assert "environment" not in plan


def test_code_of_a_pull_request_runs_where_nothing_can_be_written(github: Path) -> None:
    by_event = {name: workflow(github, name)[True] for name in WORKFLOWS}
    by_pull_request = {name for name, event in by_event.items() if "pull_request" in (event, *event)}
    assert by_pull_request == {"check", "preview"}
    for name in ("check", "preview"):
        for title, job in jobs(github, name).items():
            assert "write" not in {level for scope, level in job["permissions"].items() if scope != "id-token"}, title
            assert "github.token" not in str(job), title


def test_the_required_check_runs_the_default_branchs_code_alone(github: Path) -> None:
    """The change's commit is named where git fetches it and where it is read as data, and nowhere else."""
    by_event = {name: workflow(github, name)[True] for name in WORKFLOWS}
    assert {name for name, event in by_event.items() if "pull_request_target" in str(event)} == {"review"}
    assert by_event["review"] == "pull_request_target"
    for job in jobs(github, "review").values():
        checkouts = [step["with"] for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert [given["ref"] for given in checkouts] == ["${{ github.event.repository.default_branch }}"]
        assert {key for given in checkouts for key in given} <= {"ref", "fetch-depth", "persist-credentials"}
        for step in job["steps"]:
            assert step.get("uses", "").startswith("./") is False or step["uses"] == "./.github/actions/prepare"
            named = step.get("env", {}).get("CHANGE")
            assert named in (None, "${{ github.event.pull_request.head.sha }}")
            assert ("$CHANGE" in step.get("run", "")) is (named is not None)
            rest = {key: value for key, value in step.items() if key not in ("run", "if", "env")}
            assert "pull_request" not in str(rest)
    text = (github / "workflows" / "review.yml").read_text(encoding="utf-8")
    # What a pull request says its base is does not count: it can be turned to another one after the check.
    words = ("github.base_ref", "pull_request.base", "github.head_ref", "head.ref", "allow-unsafe", "actions/cache")
    assert [word for word in words if word in text] == []
    scripts = [step["run"] for job in jobs(github, "review").values() for step in job["steps"] if "run" in step]
    reads = [line for run in scripts for line in run.splitlines() if "$CHANGE" in line]
    assert all(re.search(r'origin "\$CHANGE"$|--base HEAD --change "\$CHANGE" ', line) for line in reads)


def test_a_night_sees_no_secret(github: Path) -> None:
    assert "secrets." not in (github / "workflows" / "drift.yml").read_text(encoding="utf-8")


def test_an_apply_is_approved_and_alone(github: Path) -> None:
    content = workflow(github, "apply")
    # YAML 1.1 reads the key `on` as true.
    assert content[True] == {"push": {"branches": ["main"]}}
    apply = content["jobs"]["apply"]
    assert apply["environment"] == "${{ matrix.environment }}"
    assert apply["concurrency"] == {"group": "apply-${{ matrix.environment }}", "cancel-in-progress": False}
    first, *others = apply["steps"]
    assert first["if"] == "vars.LONGHAUL_APPLY != 'true'"
    assert all(step["if"].startswith("vars.LONGHAUL_APPLY == 'true'") for step in others)
    script = others[-1]["run"]
    assert script.index("longhaul plan") < script.index("longhaul up")


def test_every_variable_is_documented(github: Path, root: Path) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (github / "workflows").iterdir())
    documented = (root / "docs" / "review.md").read_text(encoding="utf-8")
    names = set(re.findall(r"(?:vars|secrets)\.(\w+)", text))
    assert len(names) > 8
    assert [name for name in sorted(names) if f"`{name}`" not in documented] == []


GH = f"""#!{sys.executable}
import json, pathlib, subprocess, sys
if (busy := pathlib.Path("busy")).exists():
    busy.unlink()
    sys.exit("gh: HTTP 502")
with open("asked", "a") as asked:
    print(json.dumps(sys.argv[1:]), file=asked)
if "--paginate" in sys.argv:
    subprocess.run(["jq", "--raw-output", sys.argv[-1], "listed.json"], check=True)
"""
"""A stand-in for ``gh api``, which reads a list through its filter. GitHub is busy at first."""


def posted(
    step: dict[str, Any], folder: Path, *, listed: list[dict[str, Any]], state: str = "", affected: bool = True
) -> list[list[str]]:
    """Run the script that posts, where GitHub lists ``listed``. Return the requests that write."""
    if shutil.which("jq") is None:
        pytest.skip("jq, which is on GitHub's runners, is not here")
    (folder / "reviews").mkdir()
    for name, text in {
        "gh": GH,
        "busy": "",
        "sleep": "#!/bin/sh\n",
        "listed.json": json.dumps(listed),
        "comment.md": "now",
        "issue.md": "now",
        "reviews/one.json": json.dumps({"environments": [{"name": "dev"}] if affected else []}),
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("gh", "sleep"):
        (folder / name).chmod(0o755)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", "COMMENTS": "the/comments", "ISSUES": "the/issues"}
    # As GitHub runs `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    subprocess.run(command, cwd=folder, env={**environ, "STATE": state, "TITLE": "Differs"}, check=True)
    asked = [json.loads(line) for line in (folder / "asked").read_text(encoding="utf-8").splitlines()]
    return [words for words in asked if "--paginate" not in words]


def entry(number: int, body: str | None, *, kind: str = "Bot", **more: object) -> dict[str, Any]:
    return {"url": f"url/{number}", "body": body, "user": {"type": kind}, **more}


NOT_OURS = (entry(1, f"as you said: {MARKERS[False]}"), entry(2, f"{MARKERS[False]}\nmine", kind="User"))


@pytest.mark.parametrize(
    ("listed", "affected", "written"),
    [
        (NOT_OURS, True, [["--method", "POST", "the/comments"]]),
        (NOT_OURS, False, []),
        ((*NOT_OURS, entry(3, MARKERS[False]), entry(4, MARKERS[False])), False, [["--method", "PATCH", "url/3"]]),
    ],
)
def test_one_comment_is_begun_and_then_kept(
    listed: Sequence[dict[str, Any]], affected: bool, written: list[list[str]], github: Path, tmp_path: Path
) -> None:
    step = jobs(github, "review")["review"]["steps"][-1]
    requests = posted(step, tmp_path, listed=list(listed), affected=affected)
    assert [words[1:4] for words in requests] == written
    assert all("body=@comment.md" in words for words in requests)


@pytest.mark.parametrize(
    ("listed", "state", "written"),
    [
        ((), "open", ["POST", "the/issues"]),
        ((), "closed", []),
        ((entry(1, MARKERS[True]),), "open", ["PATCH", "url/1", "state=open"]),
        ((entry(1, MARKERS[True]),), "closed", ["PATCH", "url/1", "state=closed"]),
        ((entry(1, MARKERS[True], pull_request={}), entry(2, None)), "closed", []),
    ],
)
def test_one_issue_is_open_while_something_differs(
    listed: Sequence[dict[str, Any]], state: str, written: list[str], github: Path, tmp_path: Path
) -> None:
    step = jobs(github, "drift")["issue"]["steps"][-1]
    requests = posted(step, tmp_path, listed=list(listed), state=state)
    assert [word for words in requests for word in words if word in written] == written
    assert len(requests) == bool(written)


@pytest.mark.parametrize(("name", "job"), [("review", "review"), ("drift", "issue")])
def test_the_token_that_writes_is_for_gh_alone(name: str, job: str, github: Path) -> None:
    steps = [(title, step) for title, part in jobs(github, name).items() for step in part["steps"]]
    holders = [step for title, step in steps if title == job and "github.token" in str(step)]
    assert [step["run"].count("longhaul review") for step in holders] == [0]
    others = [step["run"] for title, step in steps if title != job and "github.token" in str(step)]
    assert [run for run in others if not run.startswith("git ")] == []
    assert jobs(github, name)[job]["steps"][-1] in holders


def test_no_comment_is_written_for_a_fork(github: Path) -> None:
    step = jobs(github, "review")["review"]["steps"][-1]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in step["if"]


@pytest.fixture(name="actionlint")
def _actionlint(tmp_path: Path) -> Path:
    if "actionlint" not in {tool.name for tool in load().tools}:
        pytest.skip("tools.toml does not list actionlint")
    return tools.ensure(["actionlint"], log_dir=tmp_path, progress=print)["actionlint"]


def lint(actionlint: Path, folder: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run actionlint, which runs shellcheck on the scripts in workflows."""
    shellcheck = str(root / ".venv" / "bin" / "shellcheck")
    command = [str(actionlint), "-no-color", "-shellcheck", shellcheck, "-pyflakes", ""]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.engine
def test_actionlint_finds_nothing(actionlint: Path, root: Path) -> None:
    done = lint(actionlint, root, root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.engine
@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("contents: read", "contents: reed", "reed"),
        ("needs: affected\n", "needs: affekted\n", "affekted"),
        ('echo "environments=$environments"', "echo environments=$environments", "SC2086"),
        ("engine:", "engines:", "engines"),
    ],
)
def test_it_would_find_something(
    right: str, wrong: str, says: str, actionlint: Path, root: Path, tmp_path: Path
) -> None:
    shutil.copytree(root / ".github", tmp_path / ".github")
    (tmp_path / ".git").mkdir()
    path = tmp_path / ".github" / "workflows" / "preview.yml"
    path.write_text(path.read_text(encoding="utf-8").replace(right, wrong), encoding="utf-8")
    done = lint(actionlint, tmp_path, root)
    assert done.returncode == 1
    assert says in done.stdout


def test_the_steps_of_the_required_check_on_a_change_that_would_pass_itself(
    github: Path, checkout: Checkout, root: Path, tmp_path: Path
) -> None:
    """The scripts of `review.yml`, with git and the command, where everything that a change can bring says yes."""
    ran = tmp_path / "ran"
    bad = f"open({str(ran)!r}, 'a').write(__file__)\n"
    for path in ("longhaul/__init__.py", "longhaul/cli.py", "sitecustomize.py", "stacks/yaml.py", "json.py"):
        checkout.write(path, bad)
    for path in ("longhaul-review", ".github/workflows/review.yml", ".githooks/post-checkout"):
        checkout.write(path, f"#!/bin/sh\necho x >> {ran}\n")
    checkout.write(".gitattributes", "* filter=x diff=x\n")
    checkout.commit()
    change = checkout.git("rev-parse", "change")
    checkout.git("checkout", "--quiet", "main")
    # As GitHub has it, where a pull request's commit is on no branch of the clone.
    checkout.git("update-ref", "refs/pull/7/head", change)
    checkout.git("branch", "--quiet", "-D", "change")
    checkout.git("config", "uploadpack.allowAnySHA1InWant", "true")
    base = tmp_path / "base"
    subprocess.run(["git", "clone", "--quiet", str(checkout.path), str(base)], check=True)
    output = tmp_path / "output"
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")},
        "PATH": f"{root / '.venv/bin'}:{os.environ['PATH']}",
        "CHANGE": change,
        "GH_TOKEN": "x",
        "GITHUB_OUTPUT": str(output),
    }
    for step in jobs(github, "review")["affected"]["steps"]:
        if "run" in step:
            subprocess.run(["bash", "-e", "-c", step["run"]], cwd=base, env=environ, check=True)
    assert output.read_text(encoding="utf-8") == "environments=[]\n"
    written = json.loads((base / "affected.json").read_text(encoding="utf-8"))
    assert {entry["name"]: entry["outcome"] for entry in written["environments"]} == {
        "dev": "changes code",
        "two": "changes code",
    }
    assert not ran.exists()
    assert sorted(path.name for path in base.iterdir()) == [".git", "Pulumi.yaml", "affected.json", "docs", "stacks"]
