"""A real git repository with a project in it, and plans in the form that ``longhaul plan`` writes."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from longhaul.project.checkout import Project
from longhaul.review.outcome import Review
from longhaul.review.planner import Planned, ReviewPlanError, read_summary
from longhaul.review.reviewing import Reviewer
from tests.support.project import Project as Files
from tests.support.project import environment, hybrid

PLANS = Path(__file__).parents[1] / "plan" / "golden"
"""Folder with outputs of ``longhaul plan`` for the engine's own documents, as JSON and as Markdown."""

AGAINST = "compared with the state, secrets left out"
"""Words of a plan for a review about what it was compared with."""

SUBSCRIPTION = "11111111-0000-4000-8000-000000000001"

IDENTITY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def plan_text(verdict: str, form: str) -> str:
    """Return a plan with a verdict, ``safe``, ``care`` or ``refused``, in one form, ``json`` or ``md``."""
    text = (PLANS / f"{verdict}.{form}").read_text(encoding="utf-8")
    return text.replace(f"as previewed in {verdict}.json", AGAINST)


def plan(verdict: str, *, has_state: bool = True) -> Planned:
    """Return that plan as a planner returns it."""
    summary = read_summary(plan_text(verdict, "json"))
    return Planned(summary=summary, markdown=plan_text(verdict, "md"), has_state=has_state)


@dataclass(kw_only=True)
class Plans:
    """A planner with a test's answers, which records what it is asked."""

    answers: dict[str, Planned | str] = field(default_factory=dict)
    """Answers by environment; a text is the error of a plan that fails."""
    asked: dict[str, str | None] = field(default_factory=dict)
    """Files of before that it was given, by environment."""
    projects: dict[str, dict[str, str]] = field(default_factory=dict)
    """Files beside the environment that it was to plan, by environment."""
    drift: bool = False

    def __call__(self, env: str, *, project: Project, base: Path | None, drift: bool) -> Planned:
        self.projects[env] = {
            path.name: path.read_text(encoding="utf-8") for path in project.stacks.iterdir() if path.is_file()
        }
        self.asked[env] = None if base is None else base.read_text(encoding="utf-8")
        self.drift = drift
        answer = self.answers.get(env) or plan("safe")
        if isinstance(answer, str):
            raise ReviewPlanError(answer)
        return answer


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """The repository. Its branch ``main`` has the environments ``dev``, which has racks, and ``two``."""

    path: Path

    @property
    def project(self) -> Project:
        return Project(root=self.path)

    def git(self, *words: str) -> str:
        environ = {**os.environ, **IDENTITY}
        done = subprocess.run(["git", *words], cwd=self.path, env=environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a change")

    def write(self, path: str, text: str = "changed\n") -> None:
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def read(self, env: str) -> dict[str, Any]:
        raw: dict[str, Any] = Files(path=self.path, env=env).read()
        return raw

    def change(self, env: str, raw: dict[str, Any]) -> None:
        self.write(
            f"stacks/Pulumi.{env}.yaml", yaml.safe_dump({"config": {"longhaul:environment": raw}}, sort_keys=False)
        )

    def resize(self, env: str, members: int) -> None:
        raw = self.read(env)
        raw["control_plane"]["events"]["members"] = members
        self.change(env, raw)

    def review(self, planner: Plans | None, *, fork: bool = False, only: str | None = None) -> Review:
        return Reviewer(project=self.project, planner=planner, fork=fork, only=only).change("main")

    def proposed(self, planner: Plans | None = None, *, fork: bool = False) -> Review:
        """Review the branch ``change`` as CI does: by the code of ``main``, which alone is checked out."""
        commit = self.git("rev-parse", "change")
        self.git("checkout", "--quiet", "main")
        try:
            return Reviewer(project=self.project, planner=planner, fork=fork).commit("HEAD", commit)
        finally:
            assert self.git("status", "--porcelain") == ""
            self.git("checkout", "--quiet", "change")


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path) -> Checkout:
    checkout = Checkout(path=tmp_path / "project")
    first = hybrid("dev", supernet="10.64.0.0/12")
    first["sites"]["weu"]["subscription"] = SUBSCRIPTION
    second = environment("two", supernet="10.80.0.0/12")
    second["sites"]["weu"]["subscription"] = SUBSCRIPTION
    Files.make(checkout.path, first)
    checkout.change("two", second)
    checkout.write("docs/read.md")
    checkout.git("init", "--quiet", "--initial-branch", "main")
    checkout.commit()
    checkout.git("checkout", "--quiet", "-b", "change")
    return checkout
