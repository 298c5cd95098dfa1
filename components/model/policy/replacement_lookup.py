"""Parts that a change of a key of the environment file replaces, from the annotation of the key's field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from clouds.base.replaces import Replaces
from clouds.base.section import Section
from components.model.environment import Environment

_LABEL = re.compile(r"\[.*")


def replaced_by(environment: Environment, path: str) -> Replaces:
    """Return what a change of the key at ``path`` replaces, such as ``pools.gpu.labels.team``. For a key that
    ``environment`` does not have, such as that of a new pool, return the annotation of the key that contains it."""
    effect, value = Replaces.STATE, _entries(environment)
    for part in path.split("."):
        name = _LABEL.sub("", part)
        if isinstance(value, Section):
            field = type(value).model_fields.get(name)
            effect = next((mark for mark in (field.metadata if field else ()) if isinstance(mark, Replaces)), effect)
            value = _entries(getattr(value, name, None))
        elif isinstance(value, Mapping):
            value = value.get(name)
        if part != name or not isinstance(value, Section | Mapping):
            break
    return effect


def _entries(value: Any) -> Any:
    """Return a list of named sections as a mapping by name, as paths name them; any other value unchanged."""
    if isinstance(value, tuple) and value and hasattr(value[0], "name"):
        return {entry.name: entry for entry in value}
    return value
