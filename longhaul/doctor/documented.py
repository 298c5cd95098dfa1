"""The permissions that docs/getting-started.md lists: written there once, for people and for this command.

A test of that page keeps its lists equal to what the program makes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clouds.base.findings import NotAskedError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "getting-started.md"
NAME = "docs/getting-started.md"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of the AWS policy."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    conditions: dict[str, tuple[str, ...]]
    """Values by context key, all of them to be equal."""


def aws_statements() -> tuple[Statement, ...]:
    """The AWS policy's statements."""
    return tuple(
        Statement(
            actions=_several(entry["Action"]),
            resources=_several(entry["Resource"]),
            conditions={
                key: _several(values) for key, values in entry.get("Condition", {}).get("StringEquals", {}).items()
            },
        )
        for entry in _document("aws-policy")["Statement"]
    )


def azure_actions() -> tuple[str, ...]:
    """The actions of the Azure role."""
    return _several(_document("azure-role")["Actions"])


def azure_providers() -> tuple[str, ...]:
    """The resource providers that have to be registered in a subscription."""
    found = re.findall(r"az provider register --namespace ([\w.]+)", _text())
    return tuple(dict.fromkeys(found))


def azure_features() -> tuple[tuple[str, str], ...]:
    """The features that have to be registered, each with its provider."""
    return tuple(re.findall(r"az feature register --namespace ([\w.]+) --name (\w+)", _text()))


def _document(marker: str) -> Any:
    found = re.search(rf"<!-- {marker} -->\n+```json\n(.*?)\n```", _text(), re.DOTALL)
    if found is None:
        raise NotAskedError(f"{NAME} has no list {marker!r}")
    return json.loads(found[1])


def _text() -> str:
    try:
        return PAGE.read_text(encoding="utf-8")
    except OSError as error:
        raise NotAskedError(f"{NAME} cannot be read: {error.strerror}") from None


def _several(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
