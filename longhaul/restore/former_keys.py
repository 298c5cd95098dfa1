"""Former encryption keys that restored Secrets need: an API server that cannot read one of the Secrets never becomes
ready."""

from __future__ import annotations

from collections.abc import Callable

from components.model.secrets.vault import KEYS_IN_USE
from longhaul.control_plane import encryption_keys
from longhaul.vault.encryption_keys import EncryptionVault, names


def readmit_former(record: EncryptionVault, *, say: Callable[[str], None]) -> None:
    """Give stopped API servers every former key with which objects in etcd are encrypted, for reading. Raise
    ``CommandError`` when a server does not get them. May be repeated."""
    if record.text(KEYS_IN_USE) is None:
        return
    keys = record.keys()
    written = encryption_keys.count_objects_by_key(record.environment, record.control, record.place)
    missing = sorted(name for name in written if name and name not in keys.names)
    former = [key for key in record.retired() if key.name in missing]
    if lost := [name for name in missing if name not in {key.name for key in former}]:
        counts = ", ".join(f"{name}: {written[name]}" for name in lost)
        say(f"no API server can read Secrets that were encrypted with keys that the vault does not have ({counts})")
    for key in former:
        keys = keys.readmitting(key)
    if former:
        record.set_keys(keys)
        advice = f"`longhaul rotate --env {record.environment.name} secrets-encryption` retires it again"
        say(f"the backup is older than a rotation: API servers also read with {names(former)}; {advice}")
    # An earlier run may have ended after it wrote to the vault and before it reached the servers.
    if len(keys.keys) > 1:
        encryption_keys.deliver(record.environment, record.control, record.place, keys)
