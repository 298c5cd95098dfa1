"""A machine with GPUs, as its kernel and the stand-in of NVIDIA's library describe it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gpu.checks import PreflightReport, Sources, look
from gpu.nvidia_driver import Driver, Module
from gpu.own_node import OwnNode
from gpu.report import Reporter

from contract.documents.node import GpuPromise
from lab import packages
from lab.nvml.library import build
from lab.nvml.machine import DRIVER, VARIABLE, StandInMachine
from tests.images.gpu.told import NAME, Machines, Server

KERNEL = "6.1.0-44-cloud-amd64"
RUNNING = Driver(kernel=KERNEL, loaded=DRIVER, installed=Module(version=DRIVER, kernel=KERNEL))

Has = Callable[[StandInMachine], None]
Preflight = Callable[..., PreflightReport]


@pytest.fixture(scope="session", name="library")
def _library(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    packages.ensure(packages.C, log_dir=root / ".lab" / "log", progress=print)
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(name="has")
def _has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Has:
    """Function that sets the machine that the stand-in describes."""
    path = tmp_path / "machine"
    monkeypatch.setenv(VARIABLE, str(path))

    def has(machine: StandInMachine) -> None:
        new = path.with_suffix(".new")
        new.write_text(machine.text())
        new.replace(path)

    return has


@pytest.fixture(name="preflight")
def _preflight(library: Path, has: Has) -> Preflight:
    """Function that returns a machine's report. Unless told otherwise, its kernel has the driver and an empty log."""

    def preflight(
        machine: StandInMachine | None = None, promise: GpuPromise | None = None, **sources: Callable[[], object]
    ) -> PreflightReport:
        has(machine or StandInMachine())
        usual = Sources(library=str(library), driver=lambda: RUNNING, kernel_log=list, toolkit=tuple)
        return look(promise or GpuPromise(gpus=2), replace(usual, **sources))  # type: ignore[arg-type]

    return preflight


@pytest.fixture(name="server")
def _server() -> Server:
    return Server()


@pytest.fixture(name="machines")
def _machines(preflight: Preflight) -> Machines:
    return Machines(preflight)


@pytest.fixture(name="reporter")
def _reporter(server: Server, machines: Machines) -> Callable[..., Reporter]:
    def reporter(promise: GpuPromise | None = None, *, boot: str = "one") -> Reporter:
        return Reporter(OwnNode(server, NAME), promise or GpuPromise(gpus=2), machines, boot=boot)

    return reporter
