"""The checkout that a command works on, and the environments in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contract.project import OBJECTS, OBJECTS_OF, PROJECT_FILE, STACKS
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.loading.load import Examined


@dataclass(frozen=True, kw_only=True)
class Project:
    """A checkout of Longhaul; all paths are absolute."""

    root: Path

    @property
    def stacks(self) -> Path:
        """Return the folder of the environment files and of the program."""
        return self.root / STACKS

    def stack_file(self, env: str) -> Path:
        """Return the path of the environment file of ``env``, whether it exists or not."""
        return self.stacks / f"Pulumi.{env}.yaml"

    def environments(self) -> list[str]:
        """Return the names of the environments that have a file, sorted."""
        names = (path.name.split(".")[1] for path in self.stacks.glob("Pulumi.*.yaml"))
        return sorted(name for name in names if not name.endswith(OBJECTS))

    def definition(self) -> dict[str, Any]:
        """Return the content of ``Pulumi.yaml``. Raise ``ConfigurationError`` when it cannot be read or has no name.
        The file has the same limits as an environment's file."""
        from components.model import ConfigurationError, Problem
        from components.model.loading.document import read_document

        path = self.root / PROJECT_FILE
        content = read_document(path).data
        if not isinstance(content.get("name"), str):
            wrong, write = "is not a Pulumi project file: it has no `name`", "name: longhaul"
            raise ConfigurationError([Problem(file=str(path), key="name", wrong=wrong, write=write)])
        return content

    def load(self, env: str) -> Environment:
        """Load the environment ``env`` and check it against its neighbours. Raise ``ConfigurationError`` with every
        problem."""
        from components.model import load
        from components.model.loading.load import check_neighbours

        path = self._existing(env)
        environment = load(path)
        check_neighbours(environment, source=path)
        self._check_objects_file(env)
        return environment

    def examine(self, env: str) -> Examined:
        """Load the environment ``env`` like :meth:`load`, with the cautions about its file."""
        from components.model.loading.load import check_neighbours, examine, not_compared

        path = self._existing(env)
        examined = examine(path)
        check_neighbours(examined.environment, source=path)
        self._check_objects_file(env)
        return replace(examined, warnings=(*examined.warnings, *not_compared(path)))

    def _check_objects_file(self, env: str) -> None:
        """Raise ``ConfigurationError`` when the file of the environment's second stack has another configuration than
        the environment's name: it could name another environment, whose cluster the stack would then change."""
        from components.model import ConfigurationError, Problem
        from components.model.loading.document import read_document

        path = self.stack_file(f"{env}{OBJECTS}")
        if not os.path.lexists(path):
            return
        document = read_document(path)
        if document.data.get("config") != {OBJECTS_OF: env}:
            wrong, write = "is not the environment's name alone", f"config:\n      {OBJECTS_OF}: {env}"
            line = document.line(("config",))
            raise ConfigurationError([Problem(file=str(path), line=line, key="config", wrong=wrong, write=write)])

    def _existing(self, env: str) -> Path:
        """Return the path of the environment's file. Raise ``ConfigurationError`` when nothing has this name; the
        reader checks whether it is a readable file."""
        from components.model import ConfigurationError, Problem

        path = self.stack_file(env)
        if not os.path.lexists(path):
            known = ", ".join(self.environments()) or "none"
            wrong = f"does not exist{_meant(env, self.environments())}"
            raise ConfigurationError(
                [Problem(file=str(path), key="", wrong=wrong, write=f"an environment here: {known}")]
            )
        return path


def examples_folder() -> Path:
    """Return the folder of the examples: in the checkout, or in the installed package."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "examples"
    return installed if installed.is_dir() else package.parent / "examples"


def example_names() -> list[str]:
    """Return the names of the examples, sorted."""
    names = (path.name.split(".")[1] for path in examples_folder().glob("Pulumi.*.yaml"))
    return sorted(name for name in names if not name.endswith(OBJECTS))


def _meant(env: str, known: Sequence[str]) -> str:
    """Return a question that suggests the existing name that is most like ``env``; empty when none is similar."""
    from difflib import get_close_matches

    if env in example_names():
        return f"; did you mean --example {env}?"
    close = get_close_matches(env, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def find_project(given: str | None) -> Project:
    """Return the project in ``given``, or else the nearest project in the current directory or above."""
    if given is not None:
        root = Path(given).resolve()
        if not (root / PROJECT_FILE).is_file():
            raise CommandError(f"--project {given}: there is no {PROJECT_FILE}", code=Exit.USAGE)
        return Project(root=root)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / PROJECT_FILE).is_file() and (folder / STACKS).is_dir():
            return Project(root=folder)
    raise CommandError(
        f"no {PROJECT_FILE} beside a {STACKS}/ folder in {here} or above it: "
        "change into the checkout, or name it with --project",
        code=Exit.USAGE,
    )
