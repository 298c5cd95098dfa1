"""The environment's files as they were before a change, for ``longhaul plan --base``."""

from __future__ import annotations

from pathlib import Path

from longhaul.project import STACKS
from longhaul.review.affected import Side
from longhaul.review.git import Repository


def base_file(repository: Repository, commit: str, env: str, *, before: Side, folder: Path) -> Path | None:
    """Write the environment's file of ``commit``, and the hosts file that it names, into ``folder``; None when there
    was none, or when it was no valid one: nothing that could be compared with was declared then."""
    from components.model import ConfigurationError, load

    names = [f"{STACKS}/Pulumi.{env}.yaml", before.hosts.get(env)]
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        text = repository.text(commit, name) if name is not None else None
        if name is not None and text is not None:
            # Its own name alone: a hosts file is named beside its environment, and nothing is written elsewhere.
            (folder / Path(name).name).write_text(text, encoding="utf-8")
    path = folder / f"Pulumi.{env}.yaml"
    if not path.is_file():
        return None
    try:
        load(path)
    except ConfigurationError:
        return None
    return path
