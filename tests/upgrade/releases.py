"""Recorded releases, one in each folder beside this file: the state that each left to its users.

``<version>/stacks/`` holds the release's environment files. ``<stack>.json.gz`` are the states that it made of the
lab's. ``names.<env>.txt`` are the names that it gave, with one machine of each kind, since no test can build
production. ``accepted.yaml`` lists what an upgrade from it may do, each with a reason. ``tests/upgrade/record.py``
writes all but the last.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

FOLDER = Path(__file__).parent
ENVIRONMENTS = ("lab", "prod")
LAB = ("lab", "lab-objects")
"""Stacks whose states are recorded."""
ACCEPTED = "accepted.yaml"


class Entry(BaseModel):
    """An action that an upgrade may do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Literal["make", "change", "replace", "destroy"]
    type: str
    """Type of the resources, as in ``azure-native:network:Subnet``."""
    property: str = ""
    """Path of the changed property, without indexes; only for a change or a replacement."""
    only: str = ""
    """Pattern of the names that it is about; all of that type without it."""
    why: str = Field(min_length=20)

    def covers(self, type_: str, name: str) -> bool:
        """Return whether it is about a resource of that type and name."""
        return type_ == self.type and (not self.only or re.fullmatch(self.only, name) is not None)

    @model_validator(mode="after")
    def _names_a_property(self) -> Self:
        # A provider of the program's own may name none of what changes.
        dynamic = self.action == "change" and self.type.startswith("pulumi-python:dynamic/")
        if bool(self.property) != (self.action in ("change", "replace")) and not dynamic:
            raise ValueError(f"{self.action} {self.type}: `property` belongs to `change` and `replace`")
        return self


@dataclass(frozen=True, kw_only=True)
class Release:
    """One release."""

    version: str
    folder: Path

    @property
    def stacks(self) -> Path:
        """Folder with its environment files."""
        return self.folder / "stacks"

    def state(self, stack: str) -> dict[str, Any]:
        """Return a stack as ``pulumi stack export`` wrote it."""
        content: dict[str, Any] = json.loads(gzip.decompress((self.folder / f"{stack}.json.gz").read_bytes()))
        return content

    def resources(self, stack: str) -> list[dict[str, Any]]:
        """Return the resources of a stack."""
        found: list[dict[str, Any]] = self.state(stack)["deployment"]["resources"]
        return found

    def accepted(self) -> tuple[Entry, ...]:
        """Return the actions that were reviewed and accepted."""
        content = yaml.safe_load((self.folder / ACCEPTED).read_text(encoding="utf-8"))
        return tuple(TypeAdapter(list[Entry]).validate_python(content or []))


def releases() -> list[Release]:
    """Return every recorded release, oldest first."""
    found = [Release(version=path.parent.name, folder=path.parent) for path in FOLDER.glob(f"*/{ACCEPTED}")]
    return sorted(found, key=lambda one: tuple(int(part) for part in one.version.split(".")))
