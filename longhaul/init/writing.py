"""Files that are written only once they are valid, and whole."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

ENCRYPTION = ("secretsprovider", "encryptedkey", "encryptionsalt")
"""What the engine writes into a stack file beside its configuration (pulumi.com, "Stack settings file reference")."""


def refuse_existing(stacks: Path, names: Sequence[str], *, force: bool) -> None:
    """``CommandError`` when a file is there already and may not be replaced."""
    found = [str(stacks / name) for name in names if (stacks / name).exists()]
    if found and not force:
        raise CommandError(
            f"{' and '.join(found)} {'is' if len(found) == 1 else 'are'} there already; another name (--env), or "
            "--force to replace it",
            code=Exit.USAGE,
        )


def write(stacks: Path, texts: Mapping[str, str], *, stack: str, force: bool) -> Environment:
    """Write ``texts``, by file name, once the environment in ``stack`` is valid beside its neighbours; returns it.

    Each file appears whole. A file that another one names has to come before it in ``texts``: whenever this ends,
    what is there can be read. ``ConfigurationError`` with everything that is wrong.
    """
    from components.model.load import check_neighbours

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
    """Each into its place; those that were new go again when a later one cannot be put there."""
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
    """The environment in ``folder``; what is wrong with it is said of ``called``, where its files are to be."""
    from components.model import ConfigurationError, load

    try:
        return load(folder / stack)
    except ConfigurationError as error:
        raise ConfigurationError(
            replace(problem, file=str(called / Path(problem.file).name)) for problem in error.problems
        ) from None


def encryption(path: Path) -> dict[str, str]:
    """What a stack file says of how the engine encrypts its secrets: a file that takes its place has to say the same,
    or the state's secrets are lost. Empty when there is no such file."""
    import yaml

    try:
        known = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (UnicodeDecodeError, yaml.YAMLError):
        raise CommandError(
            f"{path} cannot be read, so what encrypts its stack's secrets would be lost: move it away first"
        ) from None
    found = known if isinstance(known, dict) else {}
    return {key: str(found[key]) for key in ENCRYPTION if key in found}
