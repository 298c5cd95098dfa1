"""The environment's vault, as far as rotations of keys read and write it."""

from __future__ import annotations

from longhaul.terminal.exits import CommandError
from longhaul.vault.record import VaultRecord


class RotationVault(VaultRecord):
    """The vault of an environment."""

    def get(self, name: str) -> str:
        """Return the newest value of a secret that ``longhaul up`` makes; ``CommandError`` when it is not there."""
        text = self.text(name)
        if text is None:
            env = self.environment.name
            raise CommandError(f"the vault of {env} has no {name} yet: `longhaul up --env {env}` makes it")
        return text

    def change(self, name: str, value: str) -> None:
        """Write a secret, unless it has that value: a run that goes on writes no further versions."""
        if self.text(name) != value:
            self.write_text(name, value)
