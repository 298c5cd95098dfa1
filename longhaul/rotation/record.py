"""Encryption keys in the environment's vault: those in use, whose order says how far a rotation is, and former ones."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from components.model.rotation import Key, Keys
from components.model.vault import KEYS_IN_USE, RETIRED_KEYS, vault_name
from longhaul.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.cloud import Control
    from clouds.base.place import Place
    from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class Record:
    """The vault of an environment, as far as a rotation needs it. Every method raises ``CommandError`` when the vault
    does not answer."""

    control: Control[Any]
    place: Place[Any]
    environment: Environment

    def keys(self) -> Keys:
        """Return the keys in use."""
        text = self._get(KEYS_IN_USE)
        if text is None:
            env = self.environment.name
            raise CommandError(f"the vault of {env} has no {KEYS_IN_USE} yet: `longhaul up --env {env}` makes it")
        return _parsed(KEYS_IN_USE, text)

    def set_keys(self, keys: Keys) -> None:
        """Write the keys in use."""
        self._set(KEYS_IN_USE, keys)

    def retired(self) -> tuple[Key, ...]:
        """Return the former keys."""
        text = self._get(RETIRED_KEYS)
        return () if text is None else _parsed(RETIRED_KEYS, text).keys

    def retire(self, keys: Iterable[Key]) -> None:
        """Add to the former keys."""
        known = self.retired()
        more = tuple(key for key in keys if key not in known)
        if more:
            self._set(RETIRED_KEYS, Keys(keys=(*known, *more)))

    def _get(self, name: str) -> str | None:
        try:
            return self.control.secret(self.place, vault_name(self.environment), name)
        except CloudError as error:
            code = Exit.FAILED if error.answered else Exit.UNREACHABLE
            raise CommandError(f"the vault's secret {name} cannot be read: {error}", code=code) from None

    def _set(self, name: str, keys: Keys) -> None:
        try:
            self.control.set_secret(self.place, vault_name(self.environment), name, keys.text())
        except CloudError as error:
            raise CommandError(f"the vault's secret {name} cannot be written: {error}") from None


def _parsed(name: str, text: str) -> Keys:
    try:
        return Keys.parse(text)
    except ValueError as error:
        raise CommandError(
            f"the vault's secret {name} cannot be used, so nothing was done: {error}. Make an earlier version of it "
            "the newest one; the vault keeps them"
        ) from None


def names(keys: Iterable[Key]) -> str:
    """Return keys' names for people."""
    return ", ".join(key.name for key in keys)


def for_programs(keys: Keys, retired: Iterable[Key]) -> str:
    """Return what a rotation came to as JSON; names alone."""
    told = {"phase": str(keys.phase), "keys": keys.names, "retired": [key.name for key in retired]}
    return json.dumps(told, indent=2)
