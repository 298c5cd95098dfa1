"""Secret fields of a stack file: encrypted values, and the settings of their encryption."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longhaul.terminal.exits import CommandError

ENCRYPTION = ("secretsprovider", "encryptedkey", "encryptionsalt")
"""Keys that the engine writes into a stack file besides its configuration (pulumi.com, "Stack settings file
reference")."""
SECURE = "secure"
"""The only key of an encrypted value."""
PLACEHOLDER = "not decrypted for this preview"


def encryption(path: Path) -> dict[str, str]:
    """Return a stack file's settings for the encryption of secrets; empty without such a file. A file that replaces the
    stack file must keep these settings, or the state's secrets are lost."""
    from components.model import ConfigurationError
    from components.model.loading.document import read_document

    if not os.path.lexists(path):
        return {}
    try:
        known = read_document(path).data
    except ConfigurationError:
        raise CommandError(
            f"{path} cannot be read, so the settings that encrypt its stack's secrets would be lost: move it away first"
        ) from None
    return {key: str(known[key]) for key in ENCRYPTION if key in known}


def has_secrets(text: str) -> bool:
    """Return whether a stack file may have encrypted values, or settings of their encryption."""
    return any(f"{sign}:" in text for sign in (SECURE, *ENCRYPTION))


def without_secret_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stack file's content without the settings of the encryption, and with a placeholder for each encrypted
    value."""
    return {key: _with_placeholders(value) for key, value in data.items() if key not in ENCRYPTION}


def _with_placeholders(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {SECURE}:
            return PLACEHOLDER
        return {key: _with_placeholders(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_placeholders(inner) for inner in value]
    return value
