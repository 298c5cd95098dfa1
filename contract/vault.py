"""Limits of a vault's secrets."""

from __future__ import annotations

LARGEST = 25_000
"""Largest number of characters of a secret, which has at most 25 KB (learn.microsoft.com, "About Azure Key Vault
secrets")."""


def size_checked(text: str) -> str:
    """Return ``text``, a list that becomes the value of a secret. Raise ``ValueError`` if the text is too long for a
    vault."""
    if len(text) > LARGEST:
        raise ValueError(f"a vault's secret holds at most {LARGEST} characters, and the list would have {len(text)}")
    return text
