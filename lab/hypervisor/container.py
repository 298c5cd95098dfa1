"""Container with an overlay over an image as its root, in its own cgroup. The container outlives the daemon; the next
daemon finds it by name."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.cgroups import ControlGroup
from lab.hypervisor import nspawn
from lab.hypervisor.commands import command
from lab.hypervisor.namespaces import is_mounted


@dataclass(kw_only=True)
class Container:
    """The container ``name``."""

    name: str
    group: ControlGroup
    run: Path
    """Folder of one run, with the mount point of the root and the run's files."""
    _process: nspawn.ContainerProcess | None = None

    @property
    def root(self) -> Path:
        return self.run / "root"

    @property
    def exit_file(self) -> Path:
        return self.run / "exit"

    def process(self) -> nspawn.ContainerProcess | None:
        """Return the container's process; None while it does not run. A new daemon also finds a process that a previous
        daemon started."""
        if self._process is None or not self._process.alive():
            self._process = nspawn.running().get(self.name)
        return self._process

    async def mount(self, image: Path, *, disk: Path) -> None:
        """Mount the container's root: the folders ``upper`` and ``work`` of ``disk`` over ``image``. Idempotent."""
        self.root.mkdir(parents=True, exist_ok=True)
        if not is_mounted(self.root):
            options = f"lowerdir={image},upperdir={disk / 'upper'},workdir={disk / 'work'}"
            await command(["mount", "-t", "overlay", f"lab-{self.name}", "-o", options, str(self.root)])

    async def unmount(self) -> None:
        """Unmount the container's root. Idempotent."""
        if is_mounted(self.root):
            await command(["umount", str(self.root)])

    async def launch(self, argv: Sequence[str], *, log: Path) -> nspawn.ContainerProcess:
        """Start the container; return its process once it runs."""
        self.group.create()
        self.exit_file.unlink(missing_ok=True)
        return await nspawn.launch(argv, name=self.name, group=self.group, log=log, exit_file=self.exit_file)

    async def end(self) -> None:
        """Kill everything that runs in the container, and remove its group. Everything is stopped first: the kernel
        closes the sockets of process 1 before it kills the others, and one of them could tell the world of that."""
        while (process := self.process()) is not None:
            await asyncio.to_thread(self.group.kill, signal.SIGSTOP)
            process.kill()
            await process.ended()
        await asyncio.to_thread(self._remove_group)

    def _remove_group(self) -> None:
        self.group.kill(signal.SIGKILL)
        self.group.remove()
