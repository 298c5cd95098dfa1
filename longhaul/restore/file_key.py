"""A backup's file key, unwrapped from its header with the operator's private key; the rest of the backup is not
downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from clouds.base.errors import CloudError
from components.model.backups.storage import account_name
from longhaul.etcd_backups.listing import ListedBackup, control_access
from longhaul.restore.age_header import HeaderError, read_header, unwrap
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

HEAD = 4096
"""Number of bytes that surely contain a header: a header for eight recipients, the maximum of an environment, takes
900."""


@dataclass(frozen=True, kw_only=True)
class SealedBackup:
    """A backup, and the file key of its content."""

    backup: ListedBackup
    skip: int
    """Length of its header, bytes."""
    file_key: bytes = field(repr=False)


def with_file_key(
    environment: Environment, backup: ListedBackup, keys: Sequence[X25519PrivateKey], *, key_file: object
) -> SealedBackup:
    """Return a backup with the key of its content. Raise ``CommandError`` when the header cannot be fetched or
    opened."""
    control, place = control_access(environment)
    container, _, name = backup.name.partition("/")
    try:
        head = control.backup_head(place, account_name(environment), container, name, HEAD)
    except CloudError as error:
        raise CommandError(f"{backup.name} does not come: {error}", code=Exit.UNREACHABLE) from None
    try:
        header = read_header(head)
        return SealedBackup(backup=backup, skip=len(header), file_key=unwrap(header, keys))
    except HeaderError as error:
        raise CommandError(f"{backup.name} cannot be decrypted with {key_file}: {error}") from None
