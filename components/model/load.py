"""Reading environments: stack file and hosts file in, one frozen :class:`Environment` or one report out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from components.model.checks import check, check_disjoint
from components.model.environment import Environment
from components.model.errors import ConfigurationError, Problem
from components.model.hosts import Hosts
from components.model.migrate import Raw, migrate

CONFIG_KEY = "longhaul:environment"
"""Key of the environment in a stack file's ``config``."""


def stack_name(path: Path) -> str:
    """The stack that a file called ``Pulumi.<stack>.yaml`` configures."""
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml")


def load(path: Path) -> Environment:
    """Read the environment of one stack file; ``ConfigurationError`` with everything that is wrong."""
    raw = _read_yaml(path)
    config = raw.get("config")
    environment = config.get(CONFIG_KEY) if isinstance(config, Mapping) else None
    if not isinstance(environment, Mapping):
        wrong = "is missing"
        write = f"config:\n      {CONFIG_KEY}:\n        format: 1\n        …"
        raise ConfigurationError([Problem(file=str(path), key=CONFIG_KEY, wrong=wrong, write=write)])
    return parse(dict(environment), source=path, stack=stack_name(path))


def parse(raw: Raw, *, source: Path, stack: str) -> Environment:
    """Check ``raw``, the value of ``longhaul:environment`` in the file ``source``, and the hosts file it names."""
    migrated, problems = migrate(raw, source=str(source))
    migrated.pop("hosts", None)
    hosts, host_problems = _hosts(migrated.get("bare_metal"), source=source)
    problems += host_problems
    try:
        environment = Environment.model_validate({**migrated, "hosts": hosts.hosts})
    except ValidationError as error:
        raise ConfigurationError([*problems, *_problems(error, str(source))]) from None
    problems += check(environment, source=str(source), stack=stack)
    if problems:
        raise ConfigurationError(problems)
    return environment


def load_directory(directory: Path) -> dict[str, Environment]:
    """Every environment in ``stacks/`` by name, which must not overlap; one report for all files."""
    environments: dict[Path, Environment] = {}
    problems: list[Problem] = []
    for path in sorted(directory.glob("Pulumi.*.yaml")):
        try:
            environments[path] = load(path)
        except ConfigurationError as error:
            problems += error.problems
    problems += check_disjoint({str(path): environment for path, environment in environments.items()})
    if problems:
        raise ConfigurationError(problems)
    return {environment.name: environment for environment in environments.values()}


def check_neighbours(environment: Environment, *, source: Path) -> None:
    """Refuse ``environment`` when it overlaps another one beside its stack file. A neighbour that cannot be read is its
    own file's problem, and is left out."""
    others: dict[str, Environment] = {str(source): environment}
    for path in sorted(source.parent.glob("Pulumi.*.yaml")):
        if path != source:
            try:
                others[str(path)] = load(path)
            except ConfigurationError:
                continue
    problems = [problem for problem in check_disjoint(others) if str(source) in (problem.file, *problem.wrong.split())]
    if problems:
        raise ConfigurationError(problems)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        write = "the name of a file that exists"
        raise ConfigurationError([Problem(file=str(path), key="-", wrong="does not exist", write=write)]) from None
    except yaml.YAMLError as error:
        wrong = " ".join(str(error).split())
        raise ConfigurationError([Problem(file=str(path), key="-", wrong=wrong, write="valid YAML")]) from None
    if not isinstance(raw, dict):
        raise ConfigurationError([Problem(file=str(path), key="-", wrong="is not a mapping", write="keys and values")])
    return raw


def _hosts(name: object, *, source: Path) -> tuple[Hosts, list[Problem]]:
    if not isinstance(name, str):
        return Hosts(), []
    path = source.parent / name
    try:
        return Hosts.model_validate(_read_yaml(path)), []
    except ValidationError as error:
        return Hosts(), _problems(error, str(path))
    except ConfigurationError as error:
        return Hosts(), list(error.problems)


def _problems(error: ValidationError, file: str) -> list[Problem]:
    """pydantic's findings in Longhaul's words."""
    return [
        Problem(file=file, key=_key(item["loc"]), wrong=_wrong(item), write=_write(item)) for item in error.errors()
    ]


def _key(location: tuple[int | str, ...]) -> str:
    """Dotted path, without the name of the union's member that pydantic puts after ``sites.<name>``."""
    parts = [str(part) for part in location]
    if len(parts) > 2 and parts[0] == "sites" and parts[2] in ("azure", "aws", "onprem"):
        del parts[2]
    return ".".join(parts) or "-"


def _wrong(item: Mapping[str, Any]) -> str:
    kind, given = item["type"], item.get("input")
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not a key that Longhaul knows"
    shown = f"{given!r} " if isinstance(given, (str, int, float, bool)) else ""
    return f"{shown}{item['msg'][0].lower()}{item['msg'][1:]}"


def _write(item: Mapping[str, Any]) -> str:
    context = item.get("ctx") or {}
    if item["type"] == "extra_forbidden":
        return "nothing, or the key it was meant to be: docs/reference/environment.md lists them all"
    if "expected" in context or "expected_tags" in context:
        return f"one of {context.get('expected') or context['expected_tags']}"
    if "pattern" in context:
        return f"a value that matches {context['pattern']}"
    bound = next((f"{word} {context[key]}" for key, word in _BOUNDS.items() if key in context), None)
    return bound or "a value as docs/reference/environment.md describes it"


_BOUNDS = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}
