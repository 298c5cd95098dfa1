"""Names of an environment's storage for backups, and the settings that its members get."""

from __future__ import annotations

from components.model.backups.section import Backups
from components.model.environment import Environment
from components.model.secrets.vault import vault_name, vault_url
from contract.documents import backup_settings
from contract.documents.backup_settings import BackupSettings


def account_name(environment: Environment) -> str:
    """Return the storage account's name."""
    return backup_settings.account_name(vault_name(environment))


def settings(environment: Environment, backups: Backups) -> BackupSettings:
    """Return the settings of members. Nothing in them is confidential; they are in the vault because only officers
    write there."""
    return BackupSettings(
        environment=environment.name,
        url=backup_settings.account_url(vault_url(environment)),
        recipients=backups.recipients,
        every_s=60 * backups.every_minutes,
    )
