"""Writes files completely, and only after validation."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment


def refuse_existing(stacks: Path, names: Sequence[str], *, force: bool) -> None:
    """Raise ``CommandError`` when a file exists and ``force`` is not set."""
    existing = [str(stacks / name) for name in names if (stacks / name).exists()]
    if existing and not force:
        raise CommandError(
            f"{' and '.join(existing)} {'is' if len(existing) == 1 else 'are'} there already; another name (--env), or "
            "--force to replace it",
            code=Exit.USAGE,
        )


def write(stacks: Path, texts: Mapping[str, str], *, stack: str, force: bool) -> Environment:
    """Write ``texts``, by file name, if the environment in ``stack`` is valid beside its neighbours, and return the
    environment. Raise ``ConfigurationError`` with all problems otherwise.

    Each file appears completely. ``texts`` must have a file before the files that name it, so that the files on disk
    can be read at any moment.
    """
    from components.model.loading.load import check_neighbours

    with tempfile.TemporaryDirectory(prefix=".init-", dir=stacks) as temporary:
        folder = Path(temporary)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        environment = _load(folder, stack, called=stacks)
        check_neighbours(environment, source=stacks / stack)
        refuse_existing(stacks, list(texts), force=force)
        _move(folder, stacks, list(texts))
    return environment


def _move(folder: Path, stacks: Path, names: Sequence[str]) -> None:
    """Move each file to its place. When a file cannot be placed, remove the new files again."""
    new: list[Path] = []
    try:
        for name in names:
            target = stacks / name
            if not target.exists():
                new.append(target)
            (folder / name).replace(target)
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        raise


def _load(folder: Path, stack: str, *, called: Path) -> Environment:
    """Load the environment in ``folder``. Problems name ``called``, the folder in which the files will be."""
    from components.model import ConfigurationError, load

    try:
        return load(folder / stack)
    except ConfigurationError as error:
        raise ConfigurationError(
            replace(problem, file=str(called / Path(problem.file).name)) for problem in error.problems
        ) from None
