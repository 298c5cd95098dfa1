"""Stopped machines are started before the engine reads the clouds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clouds.azure import control
from clouds.azure.errors import AzureError
from clouds.base.control import MachineView
from components.model import load
from longhaul.up.power_on import power_on


class Cloud:
    """Machines by power state, and the names of those that were started."""

    def __init__(self, power: dict[str, str], *, refuses: tuple[str, ...] = (), silent: bool = False) -> None:
        self.power, self.refuses, self.silent = power, refuses, silent
        self.started: set[str] = set()
        self.lock = threading.Lock()

    def __call__(self, *, subscription: str, prefix: str) -> Cloud:
        return self

    def machines(self, group: str) -> list[MachineView]:
        if self.silent:
            raise AzureError("no Azure credential works")
        return [MachineView(name=name, provisioning="Succeeded", power=power) for name, power in self.power.items()]

    def start(self, group: str, machine: str) -> None:
        if machine in self.refuses:
            raise AzureError("AllocationFailed")
        with self.lock:
            self.started.add(machine)


Tell = Callable[[Cloud], str]


@pytest.fixture(name="told")
def _told(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tell:
    def told(cloud: Cloud) -> str:
        monkeypatch.setattr(control, "AzureApi", cloud)
        power_on(load(root / "examples" / "Pulumi.prod.yaml"))
        return capsys.readouterr().err

    return told


def test_what_is_switched_off_is_started(told: Tell) -> None:
    cloud = Cloud({"prod-etcd-0": "running", "prod-etcd-1": "stopped", "prod-api-0": "deallocated"})
    assert "prod-api-0, prod-etcd-1 are switched off" in told(cloud)
    assert cloud.started == {"prod-etcd-1", "prod-api-0"}


def test_what_is_on_its_way_or_not_ours_is_left(told: Tell) -> None:
    cloud = Cloud({"prod-etcd-0": "starting", "prod-etcd-1": "stopping", "somebodys": "stopped", "prod-api-0": ""})
    assert told(cloud) == ""
    assert cloud.started == set()


def test_one_that_cannot_start_keeps_no_other_from_it(told: Tell) -> None:
    cloud = Cloud({"prod-etcd-0": "stopped", "prod-etcd-1": "stopped"}, refuses=("prod-etcd-0",))
    assert "prod-etcd-0 cannot be started: AllocationFailed" in told(cloud)
    assert cloud.started == {"prod-etcd-1"}


def test_a_cloud_that_does_not_answer_stops_nothing(told: Tell) -> None:
    assert "cannot be read (no Azure credential works)" in told(Cloud({}, silent=True))
