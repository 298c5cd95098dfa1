"""Converts a resource's inputs to the parameters of an operation of AWS's API."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Member:
    """Place of an input in an operation's parameters."""

    path: str
    """Path in the operation's parameters, such as ``Options.TunnelOptions[0].StartupAction``."""
    convert: Callable[[Any], Any] = lambda value: value
    """Conversion that the provider applies to the value."""


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation that makes a resource."""

    name: str
    members: Mapping[str, str | Member]
    """Places by input; a text is a path."""
    service: str = "ec2"
    given: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that the provider fills in by itself, such as the id that another operation answered."""

    def parameters(self, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the parameters for these inputs, and by path the input that went there. Both are empty when no input
        goes here.
        """
        parameters: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for name in inputs.keys() & self.members.keys():
            member = self.members[name]
            path, convert = (member, _same) if isinstance(member, str) else (member.path, member.convert)
            put(parameters, path, convert(whole(inputs[name])))
            origins[path] = name
        for path, value in self.given.items() if origins else ():
            put(parameters, path, value)
        return parameters, origins


def put(into: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at ``path``, and create everything on the way."""
    steps: list[str | int] = [int(index) if index else name for name, index in re.findall(r"(\w+)|\[(\d+)\]", path)]
    here: Any = into
    for step, following in pairwise(steps):
        fresh: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            here += [{} for _ in range(step + 1 - len(here))]
            here = here[step]
        else:
            here = here.setdefault(step, fresh)
    here[steps[-1]] = value


def whole(value: Any) -> Any:
    """Convert whole numbers to ``int``: the engine has only one kind of number."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def flag(value: Any) -> Any:
    """Convert a flag to a boolean: some flags of the SDK are texts, so that they can be left out."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def tagged(kind: str) -> Member:
    """Return the place of the tags that a resource is made with."""
    return Member(path="TagSpecifications", convert=lambda tags: [{"ResourceType": kind, "Tags": listed(tags)}])


def listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags as the API takes them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def upper(value: Any, renamed: Mapping[str, str] | None = None, flags: frozenset[str] = frozenset()) -> Any:
    """Rename an object's keys to the API's: the SDK's with a capital, except for ``renamed``. ``flags`` are the SDK's
    names of flags."""
    names = renamed or {}
    if isinstance(value, list):
        return [upper(item, names, flags) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        names.get(key, key[0].upper() + key[1:]): flag(item) if key in flags else upper(item, names, flags)
        for key, item in value.items()
    }


def _same(value: Any) -> Any:
    return value
