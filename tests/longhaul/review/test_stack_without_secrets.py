"""A stack without its secrets, and ``longhaul plan`` with that stack."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from clouds.base.inputs import SECRET, SIGNATURE
from contract.project import PLUGIN_CHECKSUMS
from longhaul.engine.plugins import OFFLINE
from longhaul.project.checkout import Project
from longhaul.review import planner
from longhaul.review.outcome import ReviewOutcome
from longhaul.review.planner import CommandPlanner, Planned, ReviewPlanError, drift_words, read_summary
from longhaul.review.stack_without_secrets import PLACEHOLDER, SealedProject, project_without_secrets, without_secrets
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.review.conftest import AGAINST, Checkout, plan_text
from tests.support.programs import write_program

CIPHER = {SIGNATURE: SECRET, "ciphertext": "v1:abc:def"}
DEPLOYMENT = {
    "manifest": {"version": "v3.250.0"},
    "secrets_providers": {"type": "passphrase", "state": {"salt": "v1:salt"}},
    "resources": [
        {"urn": "urn:pulumi:dev::longhaul::x::y", "inputs": {"key": CIPHER, "name": "n"}, "outputs": {"l": [CIPHER]}}
    ],
}

ENGINE = """\
#!{python}
import json, os, pathlib, sys
folder = pathlib.Path(__file__).parent
with (folder / "calls").open("a") as file:
    file.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\\n")
said = json.loads((folder / "says").read_text())
sys.stdout.write(said["out"])
sys.stderr.write(said["err"])
sys.exit(said["code"])
"""
"""A stand-in for the engine; only `stack export` is used."""

COMMAND = """\
import json, os, pathlib, sys
words = sys.argv[1:]
folder = pathlib.Path({folder!r})
state = os.environ["PULUMI_BACKEND_URL"].removeprefix("file://")
note = [words, dict(os.environ), pathlib.Path(state, ".pulumi/stacks/longhaul/dev.json").read_text() if state else ""]
with (folder / "plans").open("a") as file:
    file.write(json.dumps(note) + "\\n")
def text(form):
    path = folder / ("plan." + form)
    return path.read_text().replace("BACKEND", "the stack in file://" + state) if path.exists() else ""
sys.stdout.write(text(words[words.index("--format") + 1]))
form, _, file = words[words.index("--also") + 1].partition("=")
if not (folder / "silent").exists():
    pathlib.Path(file).write_text(text(form))
sys.stderr.write((folder / "error").read_text() if (folder / "error").exists() else "")
sys.exit(int((folder / "code").read_text()))
"""
"""A stand-in for the command in the change under review."""


class Place:
    """A checkout with stand-ins for the engine and for ``longhaul plan``."""

    def __init__(self, checkout: Checkout, folder: Path) -> None:
        self.folder, self.checkout = folder, checkout
        engine = write_program(folder / "pulumi", ENGINE.format(python=sys.executable))
        self.engine_says(json.dumps({"version": 3, "deployment": DEPLOYMENT}))
        for name in ("json", "md"):
            text = plan_text("care", name).replace(AGAINST, "compared with BACKEND")
            (folder / f"plan.{'markdown' if name == 'md' else name}").write_text(text, encoding="utf-8")
        (folder / "code").write_text("0", encoding="utf-8")
        checkout.write("longhaul/__init__.py", "")
        checkout.write("longhaul/__main__.py", COMMAND.format(folder=str(folder)))
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "LONGHAUL_PULUMI": str(engine),
            "PULUMI_BACKEND_URL": "s3://state",
            "GITHUB_TOKEN": "ghs_of_the_job",
        }

    def engine_says(self, out: str = "", *, err: str = "", code: int = 0) -> None:
        (self.folder / "says").write_text(json.dumps({"out": out, "err": err, "code": code}), encoding="utf-8")

    def notes(self, name: str) -> list[Any]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def plan(self, *, base: Path | None = None, drift: bool = False) -> Planned:
        planner = CommandPlanner(program=self.checkout.path, environ=self.environ)
        return planner("dev", project=self.checkout.project, base=base, drift=drift)

    def copy(self, folder: Path) -> SealedProject:
        project = self.checkout.project
        return project_without_secrets(project, "dev", folder=folder, program=project.root, environ=self.environ)


@pytest.fixture(name="place")
def _place(checkout: Checkout, tmp_path: Path) -> Place:
    folder = tmp_path / "place"
    folder.mkdir()
    return Place(checkout, folder)


def test_every_secret_is_the_same_and_none_is_there() -> None:
    plain = without_secrets(DEPLOYMENT)
    assert "v1:" not in json.dumps(plain)
    resource = plain["resources"][0]
    assert resource["inputs"] == {"key": {SIGNATURE: SECRET, "plaintext": PLACEHOLDER}, "name": "n"}
    assert resource["outputs"]["l"] == [resource["inputs"]["key"]]
    assert json.loads(PLACEHOLDER)


def test_the_copy_keeps_what_is_declared_line_by_line(checkout: Checkout, place: Place, tmp_path: Path) -> None:
    path = checkout.path / "stacks/Pulumi.dev.yaml"
    source = f"# Ours.\nencryptionsalt: v1:salt\n{path.read_text(encoding='utf-8')}"
    path.write_text(source, encoding="utf-8")
    copy = place.copy(tmp_path / "copy")
    text = copy.project.stack_file("dev").read_text(encoding="utf-8")
    assert text == source.replace("encryptionsalt: v1:salt\n", "\n")
    assert copy.project.load("dev") == checkout.project.load("dev")
    assert (copy.project.stacks / "__main__.py").is_file()


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_plugins_are_compared_with_the_checksums_by_which_they_were_installed(
    kind: str, checkout: Checkout, place: Place, tmp_path: Path
) -> None:
    program, other = tmp_path / "program", tmp_path / "other"
    (program / "stacks").mkdir(parents=True)
    (program / "stacks" / PLUGIN_CHECKSUMS).write_text("ours", encoding="utf-8")
    other.write_text("theirs", encoding="utf-8")
    change = checkout.path / "stacks" / PLUGIN_CHECKSUMS
    if kind == "folder":
        change.mkdir()
    elif kind == "link":
        change.symlink_to(other)
    else:
        change.write_text("theirs", encoding="utf-8")
    copy = project_without_secrets(
        checkout.project, "dev", folder=tmp_path / "copy", program=program, environ=place.environ
    )
    assert (copy.project.stacks / PLUGIN_CHECKSUMS).read_text(encoding="utf-8") == "ours"
    assert other.read_text(encoding="utf-8") == "theirs"


def test_the_backend_of_the_project_file_is_read_and_not_passed_on(
    checkout: Checkout, place: Place, tmp_path: Path
) -> None:
    definition = {**checkout.project.definition(), "backend": {"url": "azblob://state?storage_account=x"}}
    checkout.write("Pulumi.yaml", yaml.safe_dump(definition))
    del place.environ["PULUMI_BACKEND_URL"]
    copy = place.copy(tmp_path / "copy")
    ((words, environ),) = place.notes("calls")
    assert words == ["stack", "export", "--stack", "dev", "--non-interactive"]
    assert environ["PULUMI_BACKEND_URL"] == "azblob://state?storage_account=x"
    assert "backend" not in copy.project.definition()
    assert copy.has_state


def test_one_plan_gets_the_state_without_secrets_and_no_token(place: Place) -> None:
    planned = place.plan(base=Path("/base/Pulumi.dev.yaml"))
    assert planned.summary.verdict is ReviewOutcome.CARE
    assert planned.markdown.startswith("## ")
    ((words, environ, state),) = place.notes("plans")
    also = words.pop(words.index("--also") + 1)
    assert also.startswith("json=")
    assert words[0] == "plan"
    given = ["--env", "dev", "--no-objects", "--format", "markdown", "--also", "--base", "/base/Pulumi.dev.yaml"]
    assert words[3:] == given
    assert "GITHUB_TOKEN" not in environ
    assert environ["PULUMI_CONFIG_PASSPHRASE"]
    assert "ciphertext" not in state
    assert json.loads(state)["checkpoint"]["latest"] == without_secrets(DEPLOYMENT)
    assert environ["PYTHONPATH"] == str(place.checkout.path)


def test_a_plan_that_was_not_written_is_no_plan(place: Place) -> None:
    (place.folder / "silent").touch()
    with pytest.raises(ReviewPlanError, match="wrote no plan"):
        place.plan()


def test_temporary_folders_are_not_named(place: Place) -> None:
    planned = place.plan()
    assert planned.summary.against == AGAINST
    assert "/longhaul-review-" not in planned.markdown
    assert AGAINST in planned.markdown
    (place.folder / "code").write_text("1", encoding="utf-8")
    (place.folder / "error").write_text("longhaul: it is broken", encoding="utf-8")
    with pytest.raises(ReviewPlanError, match="it is broken"):
        place.plan()


def test_a_refused_plan_is_a_plan(place: Place) -> None:
    (place.folder / "code").write_text("4", encoding="utf-8")
    assert place.plan().markdown


def test_drift_reads_the_clouds_and_no_tunnel(place: Place) -> None:
    place.plan(drift=True)
    words = place.notes("plans")[0][0]
    assert tuple(words[words.index("--") + 1 :]) == drift_words()
    assert "--refresh" in words


@pytest.mark.parametrize("said", ["error: no stack named 'dev' found", None])
def test_without_a_stack_everything_is_new(said: str | None, place: Place) -> None:
    if said is None:
        del place.environ["PULUMI_BACKEND_URL"]
    else:
        place.engine_says(err=said, code=6)
    planned = place.plan()
    assert not planned.has_state
    assert place.notes("plans")[0][1]["PULUMI_BACKEND_URL"] == ""


@pytest.mark.parametrize(
    ("out", "err", "code", "says"),
    [
        (
            "",
            "error: could not list bucket: AccessDenied",
            255,
            "cannot be read from the backend: error: .*AccessDenied",
        ),
        ("Logging in…", "", 0, "the backend's stack is not a state"),
    ],
)
def test_a_backend_that_cannot_be_read_is_no_new_environment(
    out: str, err: str, code: int, says: str, place: Place
) -> None:
    place.engine_says(out, err=err, code=code)
    with pytest.raises(ReviewPlanError, match=says):
        place.plan()
    with pytest.raises(CommandError):
        place.copy(place.folder / "copy")


def test_a_plan_of_another_form_is_said() -> None:
    with pytest.raises(ReviewPlanError, match="wrote no plan: verdict"):
        read_summary('{"verdict": "fine", "against": "", "counts": {}}')


def test_a_project_that_is_no_copy_is_left_alone(place: Place, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in place.checkout.path.rglob("*") if path.is_file()}
    copy = place.copy(tmp_path / "copy")
    assert isinstance(copy.project, Project)
    assert {path: path.read_bytes() for path in place.checkout.path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("key", ['"secretsprovider": x', "'secretsprovider': x", "? secretsprovider\n: x"])
def test_a_secrets_provider_in_another_form_than_the_engines_is_refused(
    key: str, checkout: Checkout, place: Place, tmp_path: Path
) -> None:
    path = checkout.path / "stacks/Pulumi.dev.yaml"
    path.write_text(f"{key}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    with pytest.raises(CommandError, match="on a line of its own"):
        place.copy(tmp_path / "copy")


def test_a_review_fetches_no_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []

    def run(words: list[str], *, env: dict[str, str], **_more: object) -> subprocess.CompletedProcess[str]:
        given.append(env)
        return subprocess.CompletedProcess(words, Exit.OK, "", "")

    monkeypatch.setattr("longhaul.review.planner.subprocess.run", run)
    place = SealedProject(project=Project(root=tmp_path), environ={OFFLINE: ""}, has_state=False, backend="")
    planner._run((), place)
    assert [environ[OFFLINE] for environ in given] == ["1"]
