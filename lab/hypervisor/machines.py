"""Parts of one machine: disk, network, process, cgroup. :mod:`lab.hypervisor.machine_keeper` decides when to make the
parts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any, Literal

from contract.paths import SSD
from lab.cgroups import ControlGroup
from lab.desired import CommandResult, DesiredMachine, Network
from lab.hypervisor import nspawn, seed
from lab.hypervisor.container import Container
from lab.hypervisor.disks import LocalDisk
from lab.hypervisor.namespaces import RUN
from lab.hypervisor.network_disks import folder_of
from lab.hypervisor.networks import Networks, machine_namespace
from lab.hypervisor.settings import HypervisorSettings
from lab.state import LabState, read_json, write_atomically

CONTAINERD_MOUNT = "/var/lib/containerd"
"""Mount point for containers' layers. The layers need a file system that overlayfs accepts as its upper layer; a
machine's root is an overlay, so it cannot serve."""
_SHUTDOWN_S = 20.0
"""Seconds that an orderly power-off may take before the power is cut."""


@dataclass(frozen=True)
class BootReport:
    """Result of a boot, as cloud-init reports it."""

    phase: Literal["starting", "running", "failed"]
    reason: str = ""
    reported: bool = True
    """True when the guest has reported to the cloud."""


def place(machine: DesiredMachine) -> dict[str, str]:
    """Return a machine's network and addresses, which cannot change while it runs."""
    public = "" if machine.public is None else str(machine.public)
    return {"network": machine.network, "address": str(machine.address), "public": public}


def local_disk(state: LabState, name: str) -> LocalDisk:
    """Return the local disk of the machine ``name``; the disk need not exist."""
    return LocalDisk(image=state.machines / name / "ssd.img", mount=RUN / "machines" / name / "ssd")


@dataclass
class MachineParts:
    """Parts of the machine ``name``."""

    name: str
    settings: HypervisorSettings
    networks: Networks
    _delivered: tuple[IPv4Network, ...] | None = None
    """Ranges that the network delivers to the machine; None while unknown."""

    @property
    def directory(self) -> Path:
        return self.settings.state.machines / self.name

    @cached_property
    def _container(self) -> Container:
        group = ControlGroup.of(self.settings.state, self.name)
        return Container(name=self.name, group=group, run=RUN / "machines" / self.name)

    @cached_property
    def _ssd(self) -> LocalDisk:
        return local_disk(self.settings.state, self.name)

    @property
    def _record(self) -> Path:
        return self.directory / "machine.json"

    @property
    def _power(self) -> Path:
        return self.directory / "power-off"

    @property
    def exit_file(self) -> Path:
        return self._container.exit_file

    def record(self) -> dict[str, str]:
        """Return the recorded generation, id, network and address of the existing machine; empty when there is none."""
        return read_json(self._record) or {}

    def console_log(self) -> Path:
        """Return the console log, which belongs to the machine's environment: the lab's own, or a tenant."""
        tenant = self.networks.plan_at(IPv4Interface(self.record()["address"]).ip).tenant
        state = self.settings.state
        return (replace(state, env=tenant) if tenant else state).console_log(self.name)

    def powered_off(self) -> bool:
        """Return whether the machine was switched off at its power switch."""
        return self._power.exists()

    def set_power(self, on: bool) -> None:
        if on:
            self._power.unlink(missing_ok=True)
        elif self.directory.exists():
            self._power.touch()

    def process(self) -> nspawn.ContainerProcess | None:
        """Return the machine's process, if it runs."""
        return self._container.process()

    def exit_code(self) -> int | None:
        """Return the exit code of the last run; None while the machine runs, or when the code is not known."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int(self.exit_file.read_text())
        return None

    def make_disk(self, machine: DesiredMachine) -> None:
        """Make a fresh disk and identity for a new generation."""
        upper = self.directory / "upper"
        for folder in (upper, self.directory / "work", self.directory / "containerd"):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        image, library = self.settings.image(machine.image), self.settings.gpu_library
        seed.write(machine=machine, upper=upper, image=image, ca=self.settings.ca(), gpu_library=library)
        self._write_record(machine)

    def _write_record(self, machine: DesiredMachine) -> None:
        record = {
            "id": machine.id,
            "generation": machine.generation,
            **place(machine),
        }
        write_atomically(self._record, json.dumps(record) + "\n")

    def deallocate(self) -> None:
        """Empty the local disk, which a machine loses when it leaves its physical host."""
        self._ssd.wipe()

    async def start(self, machine: DesiredMachine, network: Network) -> nspawn.ContainerProcess:
        """Boot the machine; return its process once it runs."""
        container = self._container
        await container.mount(self.settings.image(machine.image), disk=self.directory)
        await self.networks.attach(machine, network)
        self._delivered = machine.routed
        self._write_record(machine)
        binds = [(self.directory / "containerd", CONTAINERD_MOUNT)]
        if machine.network_disk:
            binds.append((folder_of(self.settings.state, machine.network_disk), SSD))
        elif machine.local_ssd_gib > 0:
            binds.append((await self._ssd.attach(machine.local_ssd_gib), SSD))
        netns = machine_namespace(self.name).path
        argv = nspawn.launch_argv(name=self.name, root=container.root, netns=netns, binds=binds)
        return await container.launch(argv, log=self.console_log())

    async def deliver(self, machine: DesiredMachine) -> None:
        """Make the network deliver the specified ranges to a running machine."""
        if self._delivered != machine.routed:
            await self.networks.deliver(machine)
            self._delivered = machine.routed

    async def stop(self, *, orderly: bool) -> None:
        """End the machine, and remove everything but its disk. With ``orderly`` unset, a running machine loses power:
        its local disk keeps only synced data."""
        process = self.process()
        if process is not None and orderly:
            process.shut_down()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SHUTDOWN_S):
                    await process.ended()
        elif process is not None:
            await asyncio.to_thread(self._ssd.cut_power)
        await self._container.end()
        self._delivered = None
        await self.networks.detach(self.name, self.record().get("network", ""))
        await self._ssd.detach()
        await self._container.unmount()

    async def destroy(self) -> None:
        """End the machine, and remove it with its disk."""
        await self.stop(orderly=False)
        for directory in (self.directory, self._container.run):
            if directory.exists():
                await asyncio.to_thread(shutil.rmtree, directory)

    def boot_report(self, process: nspawn.ContainerProcess) -> BootReport:
        """Return the result of this boot from cloud-init's files. Each boot replaces the files.

        The guest reports to the cloud at the end of cloud-init's first stage, before user data is processed, like
        Azure's data source (cloud-init 22.4.2, ``sources/DataSourceAzure.py``, ``crawl_metadata``).
        """
        leader = process.leader()
        result = None if leader is None else _cloud_init_file(leader, "result.json")
        if result is None or "errors" not in result:
            status = None if leader is None else _cloud_init_file(leader, "status.json")
            first = (status or {}).get("init-local") or {}
            return BootReport("starting", reported=bool(first.get("finished")))
        errors = [str(error) for error in result["errors"]]
        if errors:
            return BootReport("failed", f"cloud-init: {'; '.join(errors)}; see {self.console_log()}")
        return BootReport("running")

    async def run(self, script: str, *, timeout_s: float) -> CommandResult:
        """Run a shell script as root in the machine; end its processes when the time is over."""
        process = self.process()
        leader = None if process is None else process.leader()
        if leader is None:
            raise RuntimeError(f"machine {self.name} is not running")
        group = ControlGroup(f"{self._container.group.path}/run-{secrets.token_hex(4)}")
        group.create()
        argv = group.entering(nspawn.inside(leader, ["/bin/sh", "-c", 'eval "$(cat)"']))
        try:
            return await _captured(argv, script, group, timeout_s)
        finally:
            with contextlib.suppress(Exception):  # a script may leave a service behind, as with the cloud's agent
                group.remove(timeout_s=0)


def _cloud_init_file(leader: int, name: str) -> dict[str, Any] | None:
    """Read a file of cloud-init about this boot; None when it is missing or half written. Until the link in /run
    exists, the file on disk may be an earlier boot's."""
    if not os.path.lexists(f"/proc/{leader}/root/run/cloud-init/{name}"):
        return None
    content = nspawn.read_inside(leader, f"/var/lib/cloud/data/{name}")
    try:
        document = json.loads(content or b"")["v1"]
    except (ValueError, KeyError, TypeError):
        return None
    return document if isinstance(document, dict) else None


async def _captured(argv: list[str], script: str, group: ControlGroup, timeout_s: float) -> CommandResult:
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)
    talk = asyncio.ensure_future(child.communicate(script.encode()))
    late = False
    try:
        await asyncio.wait({talk}, timeout=timeout_s)
        late = not talk.done()
    finally:
        while not talk.done():
            group.kill()
            await asyncio.wait({talk}, timeout=0.05)
    out, err = talk.result()
    note = f"\nended after {timeout_s:g} s" if late else ""
    code = 124 if late else child.returncode if child.returncode is not None else 255
    return CommandResult(
        exit_code=code, stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace") + note
    )
