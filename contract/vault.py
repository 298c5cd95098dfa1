"""Limits of a vault's secrets."""

from __future__ import annotations

LARGEST = 25_000
"""Largest number of characters of a secret: 25 KB at most (learn.microsoft.com, "About Azure Key Vault secrets")."""


def size_checked(text: str) -> str:
    """Return the value of a secret that is a list; ``ValueError`` when a vault does not hold so much."""
    if len(text) > LARGEST:
        raise ValueError(f"a vault holds {LARGEST} characters of it, and it would have {len(text)}")
    return text
