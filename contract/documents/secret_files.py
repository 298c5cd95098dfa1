"""Files that a machine makes of the vault's secrets. The text of a file has a placeholder for each secret's value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PATH = "/etc/longhaul/secrets.json"

_PLACEHOLDER = re.compile(r"\$\{([a-z0-9-]+)(?::([a-z]+))?\}")


@dataclass(frozen=True, kw_only=True)
class SecretFile:
    """A file that a machine makes of secrets."""

    path: str
    content: str
    """Text of the file. ``${secret}``, or ``${secret:field}`` for a field of a JSON value, stands for a secret's
    value."""
    mode: int = 0o400
    user: str = "root"
    """Owner."""
    group: str = ""
    """Group; empty for the group with the owner's name."""

    @property
    def secrets(self) -> frozenset[str]:
        """Return the names of the secrets in the file."""
        return frozenset(match[1] for match in _PLACEHOLDER.finditer(self.content))

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the text with the values of its secrets. Raise ``KeyError`` or ``ValueError`` if a secret is missing,
        or if a secret's field is missing or is not text."""

        def value(match: re.Match[str]) -> str:
            name, field = match[1], match[2]
            if field is None:
                return values[name]
            try:
                text = json.loads(values[name])[field]
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"secret {name}: its value is not JSON with a field {field!r}") from None
            if not isinstance(text, str):
                raise ValueError(f"secret {name}: its field {field!r} is not text")
            return text

        return _PLACEHOLDER.sub(value, self.content)


@dataclass(frozen=True, kw_only=True)
class SecretFiles:
    """Contents of the document."""

    vault: str
    """Address of the vault."""
    metadata: str
    """Address from which the machine gets tokens of its identity."""
    files: tuple[SecretFile, ...]

    def to_text(self) -> str:
        """Return the document."""
        document = {"vault": self.vault, "metadata": self.metadata, "files": [_entry(file) for file in self.files]}
        return json.dumps(document, indent=1) + "\n"


def of_text(text: str) -> SecretFiles:
    """Read the document. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the document is malformed."""
    raw = json.loads(text)
    return SecretFiles(vault=raw["vault"], metadata=raw["metadata"], files=tuple(map(_file, raw["files"])))


def _entry(file: SecretFile) -> dict[str, str]:
    return {
        "path": file.path,
        "content": file.content,
        "mode": f"{file.mode:04o}",
        "owner": f"{file.user}:{file.group or file.user}",
    }


def _file(raw: Mapping[str, Any]) -> SecretFile:
    user, group = raw["owner"].split(":")
    return SecretFile(path=raw["path"], content=raw["content"], mode=int(raw["mode"], 8), user=user, group=group)
