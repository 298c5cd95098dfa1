"""The environment's vault, as far as rotations of keys read and write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from components.model.vault import vault_name
from longhaul.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.cloud import Control
    from clouds.base.place import Place
    from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class RotationVault:
    """The vault of an environment. Every method raises ``CommandError`` when it does not answer."""

    control: Control[Any]
    place: Place[Any]
    environment: Environment

    def read(self, name: str) -> str | None:
        """Return the newest value of a secret; None when there is no such secret."""
        try:
            return self.control.secret(self.place, vault_name(self.environment), name)
        except CloudError as error:
            code = Exit.FAILED if error.answered else Exit.UNREACHABLE
            raise CommandError(f"the vault's secret {name} cannot be read: {error}", code=code) from None

    def get(self, name: str) -> str:
        """Return the newest value of a secret that ``longhaul up`` makes; ``CommandError`` when it is not there."""
        text = self.read(name)
        if text is None:
            env = self.environment.name
            raise CommandError(f"the vault of {env} has no {name} yet: `longhaul up --env {env}` makes it")
        return text

    def write(self, name: str, value: str) -> None:
        """Write a new version of a secret."""
        try:
            self.control.set_secret(self.place, vault_name(self.environment), name, value)
        except CloudError as error:
            raise CommandError(f"the vault's secret {name} cannot be written: {error}") from None

    def change(self, name: str, value: str) -> None:
        """Write a secret, unless it has that value: a run that goes on writes no further versions."""
        if self.read(name) != value:
            self.write(name, value)


def unusable(name: str, error: ValueError) -> CommandError:
    """Return the error for a secret whose value is not what it should be."""
    return CommandError(
        f"the vault's secret {name} cannot be used, so nothing was done: {error}. Make an earlier version of it the "
        "newest one; the vault keeps them"
    )
