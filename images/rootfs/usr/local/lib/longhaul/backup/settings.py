"""Settings of the environment's backups, as the vault tells them. Pure.

Who can write to the vault, or can have a member read another one, must not get the backups sent elsewhere or encrypted
for a stranger by a slip: what is not as ``longhaul up`` writes it is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

RECIPIENT = re.compile(r"age1[02-9ac-hj-np-z]{58}")
"""A public key of age (components/model/backups/section.py has the same form, with its source)."""

SHORTEST_S, LONGEST_S = 60.0, 3600.0
"""Limits of the time between two backups (the same file)."""


class SettingsError(Exception):
    """Raised when the settings cannot be used, with the reason."""


@dataclass(frozen=True, kw_only=True)
class BackupSettings:
    """Settings of the environment's backups."""

    environment: str
    url: str
    recipients: tuple[str, ...]
    every_s: float

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
            raise SettingsError("the vault's secret backups cannot be read: run `longhaul up`") from None
        if wrong := settings.wrong(vault):
            raise SettingsError(f"the vault's secret backups is refused: {wrong}. Nothing was sent; run `longhaul up`")
        return settings

    def wrong(self, vault: str) -> str:
        """Return why they are refused; empty when they are not."""
        if self.url != account_url(vault):
            return f"its address is {self.url!r}, and the environment's storage is {account_url(vault)}"
        strangers = [recipient for recipient in self.recipients if not RECIPIENT.fullmatch(recipient)]
        if strangers or not self.recipients:
            return f"{', '.join(map(repr, strangers)) or 'nobody'} is no public key of age"
        if not SHORTEST_S <= self.every_s <= LONGEST_S:
            return f"a backup every {self.every_s:g} s is none of {SHORTEST_S:g} to {LONGEST_S:g} s"
        return ""


def account_url(vault: str) -> str:
    """Return the address of the storage of the environment that a vault belongs to: its account has the vault's name
    without hyphens (components/model/backups/storage.py)."""
    name = (urlsplit(vault).hostname or "").partition(".")[0].replace("-", "")
    return f"https://{name}.blob.core.windows.net"


def _texts(entries: Any) -> tuple[str, ...]:
    if not isinstance(entries, list):
        raise TypeError(entries)
    return tuple(map(str, entries))
