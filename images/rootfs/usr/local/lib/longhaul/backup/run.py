"""Back up this member's etcd cluster, if it is this member's turn.

A timer runs this program on every member. The vault's secret ``backups`` contains the settings. Without the secret
there is nothing to do. The newest backup's age, by the storage's clock, and the members' roles decide which member
makes the next backup, so the members need not communicate. In addition, each member that may make backups makes one
every hour. With ``--now`` the member makes a backup at once. With ``--without-quorum`` the learner makes a backup of
its own data, when all voting members are lost.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from etcd.client import Etcdctl, EtcdError
from machine.config import PKI, client_url
from machine.managed_identity import OwnIdentity
from machine.metadata import NotYetError
from vault import fetch_secrets
from vault.client import AwayError, MachineVault, VaultError, WithheldError

from backup import schedule, snapshot, state
from backup.backup_inventory import BackupInventory, take_inventory
from backup.snapshot import Programs, SnapshotContent, SnapshotError
from backup.storage import Storage, StorageError, digest
from contract.azure import STORAGE
from contract.documents.backup_settings import SECRET, BackupSettings, SettingsError
from contract.documents.backups import BackupMetadata, name_of
from contract.documents.node import NodeConfig
from contract.documents.node_answers import BackupState, BackupStorageState, NewestBackup
from contract.paths import SSD

SCRATCH = Path(SSD, "backup")
"""Folder for a snapshot in progress, on the member's data disk."""


class BackupError(Exception):
    """Raised if no backup is made. The message says why."""


@dataclass(frozen=True, kw_only=True)
class Backup:
    """One run of the program on a member."""

    node: NodeConfig
    settings: BackupSettings
    storage: Storage
    etcdctl: Etcdctl
    programs: Programs
    scratch: Path
    alone: bool = False
    """True if this member does not ask the other members."""

    def run(self, *, now: datetime, at_once: bool) -> BackupStorageState:
        """Make a backup if it is this member's turn. Return the content of the storage afterwards."""
        there = take_inventory(
            (blob for kept in schedule.CLASSES for blob in self.storage.backups(kept, self.node.role)),
            environment=self.settings.environment,
            role=self.node.role,
            member=self.node.machine,
            now=now,
        )
        ranks = (self.node.machine,) if self.alone else schedule.order(self._voices())
        if self.node.machine not in ranks:
            if at_once:
                raise BackupError(f"{self.node.machine} leads or is behind; one of {', '.join(ranks)} makes backups")
            return there.storage
        if not at_once and not self._is_due(ranks.index(self.node.machine), there):
            return there.storage
        made = self._make(schedule.kept_as(now, there.own_by_class), now)
        print(f"backed up: {made.name}, revision {made.revision}, {made.keys} keys, {made.size} bytes", flush=True)
        return replace(there.storage, newest=made)

    def _is_due(self, rank: int, there: BackupInventory) -> bool:
        up_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        ages = schedule.BackupAges(newest_s=there.age_s, own_s=there.own_age_s, up_s=up_s)
        return schedule.is_due(rank=rank, ages=ages, every_s=self.settings.every_s, took_s=there.storage.took_s)

    def _voices(self) -> list[schedule.AnsweringMember]:
        """Return the members that answer. Raise ``EtcdError`` if no quorum lists the members."""
        cluster = self.etcdctl.first_cluster(
            client_url(address) for address in (self.node.address, *self.node.peers.values())
        )
        if cluster is None:
            raise EtcdError("no member answers with a quorum")
        voices = []
        for member in cluster.members:
            if member.client_urls:
                try:
                    status = self.etcdctl.status(member.client_urls[0])
                except EtcdError:
                    continue
                leader = status.leader == member.id
                voices.append(
                    schedule.AnsweringMember(
                        name=member.name, leader=leader, learner=member.learner, revision=status.revision
                    )
                )
        return voices

    def _make(self, kept: str, now: datetime) -> NewestBackup:
        endpoint = client_url(self.node.address)
        status = self.etcdctl.status(endpoint)
        for old in self.scratch.iterdir():
            old.unlink()
        plain, sealed = self.scratch / "snapshot.db", self.scratch / "snapshot.age"
        try:
            snapshot.save(self.etcdctl, endpoint, plain, size=status.db_size)
            inside = snapshot.check(plain, self.programs)
            snapshot.encrypt(plain, sealed, self.settings.recipients, self.programs)
            hash_, size = digest(sealed, "sha256"), sealed.stat().st_size
            name = name_of(self.node.role, self.node.machine, now)
            self.storage.put(kept, name, sealed, self._metadata(inside, hash_, now, status.cluster).to_document())
            if (arrived := self.storage.sha256(kept, name)) != hash_:
                raise BackupError(f"{kept}/{name} is not what was sent: its SHA-256 is {arrived}, not {hash_}")
        finally:
            plain.unlink(missing_ok=True)
            sealed.unlink(missing_ok=True)
        return NewestBackup(
            name=f"{kept}/{name}", made=now.timestamp(), size=size, revision=inside.revision, keys=inside.keys
        )

    def _metadata(self, inside: SnapshotContent, hash_: str, now: datetime, cluster: int) -> BackupMetadata:
        return BackupMetadata(
            environment=self.settings.environment,
            role=self.node.role,
            member=self.node.machine,
            cluster=f"{cluster:x}",
            etcd=self.node.version,
            taken=now,
            revision=inside.revision,
            keys=inside.keys,
            size=inside.size,
            snapshot_sha256=inside.sha256,
            sha256=hash_,
        )


def look(node: NodeConfig, vault: MachineVault, *, now: datetime, at_once: bool, alone: bool = False) -> BackupState:
    """Look at the storage, and make a backup if it is this member's turn. Return the state. After a failure, the state
    contains the error and the earlier content of the storage."""
    every_s, observed = 0.0, state.last_storage_state()
    try:
        settings = BackupSettings.parse(vault.read(SECRET), vault=vault.url)
        every_s = settings.every_s
        identity = OwnIdentity(audience=STORAGE)
        backup = Backup(
            node=node,
            settings=settings,
            storage=Storage(url=settings.url, token=lambda: _token(identity)),
            etcdctl=Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt"),
            programs=Programs(),
            scratch=SCRATCH,
            alone=alone,
        )
        observed = backup.run(now=now, at_once=at_once)
    except WithheldError as error:
        return BackupState(declared=False, looked=now.timestamp(), error=str(error) if at_once else "")
    except (
        AwayError,
        BackupError,
        EtcdError,
        OSError,
        SettingsError,
        SnapshotError,
        StorageError,
        VaultError,
    ) as error:
        return BackupState(declared=True, looked=now.timestamp(), every_s=every_s, error=str(error), **vars(observed))
    return BackupState(declared=True, looked=now.timestamp(), every_s=every_s, **vars(observed))


def _token(identity: OwnIdentity) -> str:
    try:
        return identity.token()
    except NotYetError as error:
        raise StorageError(str(error)) from None


def main() -> int:
    """Run the program. Return 0 if nothing failed, otherwise 1."""
    os.umask(0o077)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--now", action="store_true", help="make a backup, whatever the newest one's age")
    parser.add_argument("--without-quorum", action="store_true", help="with --now, on the learner: ask no other member")
    arguments = parser.parse_args()
    node = NodeConfig.read()
    if arguments.without_quorum and not (arguments.now and node.learner):
        parser.error("--without-quorum is for the learner, with --now: a voting member without a quorum may be behind")
    with (state.FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = state.read()
        now = datetime.fromtimestamp(int(time.time()), tz=UTC)
        vault = fetch_secrets.open_vault()
        backup_state = look(node, vault, now=now, at_once=arguments.now, alone=arguments.without_quorum)
        if not (arguments.now and backup_state.error):
            # A manual run reports its failure to its caller; the timer's state does not record it.
            state.write(backup_state, node.role)
    if backup_state.error and (arguments.now or before is None or backup_state.error != before.error):
        print(backup_state.error, file=sys.stderr, flush=True)
    return 1 if backup_state.error else 0
