"""Settings of an environment's backups: the vault's secret from which members learn where their backups go, and for
whom they are encrypted. A member ignores what it does not know.

Nothing in it is confidential; it is in the vault because only officers write there, and a change of it changes no
machine. Who can write to the vault, or can have a member read another one, must not get the backups sent elsewhere or
encrypted for a stranger by a slip: what is not as ``longhaul up`` writes it is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SECRET = "backups"  # noqa: S105  (the name of a secret, not its value)

FORMAT = 1

RECIPIENT = r"age1[02-9ac-hj-np-z]{58}"
"""Pattern of a public key of age: Bech32, 32 bytes and a checksum are 58 characters (C2SP, "age", the native X25519
recipient type)."""

SHORTEST_MINUTES, LONGEST_MINUTES = 1, 60
"""Limits of the time between two backups."""


class SettingsError(Exception):
    """Raised when the settings cannot be used, with the reason."""


@dataclass(frozen=True, kw_only=True)
class BackupSettings:
    """Settings of the environment's backups."""

    environment: str
    url: str
    recipients: tuple[str, ...]
    every_s: float

    def to_text(self) -> str:
        """Return the secret's value."""
        return json.dumps({"format": FORMAT, **vars(self)})

    @classmethod
    def parse(cls, text: str, *, vault: str) -> BackupSettings:
        """Parse the secret of the vault at this address."""
        try:
            fields = json.loads(text)
            settings = cls(
                environment=str(fields["environment"]),
                url=str(fields["url"]),
                recipients=_texts(fields["recipients"]),
                every_s=float(fields["every_s"]),
            )
        except (ValueError, KeyError, TypeError):
            raise SettingsError(f"the vault's secret {SECRET} cannot be read: run `longhaul up`") from None
        if wrong := settings.wrong(vault):
            message = f"the vault's secret {SECRET} is refused: {wrong}. Nothing was sent; run `longhaul up`"
            raise SettingsError(message)
        return settings

    def wrong(self, vault: str) -> str:
        """Return why they are refused; empty when they are not."""
        if self.url != account_url(vault):
            return f"its address is {self.url!r}, and the environment's storage is {account_url(vault)}"
        strangers = [recipient for recipient in self.recipients if not re.fullmatch(RECIPIENT, recipient)]
        if strangers or not self.recipients:
            return f"{', '.join(map(repr, strangers)) or 'nobody'} is no public key of age"
        shortest_s, longest_s = 60.0 * SHORTEST_MINUTES, 60.0 * LONGEST_MINUTES
        if not shortest_s <= self.every_s <= longest_s:
            return f"a backup every {self.every_s:g} s is none of {shortest_s:g} to {longest_s:g} s"
        return ""


def account_name(vault: str) -> str:
    """Return the name of the storage account of the environment that the vault of this name belongs to: without
    hyphens, since Azure takes 3 to 24 lower-case letters and digits, unique in the world (learn.microsoft.com, "Storage
    account overview")."""
    return vault.replace("-", "")


def account_url(vault: str) -> str:
    """Return the address of the blobs of the environment that the vault at this address belongs to."""
    return f"https://{account_name((urlsplit(vault).hostname or '').partition('.')[0])}.blob.core.windows.net"


def _texts(entries: Any) -> tuple[str, ...]:
    if not isinstance(entries, list):
        raise TypeError(entries)
    return tuple(map(str, entries))
