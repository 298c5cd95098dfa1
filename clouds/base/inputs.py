"""Reads inputs of resources as the engine writes them into a preview: nested, partly unknown, partly secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Placeholder for a value that is known only after something is made (pulumi, ``pkg/resource/stack/deployment.go``,
``computedValuePlaceholder``)."""

MASKED = "[secret]"
"""Placeholder for a secret in the engine's output for people (pulumi, ``pkg/backend/display/json.go``)."""

PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\Z)", re.DOTALL
)
"""A private key in text (RFC 7468). A key without its last line extends to the text's end."""

SIGNATURE, SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
"""Key of a mapping that wraps a value, and that key's content when the value is a secret (pulumi,
``sdk/go/common/resource/sig/sig.go``)."""


def is_unknown(value: object) -> bool:
    """Return whether ``value`` is known only after something is made."""
    return value == UNKNOWN


def is_secret(value: object) -> bool:
    """Return whether ``value`` is marked as secret, so that the engine encrypts and masks it."""
    return value == MASKED or (isinstance(value, Mapping) and SIGNATURE in value)


def is_true(value: object) -> bool:
    """Return whether ``value`` is true. The clouds' interfaces return some booleans as text."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def at(value: Any, path: str) -> Any:
    """Return the value at a dotted ``path``: None when there is none, :data:`MASKED` when it is inside a secret that
    cannot be opened."""
    for key in path.split("."):
        value = _opened(value)
        if is_secret(value):
            return MASKED
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def is_hidden(value: Any, path: str) -> bool:
    """Return whether the value at ``path``, or a mapping around it, is marked as secret."""
    parts = path.split(".")
    return is_secret(value) or any(is_secret(at(value, ".".join(parts[:end]))) for end in range(1, len(parts) + 1))


def _opened(value: Any) -> Any:
    """Return the content of a wrapped secret, if it is visible. The engine may mark a whole section as secret when one
    value in the section is secret."""
    return value["value"] if is_secret(value) and isinstance(value, Mapping) and "value" in value else value


def items(value: Any, path: str) -> list[tuple[str, Any]]:
    """Return the entries of the list at ``path``, each with its own path, such as ``ingress[0]``. A single value counts
    as a list of one."""
    section = _opened(at(value, path))
    if section is None:
        return []
    if not isinstance(section, list):
        return [(path, section)]
    return [(f"{path}[{index}]", entry) for index, entry in enumerate(section)]


def sections(value: Any, path: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return those entries of :func:`items` that are mappings. Unknown and secret entries are left out."""
    opened = ((place, _opened(entry)) for place, entry in items(value, path))
    return [(place, entry) for place, entry in opened if isinstance(entry, Mapping) and not is_secret(entry)]


def unseen(value: Any, path: str) -> bool:
    """Return whether the list at ``path``, or an entry of it, cannot be judged."""
    return len(sections(value, path)) < len(items(value, path))


def texts(value: Any, path: str) -> list[str]:
    """Return the entries of the list of texts at ``path``. A single text counts as a list of one; a secret becomes
    :data:`MASKED`."""
    return [MASKED if is_secret(entry) else str(entry) for _, entry in items(value, path)]


def walk(value: Any, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield every property inside ``value``, at any depth: its path, its key and its value. The content of a secret is
    left out."""
    if is_secret(value):
        return
    if isinstance(value, Mapping):
        for key, inside in value.items():
            place = f"{path}.{key}" if path else str(key)
            yield place, str(key), inside
            yield from walk(inside, place)
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from walk(inside, f"{path}[{index}]")


def shown(value: object) -> str:
    """Return ``value`` as text for a sentence."""
    if value is None:
        return "not set"
    if is_unknown(value):
        return "not known before it is made"
    if is_secret(value):
        return "a secret"
    return str(value).lower() if isinstance(value, bool) else str(value)
