"""Secrets in the environment's vault, for rotations of keys."""

from __future__ import annotations

from longhaul.terminal.exits import CommandError
from longhaul.vault.record import VaultRecord


class RotationVault(VaultRecord):
    """The vault of an environment."""

    def get(self, name: str) -> str:
        """Return the newest value of a secret that ``longhaul up`` makes. Raise ``CommandError`` when it does not
        exist."""
        text = self.text(name)
        if text is None:
            env = self.environment.name
            raise CommandError(f"the vault of {env} has no {name} yet: `longhaul up --env {env}` makes it")
        return text

    def change(self, name: str, value: str) -> None:
        """Write a secret, unless it already has this value: a repeated run writes no further versions."""
        if self.text(name) != value:
            self.write_text(name, value)
