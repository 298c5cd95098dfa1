"""Encryption keys in the environment's vault: the keys in use, whose order shows the progress of a rotation, and the
former keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from components.model.secrets.encryption_keys import EncryptionKeys, Key
from components.model.secrets.vault import KEYS_IN_USE, RETIRED_KEYS
from longhaul.vault.record import unusable_error
from longhaul.vault.rotation import RotationVault


@dataclass(frozen=True, kw_only=True)
class EncryptionVault(RotationVault):
    """The vault's encryption keys."""

    def keys(self) -> EncryptionKeys:
        """Return the keys in use."""
        return _parsed(KEYS_IN_USE, self.get(KEYS_IN_USE))

    def set_keys(self, keys: EncryptionKeys) -> None:
        """Write the keys in use."""
        self.write_text(KEYS_IN_USE, keys.text())

    def retired(self) -> tuple[Key, ...]:
        """Return the former keys."""
        text = self.text(RETIRED_KEYS)
        return () if text is None else _parsed(RETIRED_KEYS, text).keys

    def retire(self, keys: Iterable[Key]) -> None:
        """Add keys to the former keys."""
        known = self.retired()
        more = tuple(key for key in keys if key not in known)
        if more:
            self.write_text(RETIRED_KEYS, EncryptionKeys(keys=(*known, *more)).text())


def _parsed(name: str, text: str) -> EncryptionKeys:
    try:
        return EncryptionKeys.parse(text)
    except ValueError as error:
        raise unusable_error(name, error) from None


def names(keys: Iterable[Key]) -> str:
    """Return the keys' names as text for people."""
    return ", ".join(key.name for key in keys)


def for_programs(keys: EncryptionKeys, retired: Iterable[Key]) -> dict[str, Any]:
    """Return the result of a rotation, with the names of the keys only."""
    return {"phase": str(keys.phase), "keys": keys.names, "retired": [key.name for key in retired]}
