"""Makes plans by running ``longhaul plan`` in a separate process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from clouds.registry import clouds
from longhaul.engine.plugins import OFFLINE
from longhaul.project.checkout import Project
from longhaul.review.outcome import ReviewOutcome
from longhaul.review.stack_without_secrets import SealedProject, project_without_secrets
from longhaul.terminal.exits import CommandError, Exit


def drift_words() -> tuple[str, ...]:
    """Return the options with which the engine compares with the clouds, and not with the state alone. Resources that
    the role may not read are excluded."""
    types = (type_ for cloud in clouds().values() for type_ in cloud.resources.sealed())
    return ("--refresh", *(word for type_ in types for word in ("--exclude", f"**{type_}::**")))


class ReviewPlanError(Exception):
    """A plan could not be made. The message is for people and may be long."""


class Reason(BaseModel):
    """A finding of a plan."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    level: ReviewOutcome
    what: str


class Summary(BaseModel):
    """Head of the JSON document from ``longhaul plan --format json``, for the line in a review."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    verdict: ReviewOutcome
    against: str
    """Words for the base of the comparison."""
    counts: dict[str, int]
    """Number of resources by action."""
    reasons: tuple[Reason, ...] = ()
    policy: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A plan in the forms that a review needs."""

    summary: Summary
    markdown: str
    has_state: bool
    """True when there was a stack to compare with. Without a stack, everything is new."""


class Planner(Protocol):
    """Interface for making plans."""

    def __call__(self, env: str, *, project: Project, base: Path | None, drift: bool) -> Planned:
        """Make the plan of ``env`` in ``project``; ``base`` is its earlier file. Raise :class:`ReviewPlanError` when
        that fails."""


@dataclass(frozen=True, kw_only=True)
class CommandPlanner:
    """Runs ``longhaul plan`` on a copy of the stack (:mod:`longhaul.review.stack_without_secrets`)."""

    program: Path
    """Folder of the packages that the plan runs."""
    environ: Mapping[str, str]

    def __call__(self, env: str, *, project: Project, base: Path | None, drift: bool) -> Planned:
        """Run the command once, with output for programs and for people. The stack of cluster objects is left out,
        because the cluster's API requires a key from the vault."""
        with tempfile.TemporaryDirectory(prefix="longhaul-review-") as folder:
            try:
                place = project_without_secrets(
                    project, env, folder=Path(folder), program=self.program, environ=self.environ
                )
            except CommandError as error:
                raise ReviewPlanError(str(error)) from error
            document = Path(folder) / "plan.json"
            forms = ["--format", "markdown", "--also", f"json={document}"]
            words = ["--env", env, "--no-objects", *forms, *(["--base", str(base)] if base else [])]
            markdown = _run([*words, *(["--", *drift_words()] if drift else [])], place)
            summary = read_summary(document.read_text(encoding="utf-8") if document.exists() else "")
        shown = "the state, secrets left out"
        return Planned(
            summary=summary.model_copy(update={"against": _named(summary.against, place, shown)}),
            markdown=_named(markdown, place, shown),
            has_state=place.has_state,
        )


def read_summary(text: str) -> Summary:
    """Read the head of a plan's JSON document. Raise ``ReviewPlanError`` for any other text."""
    try:
        return Summary.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ReviewPlanError(f"`longhaul plan` wrote no plan: {place}: {first['msg']}") from None


def _run(words: Sequence[str], place: SealedProject) -> str:
    """Return the command's output, whether or not the plan is refused."""
    command = [sys.executable, "-P", "-m", "longhaul", "plan", "--project", str(place.project.root), *words]
    done = subprocess.run(
        command,
        cwd=place.project.root,
        # The plugins that a review may use are there before it: it reads a change, and fetches nothing for it.
        env={**place.environ, OFFLINE: "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode not in (Exit.OK, Exit.REFUSED):
        raise ReviewPlanError(
            _named(done.stderr.strip() or f"`longhaul plan` ended with {done.returncode}", place, "the copy")
        )
    return done.stdout


def _named(text: str, place: SealedProject, name: str) -> str:
    """Return ``text`` without the names of temporary folders, which differ from run to run."""
    for url in (place.backend, str(place.project.root.parent)):
        for quoted in (f"the stack in {url}", url) if url else ():
            text = text.replace(quoted, name)
    return text
