"""Section ``backups`` of the environment file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clouds.base.section import Section
from contract.documents.backup_settings import LONGEST_MINUTES, RECIPIENT, SHORTEST_MINUTES
from contract.documents.backups import BackupClass

Recipient = Annotated[
    str,
    Field(
        pattern=f"^{RECIPIENT}$",
        json_schema_extra={
            "patternErrorMessage": "a public key of age, as `age-keygen` prints it: age1 and 58 letters"
        },
    ),
]


class Backups(Section):
    """Encrypted snapshots of both etcd clusters in object storage of the control plane's cloud. docs/backups.md
    describes the custody of the keys."""

    recipients: tuple[Recipient, ...] = Field(
        min_length=1,
        max_length=8,
        # Its checksum is wrong: whoever copies it is refused, and not left with backups that nobody can open.
        examples=[["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kdeu8pdvqg0jz7l"]],
    )
    """Public keys of age for which every backup is encrypted; any one of their private keys decrypts it. Machines have
    only the public keys: keep the private keys outside the environment and its vault, in two places."""
    every_minutes: int = Field(default=5, ge=SHORTEST_MINUTES, le=LONGEST_MINUTES)
    """Minutes between two backups of an etcd cluster. When the cluster loses its quorum for good, data written since
    the last backup is lost."""
    frequent_days: int = Field(default=1, ge=1, le=30)
    """Days for which every backup is kept. Once declared, backups stay declared, and numbers of days may only grow."""
    hourly_days: int = Field(default=7, ge=1, le=365)
    """Days for which each member's first backup of an hour is kept."""
    daily_days: int = Field(default=90, ge=1, le=3650)
    """Days for which each member's first backup of a day is kept."""

    def days(self, kept: BackupClass) -> int:
        """Return the number of days for which a class is kept: nobody can change or delete a backup meanwhile."""
        return {
            BackupClass.FREQUENT: self.frequent_days,
            BackupClass.HOURLY: self.hourly_days,
            BackupClass.DAILY: self.daily_days,
        }[kept]
