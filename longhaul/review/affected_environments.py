"""Finds the environments that a change affects, from the changed files alone.

Files that narrow this are listed; any other file affects every environment. A list of the files that do affect them
would lack some: a new module in the program's folder replaces a package of the same name in every plan and apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from contract.project import OBJECTS, PRICE_FILE, STACKS

WITHOUT_EFFECT = (
    "docs/",
    "examples/",
    "tests/",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
)
"""Paths that no plan and no apply reads; a folder ends with a slash."""

SHARED_DATA = f"{STACKS}/{PRICE_FILE}"
"""The only file that affects every environment and is data: the base's code can plan with a change's version of it."""

_PATH = re.compile(r"(\w[\w.@+-]*/)*\w[\w.@+-]*", re.ASCII)
"""Names that narrow. Others, such as those with a leading point, mean something to git, Python or another tool."""

_HOSTS_FILE = re.compile(r"(?!Pulumi\.)\w[\w.-]*\.yaml", re.ASCII)
"""Names of hosts files that narrow. A hosts file may have any plain name: one called ``yaml.py`` can be a valid hosts
file and a module at once."""

Side = Mapping[str, str | None]
"""Environments on one side of a change, each with the path of the hosts file that its stack file names; None without a
hosts file."""


@dataclass(frozen=True, kw_only=True, order=True)
class ChangedFile:
    """A file that differs between two sides of a change."""

    path: str
    """Path below the project; outside it, the path from the top of the repository, with a leading slash."""
    regular: bool = True
    """True when each side has a regular file or none: neither a link nor a submodule."""


@dataclass(frozen=True, kw_only=True)
class Affected:
    """Environments that a change affects; all tuples are sorted."""

    environments: tuple[str, ...]
    """Environments that have a file now."""
    deleted: tuple[str, ...]
    """Environments whose file was removed."""
    code: tuple[str, ...] = ()
    """Changed files that are not known to be data: each runs in plans of all environments or may decide about them."""


def environment_of(path: str) -> str | None:
    """Return the environment of a stack file, for the first stack or the second; None for any other file."""
    folder, _, name = path.rpartition("/")
    if folder != STACKS or not (name.startswith("Pulumi.") and name.endswith(".yaml")):
        return None
    stack = name.removeprefix("Pulumi.").removesuffix(".yaml")
    return stack.removesuffix(OBJECTS) or None


def environments_at(paths: Iterable[str], read: Callable[[str], str | None]) -> Side:
    """Return the environments among ``paths``; ``read`` returns a file's text."""
    hosts: dict[str, str | None] = {}
    for path in paths:
        name = environment_of(path)
        if name is not None and path == f"{STACKS}/Pulumi.{name}.yaml":
            hosts[name] = _hosts_file(read(path) or "")
    return hosts


def affected_environments(changed: Iterable[ChangedFile], *, before: Side, after: Side) -> Affected:
    """Return the environments that the files ``changed`` affect."""
    environments: set[str] = set()
    code: list[str] = []
    for file in changed:
        owners = _owners(file, before=before, after=after)
        environments.update(after if owners is None else owners)
        if owners is None and (file.path != SHARED_DATA or not file.regular):
            code.append(file.path)
    return Affected(
        environments=tuple(sorted(environments & set(after))),
        deleted=tuple(sorted(set(before) - set(after))),
        code=tuple(sorted(code)),
    )


def _owners(file: ChangedFile, *, before: Side, after: Side) -> set[str] | None:
    """Return the only environments that the file affects; None for all."""
    path = file.path
    if not file.regular or not _PATH.fullmatch(path) or path == SHARED_DATA:
        return None
    if path.startswith(tuple(folder for folder in WITHOUT_EFFECT if folder.endswith("/"))) or path in WITHOUT_EFFECT:
        return set()
    owners = {env for side in (before, after) for env, hosts in side.items() if hosts == path}
    name = environment_of(path)
    if name in before or name in after:
        owners.add(str(name))
    return owners or None


def _hosts_file(text: str) -> str | None:
    """Return the hosts file that an environment names; None when the environment's file is invalid, which validation
    reports."""
    from components.model.loading.document import parse_document
    from components.model.loading.document_error import DocumentError

    try:
        name = parse_document(text).data["config"]["longhaul:environment"]["bare_metal"]
    except (DocumentError, KeyError, TypeError):
        return None
    return f"{STACKS}/{name}" if isinstance(name, str) and _HOSTS_FILE.fullmatch(name) else None
