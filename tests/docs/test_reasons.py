"""Reasons: each has a meaning, is named as Kubernetes' are, and is given somewhere."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest

import contract.reasons
from components.reference.reason_tables import reason_sources

PARTS = sorted(path.stem for path in Path(contract.reasons.__path__[0]).glob("[a-z]*.py"))


def enumerations(part: str) -> Iterator[type[StrEnum]]:
    """Yield the enumerations of a part."""
    module = importlib.import_module(f"contract.reasons.{part}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum:
            yield value


@pytest.mark.parametrize("part", PARTS)
def test_each_reason_is_named_as_those_of_kubernetes_and_has_a_meaning(part: str) -> None:
    for enumeration, source in zip(enumerations(part), reason_sources(part), strict=True):
        assert (source.name, source.meaning[-1:]) == (enumeration.__name__, ".")
        assert [value for value, _ in source.members] == [*enumeration]
        assert [member for member in enumeration if member != "".join(map(str.title, member.name.split("_")))] == []
        assert [value for value, meaning in source.members if not meaning.endswith(".")] == []


@pytest.mark.parametrize("part", PARTS)
def test_each_reason_is_given_somewhere(part: str, root: Path) -> None:
    folders = ("clouds", "components", "longhaul", "services")
    code = "\n".join(path.read_text(encoding="utf-8") for name in folders for path in root.glob(f"{name}/**/*.py"))
    for enumeration in enumerations(part):
        given = set(re.findall(rf"\b{enumeration.__name__}\.([A-Z_]+)", code))
        assert given == {member.name for member in enumeration}
