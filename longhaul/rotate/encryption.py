"""Rotation of the key that encrypts Secrets at rest.

Each phase is recorded in the vault before it is carried out, and every step may be repeated. So after any interruption,
the next run reads the phase and continues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clouds.base.phrases import counted
from components.model.secrets.encryption_keys import ENCRYPTED, EncryptionKeys, RotationPhase
from contract.kubernetes.api import path_of
from contract.kubernetes.connection import ApiError
from longhaul.control_plane import encryption_keys
from longhaul.terminal.exits import CommandError
from longhaul.vault.encryption_keys import EncryptionVault, names

if TYPE_CHECKING:
    from contract.kubernetes.api import Api

ROUNDS = 3
"""Maximum number of times that stored objects are rewritten. A request that was running when the last server loaded the
new key may have written after the list was read."""
TOLD_EVERY = 1000
"""Number of rewritten objects between two progress lines."""


@dataclass(kw_only=True)
class Rotation:
    """One run."""

    record: EncryptionVault
    api: Api
    new_key: Callable[[], str]
    """Returns a new key."""
    tell: Callable[[str], None]
    has_lease: Callable[[], bool] = field(default=lambda: True)
    """Returns whether this run still holds the lock."""

    def run(self) -> EncryptionKeys:
        """Run every phase from the phase that the vault records, and return the keys in use."""
        keys = self.record.keys()
        if keys.phase is RotationPhase.STEADY and (behind := self._behind(keys)):
            # The last run was killed at its end: another new key would be another rotation, which nobody requested.
            self.tell(f"{', '.join(behind)}: waiting until they use only {names(keys.keys)}, which ends this rotation")
            self._hand_out(keys)
            self.tell("they do now. This run has made no new key: another run does")
            return keys
        if keys.phase is RotationPhase.STEADY:
            keys = self._write(keys.trusting(self.new_key(), retired=self.record.retired()))
            self.tell(f"{keys.newest.name} is made: API servers load it for reading")
        if keys.phase is RotationPhase.TRUST:
            self._hand_out(keys)
            keys = self._write(keys.using())
            self.tell(f"all API servers read with {keys.newest.name}: from now on they also write with it")
        return self._finish(keys)

    def readmit(self, name: str) -> EncryptionKeys:
        """Have API servers read with a former key again, for data from a backup; the next run retires it again."""
        keys = self.record.keys()
        former = next((key for key in self.record.retired() if key.name == name), None)
        if name in keys.names:
            self.tell(f"{name} is in use already")
        elif former is None:
            known = names(self.record.retired()) or "none is"
            raise CommandError(f"{name} is not a former key in the vault ({known})")
        else:
            keys = self._write(keys.readmitting(former))
        self._hand_out(keys)
        return keys

    def _finish(self, keys: EncryptionKeys) -> EncryptionKeys:
        """Rewrite everything that the former keys encrypt, and retire them."""
        self._hand_out(keys)
        self._rewrite(keys)
        former = keys.keys[1:]
        self.record.retire(former)
        keys = self._write(EncryptionKeys(keys=keys.keys[:1]))
        self.tell(f"no stored object needs {names(former)} any more; the vault keeps it for older backups")
        self._hand_out(keys)
        return keys

    def _rewrite(self, keys: EncryptionKeys) -> None:
        """Rewrite stored objects until the first key encrypts all of them."""
        left: dict[str, int] = {}
        for _ in range(ROUNDS):
            done = sum(self._rewrite_all(resource) for resource in ENCRYPTED)
            self.tell(f"{counted(done, 'object')} rewritten")
            counts = encryption_keys.count_objects_by_key(
                self.record.environment, self.record.control, self.record.place
            )
            left = {name: count for name, count in counts.items() if name != keys.names[0] and count}
            if not left:
                return
        remaining = ", ".join(f"{name or 'without encryption'}: {count}" for name, count in left.items())
        raise CommandError(
            f"objects are still stored with other keys ({remaining}), so those stay in use: run this again. If the "
            "API does not list an object, something other than the API servers wrote it into etcd"
        )

    def _rewrite_all(self, resource: str) -> int:
        """Rewrite every object of a resource, and return their number. An update without changes is written when
        another key than the first has encrypted the object (k8s.io/apiserver, pkg/storage/etcd3/store.go,
        ``origState.stale``)."""
        listed = [
            (str(stored["metadata"]["namespace"]), str(stored["metadata"]["name"]))
            for stored in self.api.items(f"/api/v1/{resource}")
        ]
        for number, (namespace, name) in enumerate(listed, start=1):
            self._rewrite_one(f"/api/v1/namespaces{path_of(namespace, resource, name)}")
            if number % TOLD_EVERY == 0:
                self.tell(f"{number} of {len(listed)} {resource} rewritten")
        return len(listed)

    def _rewrite_one(self, path: str) -> None:
        try:
            self.api.patch(path, {})
        except ApiError as error:
            # Somebody deleted it, or wrote it with the first key, as every server does by now.
            if error.status not in (404, 409):
                raise

    def _behind(self, keys: EncryptionKeys) -> tuple[str, ...]:
        return encryption_keys.outdated_servers(self.record.environment, self.record.control, self.record.place, keys)

    def _hand_out(self, keys: EncryptionKeys) -> None:
        encryption_keys.distribute(
            self.record.environment, self.record.control, self.record.place, keys, tell=self.tell
        )

    def _write(self, keys: EncryptionKeys) -> EncryptionKeys:
        """Write the next phase into the vault, while this run still holds the lock."""
        if not self.has_lease():
            raise CommandError("another run has taken over this rotation: wait for its end, then run this again")
        self.record.set_keys(keys)
        return keys
