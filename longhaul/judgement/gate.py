"""Judges ``longhaul up`` before it runs: ``up`` refuses what ``longhaul plan`` refuses, with the same text.

Three cases are not judged. When the engine is told to skip its preview, only its own guards apply. A new stack has
nothing to lose. A run that died half-way has to be finished first. The program's policies apply in all three.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import TYPE_CHECKING

from clouds.base.findings import Severity
from components.model.policy.judging import PREVIEW_JUDGED
from longhaul.engine import processes
from longhaul.engine.engine import Engine
from longhaul.engine.pending import pending_creates
from longhaul.engine.records import VARIABLE, new_run
from longhaul.judgement.deprecated_apis import Ask, no_cluster
from longhaul.judgement.finding import PlanFinding
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.judgement.preview_document import PreviewDocument

SKIP = "--skip-preview"
"""The engine's option that skips the preview."""

ONLY_OF_UP = ("--yes", "-y", "--json", "-j", "--continue-on-error", "--suppress-outputs")
"""Options of the engine's ``up`` that its ``preview`` lacks, or that this module passes itself."""

NAMING = ("--replace", "--target-replace")
"""Options that name a resource to replace, as the operator wants."""

_STREAMING = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW"
"""Environment variable that makes the engine write events instead of one document (``pulumi preview --help``)."""


def is_judged(engine: Engine, words: Sequence[str]) -> bool:
    """Return whether ``up`` is judged: the stack exists, the preview is not skipped, and no resource's creation is
    pending. After a run that died half-way, ``up`` finishes that run first, since the state lacks the resources that
    the run was creating."""
    return not {SKIP, "-f"} & set(words) and not engine.is_new() and not pending_creates(engine)


def refuse(
    engine: Engine,
    environment: Environment,
    words: Sequence[str],
    *,
    max_removed: float,
    images: Mapping[str, Mapping[str, str]] | None = None,
    apis: Ask = no_cluster,
) -> bool:
    """Return whether the engine's ``up WORDS`` is refused, and print the reasons."""
    from longhaul.judgement.changes import read_changes
    from longhaul.judgement.plan import PlanTerms, make_plan
    from longhaul.judgement.policies import policy_findings
    from longhaul.judgement.text import findings_text

    say("judging the change first")
    document = preview(engine, [word for word in words if word not in ONLY_OF_UP])
    terms = PlanTerms(
        max_removed=max_removed, images=images or {}, apis=apis, policy=policy_findings([document], environment)
    )
    made = make_plan(environment, read_changes([document]), terms)
    against = [reason for reason in (*made.reasons, *made.policy) if reason.severity is Severity.PROBLEM]
    against = [reason for reason in against if not _is_meant(reason, _named(words))]
    if against:
        lines = "\n".join(findings_text(against))
        say(
            f"{environment.name} is not touched:\n{lines}\n`longhaul plan --env {environment.name}` shows the "
            "whole plan."
        )
    return bool(against)


def confirmation_words(words: Sequence[str]) -> list[str]:
    """Return the engine's words for ``up`` after the judgement: with ``--yes`` it needs no second preview."""
    return [*words, SKIP] if "--yes" in words and "--json" not in words else list(words)


def preview(engine: Engine, rest: Iterable[str]) -> PreviewDocument:
    """Preview one stack without the program's own judgement, and return the document."""
    from longhaul.judgement.preview_document import read_document

    run = new_run("preview")
    environ = {name: value for name, value in engine.environ.items() if name != _STREAMING}
    engine = replace(engine, environ={**environ, VARIABLE: run.id, PREVIEW_JUDGED: "1"})
    words = [*engine.argv("preview", configured=True), "--suppress-outputs", "--show-sames", "--json", *rest]
    with tempfile.TemporaryFile() as file:
        result = engine.run(words, stdout=file)
        processes.terminate(run.leftovers())
        file.seek(0)
        text = file.read().decode()
    if result.interrupted:
        raise KeyboardInterrupt
    if result.code != 0 and not text.strip():
        raise CommandError(f"the engine's preview of {engine.stack} failed, see above; there is nothing to judge")
    document = read_document(text, source=f"the engine's preview of {engine.stack}")
    if result.code != 0:
        raise CommandError(
            f"the engine's preview of {engine.stack} ended with {result.code}; there is nothing to judge"
        )
    return document


def _named(words: Sequence[str]) -> list[str]:
    """Return the names, or patterns of names, of resources whose replacement is requested."""
    given = [value for word, value in pairwise(words) if word in NAMING]
    given += [word.partition("=")[2] for word in words if word.startswith(tuple(f"{option}=" for option in NAMING))]
    return [urn.rpartition("::")[2] for urn in given]


def _is_meant(finding: PlanFinding, named: Sequence[str]) -> bool:
    return bool(finding.where) and all(any(fnmatchcase(resource, name) for name in named) for resource in finding.where)
