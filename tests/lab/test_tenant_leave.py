"""A tenant of another environment's lab: what is said about it, and its removal with the lab or alone."""

from __future__ import annotations

import json
import os
import sys
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from lab import control
from lab.__main__ import main
from lab.hypervisor.machines import MachineParts
from lab.hypervisor.networks import Networks
from lab.hypervisor.settings import HypervisorSettings
from lab.state import LabError, LabState, init_record, running_init
from lab.teardown import down
from lab.tenant_leave import leave
from lab.tenants import part_of
from lab.up import interrupted
from tests.lab.test_tenants import CONFIG, TENANT, _host, _tenant  # noqa: F401 - fixtures
from tests.support.programs import write_program

REPORT: dict[str, Any] = {
    "pid": 2,
    "machines": [
        {"name": "lab-etcd-0", "network": "/lab/weu", "address": "10.64.0.4", "phase": "starting", "reason": ""},
        {"name": "twin-etcd-0", "network": "/twin/weu", "address": "10.80.0.4", "phase": "running", "reason": ""},
        {"name": "gone", "network": "", "address": "", "phase": "running", "reason": ""},
    ],
    "networks": [
        {"id": "/lab/weu", "name": "lab-weu", "ranges": ["10.64.0.0/16"]},
        {"id": "/twin/weu", "name": "twin-weu", "ranges": ["10.80.0.0/16"]},
    ],
    "load_balancers": {"/lab/api": {"10.64.0.5": True}, "/twin/api": {"10.80.0.5": True}, "/other": {}},
    "gateways": [
        {"name": "lab-vpn", "network": "/lab/weu", "trouble": "", "tunnels": []},
        {"name": "twin-vpn", "network": "/twin/weu", "trouble": "", "tunnels": []},
    ],
    "cuts": ["lab-vpn", "lab-vpn/use1", "twin-vpn/use1"],
}


@pytest.mark.parametrize(
    ("env", "lab", "lab_down"),
    [("lab", "`make lab`", "`make lab-down`"), ("twin", "`make lab ENV=twin`", "`make lab-down ENV=twin`")],
)
def test_what_was_interrupted_says_which_command_goes_on(env: str, lab: str, lab_down: str, tmp_path: Path) -> None:
    said = interrupted(LabState(root=tmp_path, env=env))
    assert said == f"interrupted; {lab} continues, {lab_down} removes it"


def _longhaul(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Replace ``longhaul`` by a script during the test."""
    write_program(folder / "longhaul", f"#!/bin/sh\n{script}\n")
    monkeypatch.setattr(sys, "executable", str(folder / "python"))


def _enterable(tenant: LabState) -> None:
    """Create the file that the daemon writes once the tenant's operator has a place."""
    tenant.enter.touch()


def test_a_destruction_tells_of_its_progress(
    tenant: LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _enterable(tenant)
    said = "longhaul: [   1 s] destruction: begins"
    _longhaul(tmp_path, monkeypatch, f'echo "{said}" >&2; echo "$@" >"$0.words"')
    monkeypatch.setattr(control, "request", lambda *_: {})
    leave(tenant)
    told = capsys.readouterr().out.splitlines()
    log = tenant.logs / "twin-longhaul-destroy.log"
    assert told[0].endswith(f"destroying environment twin, which is in the same lab as lab (log: {log})")
    assert told[1] == f"  {said}"
    assert told[2].endswith("] longhaul destroy")
    assert log.read_text() == f"{said}\n"
    words = (tmp_path / "longhaul.words").read_text()
    assert words == f"destroy --project {tenant.root.parent} --env twin --yes\n"
    assert not tenant.config_file.exists()


def test_where_it_cannot_be_destroyed_it_stays_and_the_ways_out_are_said(
    tenant: LabState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _enterable(tenant)
    _longhaul(tmp_path, monkeypatch, "echo 'longhaul: it may not be destroyed' >&2; exit 3")
    monkeypatch.setattr(control, "request", lambda *_: pytest.fail("it has not left"))
    with pytest.raises(LabError) as refused:
        leave(tenant)
    said = str(refused.value)
    assert "longhaul destroy ended with 3" in said
    assert "it may not be destroyed" not in said, "it was shown before"
    assert capsys.readouterr().out.count("it may not be destroyed") == 1
    for command in ("`make lab-down ENV=twin`", "`make lab ENV=twin`", "`make lab-down`"):
        assert command in said
    assert running_init(tenant) is not None


def test_who_goes_down_with_the_lab_is_told_before_it_and_nothing_is_called_left(
    host: LabState, tenant: LabState
) -> None:
    record = init_record(host)
    assert record is not None
    for state in (host, tenant):
        # A process 1 that has ended already.
        state.init_file.write_text(json.dumps({**vars(record), "started": record.started + 1}))
    said: list[str] = []
    down(host, logs=True, say=said.append)
    assert said == ["environment twin, which was in it, is gone", "environment lab is gone"]
    assert not host.root.exists()


def test_what_goes_on_is_named_with_the_command_that_ends_it(host: LabState) -> None:
    other = LabState(root=host.root, env="other")
    other.create()
    said: list[str] = []
    down(other, say=said.append)
    assert said == [
        "environment other is gone",
        "environment lab is still there; to remove it: make lab-down",
    ]


def test_a_part_of_the_lab_is_what_is_in_its_ranges() -> None:
    found = part_of(REPORT, IPv4Network(TENANT.supernet))
    assert [one["name"] for one in found["machines"]] == ["twin-etcd-0"]
    assert [one["name"] for one in found["networks"]] == ["twin-weu"]
    assert found["load_balancers"] == {"/twin/api": {"10.80.0.5": True}}
    assert [one["name"] for one in found["gateways"]] == ["twin-vpn"]
    assert found["cuts"] == ["twin-vpn/use1"]


def _status(env: str, host: LabState, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = main(["status", "--env", env, "--state-root", str(host.root)])
    return code, capsys.readouterr().out.splitlines()


def test_the_status_is_of_the_environment_s_part_and_says_so(
    host: LabState, tenant: LabState, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(control, "request", lambda *_: dict(REPORT))
    code, told = _status("twin", host, capsys)
    port = f"process {os.getpid()}, port 127.0.0.1:{TENANT.port}"
    assert told[0] == f"environment twin, its part of the lab of environment lab: {port}"
    assert "lab-etcd-0" not in "".join(told)
    assert code == 0, "what is not healthy is the other's"
    code, told = _status("lab", host, capsys)
    assert told[0].startswith("the lab of environment lab, with twin in it: process ")
    assert {"lab-etcd-0", "twin-etcd-0"} <= {line.split()[0] for line in told}
    assert code == 1


def test_a_machine_s_console_log_carries_its_environment_s_name(host: LabState) -> None:
    networks = Networks(CONFIG.plan())
    settings = HypervisorSettings(state=host, plan=CONFIG.plan(), rootfs=Path("/"), images={}, ca=bytes)
    networks.tenants["twin"] = TENANT.plan("twin")
    for name, address, env in (("i-1", "10.80.0.4/24", "twin"), ("i-2", "10.64.0.4/24", "lab")):
        parts = MachineParts(name=name, settings=settings, networks=networks)
        parts.directory.mkdir(parents=True)
        (parts.directory / "machine.json").write_text(json.dumps({"address": address}))
        assert parts.console_log().name == f"{env}-{name}-console.log"
