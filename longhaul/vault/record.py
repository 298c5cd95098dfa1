"""Texts in an environment's vault, for commands that read or write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from components.model.secrets.vault import vault_name
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.place import Place
    from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class VaultRecord:
    """The vault of an environment. Every method raises ``CommandError`` when the vault does not answer."""

    control: ControlAccess[Any]
    place: Place[Any]
    environment: Environment

    def text(self, name: str) -> str | None:
        """Return the newest value of a secret; None when there is none."""
        try:
            return self.control.secret(self.place, vault_name(self.environment), name)
        except CloudError as error:
            raise unreadable_error(self.environment, f"the vault's secret {name} cannot be read", error) from None

    def write_text(self, name: str, text: str) -> None:
        """Write a new version of a secret."""
        try:
            self.control.set_secret(self.place, vault_name(self.environment), name, text)
        except CloudError as error:
            raise CommandError(f"the vault's secret {name} cannot be written: {error}") from None


def unreadable_error(environment: Environment, message: str, error: CloudError) -> CommandError:
    """Return the error for a vault that did not return a secret, with advice when nothing answered."""
    if error.answered:
        return CommandError(f"{message}: {error}")
    step = f"no network here, or `longhaul up` has not made it yet: `longhaul doctor --env {environment.name}`"
    return CommandError(f"{message}: {error}; {step}", code=Exit.UNREACHABLE)


def unusable_error(name: str, error: ValueError) -> CommandError:
    """Return the error for a secret with an invalid value."""
    return CommandError(
        f"the vault's secret {name} cannot be used, so nothing was done: {error}. Make an earlier version of it the "
        "newest one; the vault keeps them"
    )
