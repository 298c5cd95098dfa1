"""Steps of a restore on this machine. ``longhaul restore`` runs the steps one by one, and may repeat each of them.

A member's steps are ``look``, ``stop`` (which also sets the data aside), ``rebuild``, ``start`` and ``finish``. Before
``rebuild``, ``give-up`` moves the data back. An API server's steps are ``look``, ``stop`` and ``finish``. The learner
has the same three steps, and ``stop`` sets its data aside: it joins the new etcd cluster like a member without data.
Each step prints one JSON object. Its ``error`` is the reason why the step was not done.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from backup.snapshot import Programs
from backup.storage import Storage, StorageError
from etcd.client import Etcdctl, EtcdError, EtcdMembers
from etcd.wal import WalIdentity
from machine.config import PKI, client_url, peer_url
from machine.managed_identity import OwnIdentity
from machine.metadata import NotYetError
from vault import fetch_secrets
from vault.client import VaultError

from contract.azure import STORAGE
from contract.documents.backup_settings import SECRET, BackupSettings, SettingsError
from contract.documents.node import NodeConfig
from contract.documents.restore import MachineLook, Record, RestorePlan, Step, plan_of_text
from contract.paths import SSD
from contract.units import ETCD, KUBE_APISERVER
from restore.data import Data, Membership
from restore.key import recipient
from restore.record import Records, RestoreError
from restore.units import CLIENTS, MEMBER, SERVER, Units

KEYS = Path("/run/longhaul-restore")
"""Folder of the one-time key. It is in memory, so that nobody can read the key after a restart of the machine."""

DISK = Path(SSD)

RETRY_S = 0.5
"""Seconds between two checks of etcd. No signal shows that etcd has a leader."""


@dataclass(frozen=True, kw_only=True)
class Restore:
    """Steps of a restore on one machine. Every step but ``look`` raises ``RestoreError`` if it cannot be done."""

    node: NodeConfig
    etcdctl: Etcdctl
    data: Data
    storage: Callable[[], Storage]
    records: Records = field(default_factory=Records)
    units: Units = field(default_factory=Units)
    keys: Path = KEYS
    keygen: str = "/usr/local/bin/age-keygen"

    def look(self) -> dict[str, Any]:
        """Return this machine's state. Change nothing."""
        noted = self.records.read()
        record = self._checked(noted)
        known = MachineLook(
            machine=self.node.machine,
            hold=self.records.holding_restore(),
            record=record,
            noted=noted.step if noted else Step.NONE,
        )
        if self.node.role == "api":
            return known.to_document()
        cluster = self._with_quorum()
        try:
            revision = self.etcdctl.status(client_url(self.node.address)).revision
        except EtcdError:
            revision = 0
        return replace(
            known,
            quorum=cluster is not None,
            cluster=f"{cluster.id:x}" if cluster else "",
            revision=revision,
            data=self.data.cluster(),
            asides=tuple(self.data.asides()),
        ).to_document()

    def _with_quorum(self) -> EtcdMembers | None:
        return self.etcdctl.first_cluster(map(client_url, self.node.stores[self.node.role].values()))

    def _made(self, record: Record) -> bool:
        """Return whether the data on the disk is the new data of the restore."""
        return bool(record.cluster) and self.data.cluster() == record.cluster

    def _checked(self, record: Record | None) -> Record | None:
        """Return the record, corrected by the content of the disk: a member without the new data is only stopped."""
        if record is None or not Step.REBUILT <= record.step <= Step.STARTED or self._made(record):
            return record
        return replace(record, step=Step.STOPPED)

    def stop(self, id_: str, backup: str, *, instead: str, although_healthy: bool) -> dict[str, Any]:
        """Stop this machine's service and keep it from being started. Set a member's data aside; a voting member's
        answer contains the public half of a one-time key. A voting member refuses while its etcd cluster has a quorum,
        unless ``although_healthy``. ``instead`` is the id of a restore that this one replaces."""
        if self.node.role == "api":
            self.records.hold(id_)
            self.units.stop(*CLIENTS)
            self.units.end(KUBE_APISERVER)
            return {"stopped": True}
        if self.node.learner:
            self.records.hold(id_)
            self.units.stop(*MEMBER)
            self.data.set_aside(id_)
            return {"stopped": True, "asides": self.data.asides()}
        record = self._begun(id_, backup, instead, although_healthy=although_healthy)
        if record.step < Step.REBUILT:
            self.records.hold(id_)
            self.units.stop(*MEMBER)
            if not self._made(record):
                self.data.set_aside(id_)
            record = self.records.write(replace(record, step=Step.STOPPED))
        public = recipient(self.keys, keygen=self.keygen) if record.step < Step.REBUILT else ""
        return {"step": record.step, "recipient": public, "asides": self.data.asides()}

    def _begun(self, id_: str, backup: str, instead: str, *, although_healthy: bool) -> Record:
        record = self._checked(self.records.under_way())
        if record is not None and record.id not in (id_, instead):
            raise RestoreError(f"a restore of {record.backup} is half done here (its id is {record.id})")
        if record is None or record.id != id_:
            record = Record(id=id_, backup=backup)
        if record.step >= Step.STOPPED:
            return record
        if not although_healthy and (cluster := self._with_quorum()):
            raise RestoreError(
                f"its etcd cluster has a quorum (cluster {cluster.id:x}), so its data stays: `longhaul restore "
                "--give-up` lets the API servers start again; to replace it all the same: --etcd NAME "
                "--although-healthy"
            )
        return self.records.write(record)

    def rebuild(self, id_: str, plan: str) -> dict[str, Any]:
        """Make new data from the backup in the plan."""
        record = self._mine(id_, at_least=Step.STOPPED)
        if record.step == Step.STOPPED:
            if not (record.cluster and self.data.cluster() == record.cluster):
                record = self._rebuilt(record, plan_of_text(plan))
            record = self.records.write(replace(record, step=Step.REBUILT))
        (self.keys / "key").unlink(missing_ok=True)
        return {"step": record.step, "cluster": record.cluster, "revision": record.revision}

    def _rebuilt(self, record: Record, plan: RestorePlan) -> Record:
        source = plan.source
        places = self.node.stores[self.node.role]
        membership = Membership(
            name=self.node.machine,
            peers={name: peer_url(places[name]) for name in plan.members},
            token=plan.token,
            bump=plan.bump,
        )
        made = replace(record, revision=source.revision + membership.bump)

        def note(identity: WalIdentity) -> None:
            self.records.write(replace(made, cluster=f"{identity.cluster:x}"))

        self.data.rebuild(source, membership, storage=self.storage(), key=self.keys / "key", note=note)
        return self.records.under_way() or made

    def start(self, id_: str, *, wait_s: float) -> dict[str, Any]:
        """Start etcd with the new data, and wait until etcd commits, at most ``wait_s`` seconds. Lift the alarms in the
        backup (etcd 3.6, etcdutl/snapshot, ``saveDB``, drops only the members)."""
        record = self._mine(id_, at_least=Step.REBUILT)
        if record.step < Step.STARTED:
            record = self.records.write(replace(record, step=Step.STARTED))
        self.records.release()
        self.units.start(ETCD)
        deadline = time.monotonic() + wait_s
        while True:
            try:
                status = self.etcdctl.status(client_url(self.node.address))
                lifted = self._lift()
                if self.etcdctl.healthy(client_url(self.node.address)):
                    known = {"cluster": f"{status.cluster:x}", "revision": status.revision}
                    return {"step": record.step, **known, "lifted": lifted}
                why = "it has no leader"
            except EtcdError as error:
                why = str(error)
            if time.monotonic() > deadline:
                raise RestoreError(f"etcd does not commit after {wait_s:.0f} s: {why}")
            time.sleep(RETRY_S)

    def _lift(self) -> list[str]:
        """Lift the alarms from the backup, and return their names. These alarms name members of the former cluster,
        whose ids the new cluster does not have. If an alarm names a new member, lift none, because etcdctl lifts all
        alarms or none."""
        url = client_url(self.node.address)
        members = {member.id for member in self.etcdctl.cluster(url).members}
        alarms = self.etcdctl.alarms(url)
        if not alarms or any(alarm.member in members for alarm in alarms):
            return []
        self.etcdctl.disarm(url)
        return sorted({alarm.name for alarm in alarms})

    def give_up(self, id_: str) -> dict[str, Any]:
        """Move the data back that was set aside, and start the service. Raise ``RestoreError`` if there is new data."""
        record = self.records.under_way()
        if record is not None and record.id == id_:
            if record.step >= Step.REBUILT or self._made(record):
                raise RestoreError(f"the restore {id_} has made new data here: go on with it")
            self.data.put_back(id_)
            self.records.forget()
        if self.records.holding_restore() == id_:
            self.records.release()
        return self._started()

    def finish(self, id_: str, *, joined: bool) -> dict[str, Any]:
        """End the restore on this machine: start the service, and resume backups. ``joined`` is true if the other
        members have a quorum and this member joins them without data."""
        if self.node.role == "api":
            self.records.release()
            self.units.start("longhaul-api.target", *SERVER)
            return {"started": True}
        if self.node.learner:
            self.records.release()
            return self._started()
        record = self.records.read()
        if record is not None and record.id == id_ and record.step == Step.FINISHED:
            return {"step": record.step, "asides": self.data.asides()}
        if joined:
            self.records.release()
            self.records.finish(Record(id=id_, backup=record.backup if record else ""))
        else:
            self.records.finish(self._mine(id_, at_least=Step.STARTED))
        return self._started()

    def _started(self) -> dict[str, Any]:
        self.units.start("longhaul-etcd.target", ETCD)
        self.units.restart("longhaul-backup.timer")
        return {"step": Step.FINISHED, "asides": self.data.asides()}

    def _mine(self, id_: str, *, at_least: Step) -> Record:
        record = self.records.under_way()
        if record is None or record.id != id_ or record.step < at_least:
            existing = f"{record.id} at step {record.step}" if record else "no restore"
            raise RestoreError(f"the restore {id_} has not come to this step here: there is {existing}")
        return record


def of_this_machine() -> Restore:
    """Return the steps for this machine."""
    node = NodeConfig.read()
    part = "etcd-client" if node.role == "api" else "client"
    return Restore(
        node=node,
        etcdctl=Etcdctl(certificate=PKI / f"{part}.pem", authority=PKI / "etcd-ca.crt"),
        data=Data(disk=DISK, programs=Programs()),
        storage=_storage,
    )


def _storage() -> Storage:
    try:
        vault = fetch_secrets.open_vault()
        settings = BackupSettings.parse(vault.read(SECRET), vault=vault.url)
    except (SettingsError, VaultError) as error:
        raise RestoreError(str(error)) from None
    identity = OwnIdentity(audience=STORAGE)

    def token() -> str:
        try:
            return identity.token()
        except NotYetError as error:
            raise StorageError(str(error)) from None

    return Storage(url=settings.url, token=token)


def run(restore: Restore, words: Sequence[str]) -> dict[str, Any]:
    """Run one step, and return its answer."""
    parser = argparse.ArgumentParser(prog="longhaul-node restore", description=__doc__)
    parser.add_argument("step", choices=("look", "stop", "rebuild", "start", "finish", "give-up"))
    parser.add_argument("--id", default="")
    parser.add_argument("--backup", default="", help="class and name")
    parser.add_argument("--instead", default="", metavar="ID", help="a restore that is given up for this one")
    parser.add_argument("--although-healthy", action="store_true", help="stop a member that has a quorum, too")
    parser.add_argument("--joined", action="store_true", help="the others have a quorum without this member")
    parser.add_argument("--plan", default="", help="JSON in base64")
    parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args(words)
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "look": restore.look,
        "stop": lambda: restore.stop(
            options.id, options.backup, instead=options.instead, although_healthy=options.although_healthy
        ),
        "rebuild": lambda: restore.rebuild(options.id, options.plan),
        "start": lambda: restore.start(options.id, wait_s=options.wait),
        "finish": lambda: restore.finish(options.id, joined=options.joined),
        "give-up": lambda: restore.give_up(options.id),
    }
    if options.step == "look":
        return steps["look"]()
    if not options.id:
        parser.error("--id")
    with restore.records.locked():
        return steps[options.step]()


def main(words: Sequence[str]) -> int:
    """Run one step and print its answer. Return 0 if the step was done, otherwise 1."""
    os.umask(0o077)
    try:
        answer = run(of_this_machine(), words)
    except (RestoreError, OSError) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer))
    return 1 if "error" in answer else 0
