"""Reasons: each has a meaning, is named as Kubernetes' are, and is given somewhere."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest

import contract.reasons
from components.reference.reason_tables import meanings

PARTS = sorted(path.stem for path in Path(contract.reasons.__path__[0]).glob("[a-z]*.py"))


def enumerations(part: str) -> Iterator[type[StrEnum]]:
    """Yield the enumerations of a part."""
    module = importlib.import_module(f"contract.reasons.{part}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum:
            yield value


@pytest.mark.parametrize("part", PARTS)
def test_each_reason_is_named_as_those_of_kubernetes_and_has_a_meaning(part: str) -> None:
    told = dict(meanings(part))
    members = [member for enumeration in enumerations(part) for member in enumeration]
    assert [str(member) for member in members] == [*told]
    assert [member for member in members if member != "".join(map(str.title, member.name.split("_")))] == []
    assert [member for member, meaning in told.items() if not meaning.endswith(".")] == []


@pytest.mark.parametrize("part", PARTS)
def test_each_reason_is_given_somewhere(part: str, root: Path) -> None:
    folders = ("longhaul", "services")
    code = "\n".join(path.read_text(encoding="utf-8") for name in folders for path in root.glob(f"{name}/**/*.py"))
    for enumeration in enumerations(part):
        given = set(re.findall(rf"\b{enumeration.__name__}\.([A-Z_]+)", code))
        assert given == {member.name for member in enumeration}
