"""Settings of an environment's backups. The vault's secret tells members where to send backups, and for whom to encrypt
them. Members ignore unknown keys.

Nothing in the secret is confidential. The settings are in the vault because only officers write there, and because a
change of the secret replaces no machine. A wrong secret, or the secret of another vault, must not redirect the backups
or have them encrypted for somebody else. So members refuse settings that ``longhaul up`` would not write.
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
"""Pattern of a public key of age in Bech32: 32 bytes and a checksum are 58 characters (C2SP, "age", the native X25519
recipient type)."""

SHORTEST_MINUTES, LONGEST_MINUTES = 1, 60
"""Limits of the time between two backups."""


class SettingsError(Exception):
    """The settings are invalid; the message says why."""


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
        """Parse the secret of the vault at the address ``vault``. Raise ``SettingsError`` if the secret is invalid."""
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
        """Return the reason why the settings are refused; empty if they are valid."""
        if self.url != account_url(vault):
            return f"its address is {self.url!r}, and the environment's storage is {account_url(vault)}"
        strangers = [recipient for recipient in self.recipients if not re.fullmatch(RECIPIENT, recipient)]
        if strangers or not self.recipients:
            return f"{', '.join(map(repr, strangers)) or 'nobody'} is not a public key of age"
        shortest_s, longest_s = 60.0 * SHORTEST_MINUTES, 60.0 * LONGEST_MINUTES
        if not shortest_s <= self.every_s <= longest_s:
            return f"its interval of {self.every_s:g} s is not between {shortest_s:g} and {longest_s:g} s"
        return ""


def account_name(vault: str) -> str:
    """Return the name of the storage account for the environment of a vault: the vault's name without hyphens. Azure
    requires 3 to 24 lower-case letters and digits, unique worldwide (learn.microsoft.com, "Storage account
    overview")."""
    return vault.replace("-", "")


def account_url(vault: str) -> str:
    """Return the address of the blobs for the environment of the vault at this address."""
    return f"https://{account_name((urlsplit(vault).hostname or '').partition('.')[0])}.blob.core.windows.net"


def _texts(entries: Any) -> tuple[str, ...]:
    if not isinstance(entries, list):
        raise TypeError(entries)
    return tuple(map(str, entries))
