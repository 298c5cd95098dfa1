"""Finds the environments that a change affects, from the changed paths alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from contract.project import OBJECTS, PROJECT_FILE, STACKS

SHARED = (
    "clouds/",
    "components/",
    "contract/",
    "images/",
    # All playbooks and not only the roles: the playbooks decide which roles the hosts get.
    "playbooks/",
    f"{STACKS}/__main__.py",
    PROJECT_FILE,
    "tools.toml",
    "requirements.lock",
)
"""Paths that affect every environment; a folder ends with a slash. Documentation and tests are not among them."""


Side = Mapping[str, str | None]
"""Environments on one side of a change, each with the path of the hosts file that its stack file names; None without a
hosts file."""


@dataclass(frozen=True, kw_only=True)
class Affected:
    """Environments that a change affects; both tuples are sorted."""

    environments: tuple[str, ...]
    """Environments that have a file now."""
    deleted: tuple[str, ...]
    """Environments whose file was removed."""


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


def affected_environments(changed: Iterable[str], *, before: Side, after: Side) -> Affected:
    """Return the environments that the files ``changed`` affect."""
    touched = tuple(changed)
    environments: set[str] = set(after) if any(map(_is_shared, touched)) else set()
    for path in touched:
        name = environment_of(path)
        if name is not None:
            environments.add(name)
        for hosts_files in (before, after):
            environments.update(env for env, hosts in hosts_files.items() if hosts == path)
    return Affected(
        environments=tuple(sorted(environments & set(after))),
        deleted=tuple(sorted(set(before) - set(after))),
    )


def _is_shared(path: str) -> bool:
    return any(path == shared or (shared.endswith("/") and path.startswith(shared)) for shared in SHARED)


def _hosts_file(text: str) -> str | None:
    """Return the hosts file that an environment names; None when the environment's file is invalid, which validation
    reports."""
    from components.model.loading.document import parse_document
    from components.model.loading.document_error import DocumentError

    try:
        name = parse_document(text).data["config"]["longhaul:environment"]["bare_metal"]
    except (DocumentError, KeyError, TypeError):
        return None
    return f"{STACKS}/{name}" if isinstance(name, str) else None
