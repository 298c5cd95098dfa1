"""Reads the engine's preview in its JSON format, from ``pulumi preview --json``.

Field names are those of pulumi v3.250.0: ``pkg/display/json.go`` (``PreviewDigest``, ``PreviewStep``) and
``sdk/go/common/apitype/core.go`` (``ResourceV3``). Fields that are not needed are not read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contract.project import OBJECTS
from longhaul.engine.events import STACK
from longhaul.terminal.exits import CommandError, Exit


class _PreviewPart(BaseModel):
    """A part of the document. Fields that a newer engine adds are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class ResourceState(_PreviewPart):
    """State of a resource before or after the change (``ResourceV3``)."""

    custom: bool = False
    """True when a provider makes the resource. Components only group other resources."""
    delete: bool = False
    """True when an earlier replacement left the resource to be deleted."""
    inputs: dict[str, Any] = Field(default_factory=dict)
    outputs: dict[str, Any] = Field(default_factory=dict)
    retain: bool = Field(default=False, alias="retainOnDelete")
    """True when the cloud keeps the resource after the engine has removed it from its state."""
    hooks: dict[str, list[str]] = Field(default_factory=dict, alias="resourceHooks")
    """Names of hooks, by the event before or after which they run, such as ``BeforeDelete``."""


class Diff(_PreviewPart):
    """Difference of one property (``PropertyDiff``)."""

    kind: str
    """``add``, ``delete`` or ``update``, with the suffix ``-replace`` when the difference forces a new resource."""

    @property
    def replaces(self) -> bool:
        """Return whether the difference forces a new resource."""
        return self.kind.endswith("-replace")


class PreviewStep(_PreviewPart):
    """Operation on one resource (``PreviewStep``)."""

    op: str
    urn: str
    old: ResourceState | None = Field(default=None, alias="oldState")
    new: ResourceState | None = Field(default=None, alias="newState")
    diff_reasons: tuple[str, ...] = Field(default=(), alias="diffReasons")
    replace_reasons: tuple[str, ...] = Field(default=(), alias="replaceReasons")
    detailed: dict[str, Diff] | None = Field(default=None, alias="detailedDiff")


class PreviewDiagnostic(_PreviewPart):
    """Message of the engine or of the program."""

    message: str = ""
    severity: str = ""


class PreviewDocument(_PreviewPart):
    """A preview (``PreviewDigest``)."""

    steps: tuple[PreviewStep, ...] = ()
    diagnostics: tuple[PreviewDiagnostic, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict, alias="changeSummary")
    corrupt: Literal[False] = Field(default=False, alias="maybeCorrupt")

    @property
    def errors(self) -> tuple[str, ...]:
        """Return the messages of the errors that made the preview fail."""
        return tuple(diagnostic.message.strip() for diagnostic in self.diagnostics if diagnostic.severity == "error")

    @property
    def stacks(self) -> frozenset[str]:
        """Return the names of the stacks in the preview. The engine always writes the step of the stack itself, changed
        or not (``pkg/backend/display/json.go``, ``ShowPreviewDigest``)."""
        parts = (step.urn.split("::") for step in self.steps)
        return frozenset(part[0].rpartition(":")[2] for part in parts if part[2:3] == [STACK])


_KEYS = {"steps", "diagnostics", "changeSummary"}
_WRITE = "write it with `pulumi preview --json`, the variable PULUMI_ENABLE_STREAMING_JSON_PREVIEW unset"


def read_files(paths: Sequence[Path], *, env: str) -> tuple[PreviewDocument, ...]:
    """Read previews of the environment ``env`` from files: of its main stack, and optionally of the stack of the
    objects on its cluster.

    Raises:
        CommandError: a file cannot be read, is no preview, or is of another environment; or none is of the main stack.
    """
    documents = []
    for path in paths:
        document = read_document(_text(path), source=str(path))
        _require_own(document, env, source=str(path))
        documents.append(document)
    if not any(env in document.stacks for document in documents):
        raise CommandError(
            f"{paths[0]} is of {env}{OBJECTS} alone: give the preview of {env} itself with --from, too",
            code=Exit.USAGE,
        )
    return tuple(documents)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}", code=Exit.USAGE) from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not text in UTF-8; {_WRITE}", code=Exit.USAGE) from None


def _require_own(document: PreviewDocument, env: str, *, source: str) -> None:
    """Refuse a document about another environment: resources that it lacks would be judged as unchanged."""
    if not document.steps:
        raise CommandError(f"{source} has no steps, so it shows nothing about {env}; {_WRITE}", code=Exit.USAGE)
    if not document.stacks:
        wrong = f"no step is of a stack ({STACK}), so its environment is unknown"
        raise CommandError(f"{source}: {wrong}; {_WRITE}", code=Exit.USAGE)
    if not document.stacks <= {env, f"{env}{OBJECTS}"}:
        others = ", ".join(sorted(document.stacks - {env, f"{env}{OBJECTS}"}))
        raise CommandError(f"{source} is a preview of {others}, not of {env}", code=Exit.USAGE)


def read_document(text: str, *, source: str) -> PreviewDocument:
    """Read the preview in ``text``; ``source`` names it in errors.

    Raises:
        CommandError: the text is not a preview, or the preview failed.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{source} is not JSON ({error}); {_WRITE}", code=Exit.USAGE) from error
    except RecursionError:
        raise CommandError(f"{source} is nested too deeply for a preview; {_WRITE}", code=Exit.USAGE) from None
    if not isinstance(content, dict) or not _KEYS & set(content):
        raise CommandError(f"{source} is not a preview of the engine: it has no `steps`; {_WRITE}", code=Exit.USAGE)
    try:
        document = PreviewDocument.model_validate(content)
    except ValidationError as error:
        raise CommandError(
            f"{source} is not a preview of the engine: {_first(error)}; {_WRITE}", code=Exit.USAGE
        ) from None
    if document.errors:
        errors = "\n".join(f"  {line}" for line in document.errors)
        raise CommandError(f"{source}: the preview failed, so there is nothing to judge:\n{errors}")
    return document


def _first(error: ValidationError) -> str:
    """Return the first problem, without the value, which may be secret."""
    problem = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    if place == "maybeCorrupt":
        return "the engine says that its state may be corrupt (`pulumi stack export` shows it)"
    return f"{place}: {problem['msg']}"
