"""A real etcd cluster whose authorities `longhaul rotate` replaces: it goes on, and what the former ones signed is
worth nothing then."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from credentials import inventory as credentials
from etcd.client import EtcdError
from machine.config import client_url

from clouds.base.control import CommandOutput
from components.control_plane import issuing
from components.model.control_plane.machines import Role
from components.model.secrets.rotations import STEADY
from components.model.secrets.vault import ROTATIONS
from components.model.sites.places import place_of
from contract.paths import PKI
from contract.units import ETCD, KUBE_APISERVER
from longhaul.rotate.authorities import AuthorityRotation
from longhaul.rotate.overlap import Overlap, RotationStore
from longhaul.rotate.published import PUBLISHED
from tests.images.etcd.test_client_authorities import FIRST, MEMBERS, SECOND, SERVER, THIRD, _binaries, _control, opens
from tests.images.etcd.test_membership import await_voters, found, join, ready
from tests.images.machines import Control, Place, eventually

__all__ = ["_binaries", "_control"]

pytestmark = pytest.mark.loopback

RUN = {KUBE_APISERVER: "/run/longhaul-api", ETCD: "/run/longhaul"}


class NothingPublished:
    """Stand-in for an API that publishes no authority."""

    def find(self, path: str) -> None:
        assert path == PUBLISHED

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"{path} is not changed")


class Cloud:
    """The cloud's commands on the machines, of which the members run etcd and the others nothing."""

    def __init__(self, control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
        self.control, self.patch = control, monkeypatch
        self.restarted: list[str] = []

    def secret(self, _place: Any, _vault: str, name: str) -> str | None:
        return self.control.vault.secrets.get(name)

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.control.vault.secrets[name] = value

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        assert timeout_s > 0
        place = self.control[machine]
        pki = place.path(PKI)
        self.patch.setattr(credentials, "COPIES", {unit: place.path(path) for unit, path in RUN.items()})
        self.patch.setattr(credentials, "COPIED", {**credentials.COPIED, KUBE_APISERVER: (credentials.MEMBERS,)})
        self.patch.setattr(credentials, "_unused", self._unused)
        self.patch.setattr(credentials.subprocess, "run", self._systemctl(place))
        if "refresh" in script:
            place.fetch()
        if "--take-over" in script:
            etcdctl = place.etcdctl if place.machine.role.is_etcd else None
            told = credentials.take_over(place.node, frontend="", pki=pki, etcdctl=etcdctl)
        else:
            told = credentials.machine_credentials(place.node, pki=pki)
        return CommandOutput(stdout=json.dumps(dataclasses.asdict(told)), stderr="")

    def _unused(self, node: Any, pki: Path) -> tuple[str, ...]:
        """Look as the program does, at a machine without a controller-manager and at members that are not here."""
        unit = KUBE_APISERVER if node.role == Role.API else ETCD
        if node.role == Role.EVENTS:
            return ()
        names = credentials.COPIED[unit]
        return (unit,) if any(_text(credentials.COPIES[unit] / name) != _text(pki / name) for name in names) else ()

    def _systemctl(self, place: Place) -> Any:
        run = subprocess.run

        def systemctl(words: Sequence[str], **more: Any) -> Any:
            if words[0] != "systemctl":
                return run(words, **more)
            assert words[1] == "restart"
            self.restarted.append(place.machine.name)
            if words[2] == ETCD:
                place.stop("etcd")
                place.prepare()
                self.patch.setattr(credentials.subprocess, "run", run)
                place.start_etcd()
            else:
                self.patch.setattr(credentials.subprocess, "run", run)
                place.copy(words[2])
            return subprocess.CompletedProcess(words, 0, stdout="", stderr="")

        return systemctl


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


@contextmanager
def writes(control: Control) -> Iterator[list[str]]:
    """Write as an API server does, which knows members by the authorities that it started with; yield what failed."""
    server = control[SERVER]
    etcdctl = dataclasses.replace(server.etcdctl, authority=server.path(f"{RUN[KUBE_APISERVER]}/etcd-ca.crt"))
    over, failed = threading.Event(), list[str]()

    def work() -> None:
        number = 0
        while not over.is_set():
            number += 1
            said = []
            for name in MEMBERS:
                try:
                    etcdctl.run(client_url(control[name].node.address), "put", "/written", str(number))
                    break
                except EtcdError as error:
                    said.append(str(error))
            else:
                failed.append("; ".join(said))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield failed
    finally:
        over.set()
        worker.join()
        assert etcdctl.run(client_url(control[FIRST].node.address), "get", "/written")["count"] == 1


@pytest.mark.parametrize("name", ["etcd", "etcd-client"])
def test_the_cluster_goes_on_while_its_authority_is_replaced(
    control: Control, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    for place in control.places.values():
        place.write()
    found(control)
    join(control, SECOND)
    join(control, THIRD)
    control[SERVER].copy(KUBE_APISERVER)
    cloud: Any = Cloud(control, monkeypatch)
    # The machines are on loopback here.
    monkeypatch.setattr("longhaul.rotate.authorities.plan", lambda _environment: control.addresses)
    place = place_of(control.environment, control.environment.control_plane.site)
    record = RotationStore(control=cloud, place=place, environment=control.environment)
    shown = (SERVER, "etcd-client") if name == "etcd-client" else (FIRST, "client")
    former = tmp_path / "former.pem"
    former.write_text(control[shown[0]].path(f"{PKI}/{shown[1]}.pem").read_text(encoding="utf-8"), encoding="utf-8")
    assert opens(control[SECOND], former)
    told: list[str] = []
    with writes(control) as failed:
        subject = AuthorityRotation.of(record, name, api=NothingPublished(), tell=told.append)
        assert Overlap(record=record, subject=subject, tell=told.append).run() == STEADY
    assert failed == []
    assert [cloud.restarted.count(one) for one in MEMBERS] == [2, 2, 2]
    assert cloud.restarted.count(SERVER) == (2 if name == "etcd" else 0)
    await_voters(control, *MEMBERS)
    assert all(ready(control[one]) for one in MEMBERS)
    now = control[shown[0]].path(f"{PKI}/{shown[1]}.pem")
    assert [opens(control[one], former) for one in MEMBERS] == [False] * 3
    assert all(opens(control[one], now) for one in MEMBERS)
    assert len(issuing.certificates_in(control.vault.secrets[f"trust-{name}"])) == 1
    assert control.vault.secrets[ROTATIONS] == "{}"


def test_no_member_stops_that_the_quorum_needs(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in control.places.values():
        place.write()
    found(control)
    join(control, SECOND)
    join(control, THIRD)
    control[THIRD].stop("etcd")
    cloud = Cloud(control, monkeypatch)
    control.vault.secrets["trust-etcd"] += control.vault.secrets["trust-events"]
    answer = json.loads(cloud.run_command(None, FIRST, "refresh && credentials --take-over", timeout_s=1).stdout)
    assert answer["error"].startswith("1 healthy of 3 voting members remain without lab-etcd-0, 2 are needed")
    assert cloud.restarted == []
    control[FIRST].running("etcd")
    control[THIRD].start_etcd()
    eventually(lambda: ready(control[THIRD]), what="the third is ready")
    answer = json.loads(cloud.run_command(None, FIRST, "refresh && credentials --take-over", timeout_s=1).stdout)
    assert (answer["error"], answer["unused"], cloud.restarted) == ("", [], [FIRST])
