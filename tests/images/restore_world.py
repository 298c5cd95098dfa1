"""A control plane on loopback that `longhaul restore` works on: run commands, units and vault are stand-ins, all else
is real."""

from __future__ import annotations

import getpass
import json
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from backup.snapshot import Programs
from backup.storage import Storage
from etcd import join as etcd_join
from etcd.client import EtcdError
from kube_apiserver import encryption_keys
from machine.config import client_url
from restore import steps as etcd_restore
from restore.data import Data
from restore.record import Records
from restore.units import Units

from clouds.azure.control import AzureControlAccess
from clouds.azure.errors import AzureError
from clouds.base.control import CommandOutput, MachineView
from components.control_plane.secrets import first_value
from components.model import Environment, Role, control_machines, plan
from components.model.backups.section import Backups
from components.model.secrets.vault import SecretKind
from longhaul.etcd_backups.listing import control_access
from longhaul.restore.age_header import identities
from longhaul.restore.file_key import with_file_key
from longhaul.restore.machines import PlaceMachines
from longhaul.restore.preparation import RestoreArguments, prepare
from longhaul.restore.steps import Restoration
from longhaul.vault.restore_record import RestoreRecords
from tests.images.backup.test_restored import backup_of, stored_by
from tests.images.etcd.test_membership import ready
from tests.images.machines import Control, Place, eventually
from tests.lab.cloud.conftest import Live

ACCOUNT = "lhlabsnapshots"

SERVES_PEERS = b'"serving peer traffic"'
"""Line of etcd's log from which on other members can ask it."""

LIMIT_S = 2.0
"""Time limit in seconds of a step's questions to etcd: each look at a cluster without a quorum waits that long for each
member that is left."""


class LoopbackUnits(Units):
    """Units of one machine: etcd is a process, of the others it is noted that they were started."""

    def __init__(self, place: Place, records: Records, starting: threading.Lock) -> None:
        super().__init__()
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "starting", starting)
        object.__setattr__(self, "records", records)
        object.__setattr__(self, "started", [])

    place: Place
    records: Records
    starting: threading.Lock
    started: list[str]

    def stop(self, *units: str) -> None:
        if "etcd.service" in units and "etcd" in self.place.processes:
            self.place.stop("etcd")

    def end(self, unit: str) -> None:
        self.stop(unit)

    def start(self, *units: str) -> None:
        self.started.extend(units)
        wants = {"etcd.service", "longhaul-etcd.target"} & {*units}
        if wants and not self.records.holding_restore() and "etcd" not in self.place.processes:
            decision = eventually(lambda: prepared(self.place), what="etcd may start")
            assert isinstance(decision, etcd_join.Start | etcd_join.Join)
            # At its start etcd asks each other member for a hash (InitialCorruptCheck), and waits 7 s for one that
            # listens and does not serve yet: of members that start at the same moment each waits for all others.
            with self.starting:
                before = self._served()
                self.place.start_etcd()
                eventually(lambda: self.place.running("etcd") and self._served() > before, what="etcd serves its peers")

    def _served(self) -> int:
        log = self.place.folder / "etcd.log"
        return log.read_bytes().count(SERVES_PEERS) if log.exists() else 0

    def restart(self, unit: str) -> None:
        self.started.append(unit)


def prepared(place: Place) -> object:
    try:
        return place.prepare()
    except EtcdError:
        return None


@dataclass(kw_only=True)
class World:
    """The control plane, its backups, and what the operator has."""

    control: Control
    live: Live
    folder: Path
    binaries: dict[str, Path]
    environment: Environment
    key: Path
    patch: pytest.MonkeyPatch
    left: int | None = None
    """Number of commands and writes that the operator still gets through; None for all."""
    said: list[str] = field(default_factory=list)
    commands: list[tuple[str, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Machines that the cloud does not have."""
    restores: dict[str, etcd_restore.Restore] = field(default_factory=dict)
    starting: threading.Lock = field(default_factory=threading.Lock)

    def of(self, machine: str) -> etcd_restore.Restore:
        """Return the restore of a machine."""
        if machine not in self.restores:
            place = self.control[machine]
            records = Records(folder=place.folder / "restore")
            disk = place.path("/var/lib/longhaul/ssd")
            disk.mkdir(parents=True, exist_ok=True)
            programs = Programs(etcdutl=str(self.binaries["etcdutl"]), age=str(self.binaries["age"]))
            self.restores[machine] = etcd_restore.Restore(
                node=place.node,
                etcdctl=replace(place.etcdctl, limit_s=LIMIT_S),
                data=Data(disk=disk, programs=programs, owner=getpass.getuser(), is_mounted=Path.is_dir),
                storage=lambda: stored_by(self.live),
                records=records,
                units=LoopbackUnits(place, records, self.starting),
                keys=place.folder / "keys",
                keygen=str(self.binaries["age-keygen"]),
            )
        return self.restores[machine]

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        self._through()
        self.commands.append((machine, script))
        words = shlex.split(script)[1:]
        if words[0] == "ready":
            return CommandOutput(stdout=json.dumps({"ready": True}), stderr="")
        if words == ["encryption"]:
            place = self.control[machine]
            told = encryption_keys.count_objects(client_url(place.node.address), place.etcdctl)
            return CommandOutput(stdout=json.dumps(asdict(told)), stderr="")
        answer = answered(self.of(machine), words[1:])
        return CommandOutput(stdout=json.dumps(answer), stderr="")

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self._through()
        self.control.vault.secrets[name] = value

    def _through(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise AzureError("the operator is gone")

    def machines(self, _place: Any) -> list[MachineView]:
        names = [one.name for one in control_machines(self.environment, plan(self.environment))]
        return [MachineView(name=n, provisioning="Succeeded", power="running") for n in names if n not in self.gone]

    def restore(self, wanted: RestoreArguments | None = None) -> Restoration:
        """Do as `longhaul restore --yes` does."""
        control, place = control_access(self.environment)
        book = RestoreRecords(control=control, place=place, environment=self.environment)
        fleet = PlaceMachines(control=control, place=place)
        found = prepare(self.environment, book, fleet, wanted or RestoreArguments())
        keys = identities(self.key)
        restoration = Restoration(
            half=found.half,
            sealed={
                role: with_file_key(self.environment, b, keys, key_file=self.key) for role, b in found.backups.items()
            },
            observed=found.observed,
            fleet=fleet,
            book=book,
            before=found.before,
            say=self.said.append,
        )
        restoration.run()
        return restoration

    def back_up(self, machine: str) -> Any:
        """Have a member make a backup now."""
        place = self.control[machine]
        shutil.rmtree(place.folder / "scratch", ignore_errors=True)
        made = backup_of(place, self.live, recipient(self.key, self.binaries), self.binaries)
        return made.run(now=datetime.now(tz=UTC), at_once=True).newest

    def put(self, machine: str, key: str) -> int:
        """Write a key, and return its revision."""
        place = self.control[machine]
        answer = place.etcdctl.run(client_url(place.node.address), "put", key, "value")
        return int(answer["header"]["revision"])

    def keys(self, machine: str) -> int:
        """Return the number of keys that begin with ``key``."""
        place = self.control[machine]
        answer = place.etcdctl.run(client_url(place.node.address), "get", "key", "--prefix", "--keys-only")
        return int(answer.get("count", 0))

    def revision(self, machine: str) -> int:
        return self.control[machine].etcdctl.status(client_url(self.control[machine].node.address)).revision

    def lose(self, *machines: str) -> None:
        """Lose the data of members, which have no process any more either."""
        for name in machines:
            if "etcd" in self.control[name].processes:
                self.control[name].stop("etcd")
            self.control[name].wipe()


def answered(restore: etcd_restore.Restore, words: list[str]) -> dict[str, Any]:
    try:
        return etcd_restore.run(restore, words)
    except (etcd_restore.RestoreError, OSError) as error:
        return {"error": str(error)}


def found_together(control: Control, *names: str) -> None:
    """Bootstrap an etcd cluster of these members at once."""
    control.vault.secrets["etcd-state"] = first_value(SecretKind.ETCD_STATE, holders=names)
    for name in names:
        control[name].prepare()
    for name in names:
        control[name].start_etcd()
    eventually(lambda: all(ready(control[name]) for name in names), what=f"{names} are ready")


def recipient(key: Path, binaries: dict[str, Path]) -> str:
    done = subprocess.run([binaries["age-keygen"], "-y", key], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def world(control: Control, live: Live, folder: Path, binaries: dict[str, Path], patch: pytest.MonkeyPatch) -> World:
    """Return a world whose storage, vault and machines the command reaches by the cloud's own functions."""
    key = folder / "key.txt"
    subprocess.run([binaries["age-keygen"], "-o", key], check=True, capture_output=True)
    backups = Backups(recipients=(recipient(key, binaries),))
    found = World(
        control=control,
        live=live,
        folder=folder,
        binaries=binaries,
        environment=control.environment.model_copy(update={"backups": backups}),
        key=key,
        patch=patch,
    )
    for module in ("longhaul.etcd_backups.listing", "longhaul.restore.file_key"):
        patch.setattr(f"{module}.account_name", lambda _environment: ACCOUNT)
    patch.setattr(AzureControlAccess, "run_command", staticmethod(found.run_command))
    patch.setattr(AzureControlAccess, "machines", staticmethod(found.machines))
    patch.setattr(
        AzureControlAccess, "secret", staticmethod(lambda _place, _vault, name: control.vault.secrets.get(name))
    )
    patch.setattr(AzureControlAccess, "set_secret", staticmethod(found.set_secret))
    return found


Stored = Callable[[], Storage]
ROLES = (Role.ETCD, Role.EVENTS)
