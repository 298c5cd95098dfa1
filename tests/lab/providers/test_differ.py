"""Differences of inputs, by property path."""

from __future__ import annotations

from typing import Any

import pytest

from lab.providers.differ import differences, replaces
from lab.providers.values import UNKNOWN, secret


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1, "__own": True}, {}),
        ({"a": 1}, {"a": 2}, {"a": "update"}),
        ({}, {"a": {"b": 1}}, {"a": "add"}),
        ({"a": {"b": 1}}, {"a": {}}, {"a.b": "delete"}),
        ({"l": [1]}, {"l": [1, 2]}, {"l[1]": "add"}),
        ({"l": [{"p": 1}, 2]}, {"l": [{"p": 3}]}, {"l[0].p": "update", "l[1]": "delete"}),
        ({"tags": {"a.b": "1"}}, {"tags": {"a.b": "2"}}, {'tags["a.b"]': "update"}),
        ({"a": secret("s")}, {"a": "s"}, {}),
        ({"a": secret("s")}, {"a": secret("t")}, {"a": "update"}),
        ({"a": UNKNOWN}, {"a": UNKNOWN}, {"a": "update"}),
        ({"location": "West Europe"}, {"location": "westeurope"}, {}),
        ({"other": "West Europe"}, {"other": "westeurope"}, {"other": "update"}),
        ({"a": {"x": 1}}, {"a": [1]}, {"a": "update"}),
    ],
)
def test_differences(old: dict[str, Any], new: dict[str, Any], expected: dict[str, str]) -> None:
    assert differences(old, new) == expected


@pytest.mark.parametrize(
    ("path", "forced"),
    [
        ("sku", True),
        ("sku.name", True),
        ("skus", False),
        ("rules[0].name", True),
        ('tags["a.b"]', False),
        ("rules[0].port", False),
    ],
)
def test_what_forces_a_replacement(path: str, forced: bool) -> None:
    assert replaces(path, frozenset({"sku", "rules.name"})) is forced
