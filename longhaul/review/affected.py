"""Which environments a change affects, from the paths that it touches alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from longhaul.project import OBJECTS, PROJECT_FILE, STACKS

SHARED = (
    "clouds/",
    "components/",
    "images/",
    # Not the roles alone: the playbooks say which of them a rack's hosts get.
    "playbooks/",
    f"{STACKS}/__main__.py",
    PROJECT_FILE,
    "tools.toml",
    "requirements.lock",
)
"""What every environment is made of: a folder ends with a slash. Documentation and tests are in none of them."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """The environment files of one side of a change."""

    hosts: Mapping[str, str | None] = field(default_factory=dict)
    """By environment, the path of the hosts file that it names."""


@dataclass(frozen=True, kw_only=True)
class Affected:
    """What a change affects; both are sorted."""

    environments: tuple[str, ...]
    """Those that have a file now."""
    deleted: tuple[str, ...]
    """Those whose file is gone."""


def environment_of(path: str) -> str | None:
    """The environment that a stack file is of, be it the first or the second stack; None for any other file."""
    folder, _, name = path.rpartition("/")
    if folder != STACKS or not (name.startswith("Pulumi.") and name.endswith(".yaml")):
        return None
    stack = name.removeprefix("Pulumi.").removesuffix(".yaml")
    return stack.removesuffix(OBJECTS) or None


def side(paths: Iterable[str], read: Callable[[str], str | None]) -> Side:
    """The environments among ``paths``; ``read`` gives a file's text."""
    hosts: dict[str, str | None] = {}
    for path in paths:
        name = environment_of(path)
        if name is not None and path == f"{STACKS}/Pulumi.{name}.yaml":
            hosts[name] = _hosts_file(read(path) or "")
    return Side(hosts=hosts)


def affected(changed: Iterable[str], *, before: Side, after: Side) -> Affected:
    """What the files ``changed`` mean for environments."""
    touched = tuple(changed)
    found: set[str] = set(after.hosts) if any(map(_is_shared, touched)) else set()
    for path in touched:
        name = environment_of(path)
        if name is not None:
            found.add(name)
        for one in (before, after):
            found.update(env for env, hosts in one.hosts.items() if hosts == path)
    return Affected(
        environments=tuple(sorted(found & set(after.hosts))),
        deleted=tuple(sorted(set(before.hosts) - set(after.hosts))),
    )


def _is_shared(path: str) -> bool:
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in SHARED)


def _hosts_file(text: str) -> str | None:
    """The hosts file that an environment names. What cannot be read names none: its own check says what is wrong."""
    import yaml

    try:
        content = yaml.safe_load(text)
        name = content["config"]["longhaul:environment"]["bare_metal"]
    except (yaml.YAMLError, KeyError, TypeError):
        return None
    return f"{STACKS}/{name}" if isinstance(name, str) else None
