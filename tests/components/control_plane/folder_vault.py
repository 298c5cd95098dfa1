"""A vault that is a folder, for programs of the engine in the tests, and the product's own providers with it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from components.control_plane import certificates, secrets
from components.control_plane.certificates import AuthorityProvider

VAULT = "VAULT"
"""Variable: the vault's folder."""


class FolderVault:
    """A vault whose address is a folder."""

    def __init__(self, url: str) -> None:
        self._folder = Path(url)

    def get(self, name: str) -> str | None:
        path = self._folder / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    def set(self, name: str, value: str, *, content_type: str = "") -> None:
        (self._folder / name).write_text(value, encoding="utf-8")

    def delete(self, name: str) -> None:
        (self._folder / name).unlink()


class InFolder:
    """Base of the product's own providers, with this module's vault in the engine's process for them, too."""

    def __new__(cls) -> Self:
        for module in (certificates, secrets):
            module.vault_at = FolderVault  # type: ignore[assignment]
        return super().__new__(cls)


class Authorities(InFolder, AuthorityProvider):
    """Makes authorities."""


class Issued(InFolder, certificates.CertificateProvider):
    """Issues certificates."""
