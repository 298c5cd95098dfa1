"""Reads the pull request that a GitHub Actions job runs for.

Variables and the event's file: docs.github.com, "Variables reference"; the event's fields: "Webhook events and
payloads", ``pull_request``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.exits import CommandError, Exit


@dataclass(frozen=True, kw_only=True)
class PullRequest:
    """A pull request."""

    repository: str
    """Owner and name of the repository that it is to be merged into."""
    number: int
    fork: bool
    """True when its branch is in another repository, or in a repository that no longer exists."""


def repository_of(environ: Mapping[str, str]) -> str:
    """Return the repository that the job runs in. Raises ``CommandError`` outside of GitHub Actions."""
    repository = environ.get("GITHUB_REPOSITORY", "")
    if repository.count("/") != 1:
        raise CommandError(
            f"GITHUB_REPOSITORY is {repository!r}, not an owner and a name: this is no job of GitHub Actions. "
            "Elsewhere set it, or leave --comment and --issue out and post what --to writes",
            code=Exit.USAGE,
        )
    return repository


def pull_request(environ: Mapping[str, str]) -> PullRequest | None:
    """Return the pull request of the job; None when the job runs for none, or not on GitHub Actions.

    Raises:
        CommandError: the event cannot be read.
    """
    path = environ.get("GITHUB_EVENT_PATH")
    if not path:
        return None
    try:
        event: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"GITHUB_EVENT_PATH, {path}, cannot be read: {error}", code=Exit.USAGE) from error
    found = event.get("pull_request") if isinstance(event, dict) else None
    if not isinstance(found, dict):
        return None
    repository = repository_of(environ)
    head = (found.get("head") or {}).get("repo") or {}
    return PullRequest(
        repository=repository,
        number=int(found["number"]),
        fork=str(head.get("full_name", "")).lower() != repository.lower(),
    )
