"""Keeper of one machine: it compares the desired state with the actual state, and acts one step at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal

from lab.desired import DesiredMachine, MachineState, Network
from lab.hypervisor import nspawn
from lab.hypervisor.machines import MachineParts, place

Power = Literal["off", "on", "cut", "reset"]

_LOG = logging.getLogger(__name__)
_LOOK_S = 0.1
"""Seconds between looks at a booting machine."""
_RETRY_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds to wait after successive failures or crashes."""


class MachineKeeper:
    """Follows one machine's specification until it is removed."""

    def __init__(self, parts: MachineParts, *, network_of: Callable[[str], Network | None]) -> None:
        self._parts = parts
        self._network_of = network_of
        self._spec: DesiredMachine | None = None
        self._acting: DesiredMachine | None = None
        """Specification at the start of the current step."""
        self._state = MachineState(phase="starting")
        self._changed = asyncio.Event()
        self._news = asyncio.Event()
        """Set, and replaced by a new event, whenever the state or the specification changes."""
        self._failures = 0
        self._boot_deadline = 0.0
        self._cut: Power | None = None
        self._seen_alive = False
        self._task: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return self._parts.name

    @property
    def parts(self) -> MachineParts:
        return self._parts

    @property
    def state(self) -> MachineState:
        return self._state

    @property
    def spec(self) -> DesiredMachine | None:
        return self._spec

    def report(self) -> dict[str, Any]:
        """Return the machine for ``lab status``; a machine that is being removed has no specification."""
        spec, state = self._spec, self._state
        return {
            "name": self.name,
            "id": spec.id if spec else "",
            "network": spec.network if spec else "",
            "address": str(spec.address.ip) if spec else "",
            "public": str(spec.public) if spec and spec.public else "",
            "phase": state.phase,
            "reported": state.reported,
            "generation": state.generation,
            "reason": state.reason,
        }

    def follow(self, spec: DesiredMachine | None) -> None:
        """Take a new specification; None removes the machine. The state of another generation becomes invalid."""
        if spec == self._spec and self._task is not None:
            return
        self._state = self._foreseen(spec)
        self._failures = 0
        self._spec = spec
        self._changed.set()
        self._announce()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep(), name=f"keeper of {self.name}")

    def _foreseen(self, spec: DesiredMachine | None) -> MachineState:
        """Return the assumed state until the next step has observed the machine. A machine that must end counts as
        running until it has ended."""
        old, before = self._state, self._spec
        if spec is None:
            return MachineState(phase="running", generation=old.generation, reason="being removed")
        same = before is not None and (before.generation, before.running) == (spec.generation, spec.running)
        if same:
            return old
        if not spec.running and old.phase != "stopped":
            return MachineState(phase="running", generation=spec.generation, reason="being stopped")
        return MachineState(phase="starting" if spec.running else "stopped", generation=spec.generation)

    async def power(self, action: Power) -> None:
        """Press the lab's power switch: ``off`` is orderly and ``cut`` is not; both last until ``on``."""
        self._parts.set_power(action in ("on", "reset"))
        self._cut = action if action in ("cut", "reset") else None
        self._failures = 0
        if action in ("on", "reset"):
            self._parts.exit_file.unlink(missing_ok=True)
        self._changed.set()

    async def settled(self, timeout_s: float) -> MachineState:
        """Wait until the machine has its desired state, or has failed, and return its state. Raise TimeoutError when
        that takes too long."""
        return await self._awaited(self._is_settled, timeout_s)

    async def reported(self, timeout_s: float) -> MachineState:
        """Wait until the guest has reported, or the machine is settled, and return its state. Raise TimeoutError when
        that takes too long."""
        return await self._awaited(lambda: self._state.reported or self._is_settled(), timeout_s)

    async def _awaited(self, condition: Callable[[], bool], timeout_s: float) -> MachineState:
        async with asyncio.timeout(timeout_s):
            while not condition():
                await self._news.wait()
        return self._state

    def _is_settled(self) -> bool:
        if self._spec is None:
            return self._state.phase == "absent"
        return self._state.phase in ("running" if self._spec.running else "stopped", "failed")

    async def close(self) -> None:
        """Stop keeping the machine, and leave it as it is."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def gone(self) -> bool:
        """Wait for the removal that :meth:`follow` ordered; return False when the machine is wanted again meanwhile."""
        while self._spec is None and self._state.phase != "absent":
            await self._news.wait()
        return self._spec is None

    def _announce(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _keep(self) -> None:
        gone = False
        while not gone:
            self._changed.clear()
            try:
                pause = await self._step()
            except Exception as error:  # noqa: BLE001 - said as the machine's state, and tried again
                _LOG.exception("machine %s", self.name)
                self._tell("failed", str(error))
                self._boot_deadline = 0.0
                pause = self._back_off()
            gone = self._state.phase == "absent"
            if not gone:
                await self._wait(pause)

    def _back_off(self) -> float:
        self._failures += 1
        return _RETRY_S[min(self._failures, len(_RETRY_S)) - 1]

    async def _wait(self, pause: float | None) -> None:
        """Wait until the specification changes, the machine ends, or ``pause`` seconds are over."""
        process = self._parts.process()
        waits: set[asyncio.Future[Any]] = {asyncio.ensure_future(self._changed.wait())}
        if process is not None:
            waits.add(asyncio.ensure_future(process.ended()))
        try:
            await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _step(self) -> float | None:
        spec = self._acting = self._spec
        if spec is None:
            await self._parts.destroy()
            self._tell("absent")
            return 0.0
        made = self._parts.record().get("generation")
        if made != spec.generation:
            if made is not None:
                _LOG.info("machine %s: new generation %s replaces %s", self.name, spec.generation, made)
            await self._parts.destroy()
            await asyncio.to_thread(self._parts.make_disk, spec)
        process = self._parts.process()
        if process is not None:
            return await self._attend(spec, process)
        return await self._power_on(spec)

    async def _attend(self, spec: DesiredMachine, process: nspawn.ContainerProcess) -> float | None:
        """Act on a machine that runs."""
        self._seen_alive = True
        record = self._parts.record()
        moved = any(record.get(key) != value for key, value in place(spec).items())
        if self._cut or moved or not spec.running or self._parts.powered_off():
            hard, self._cut = self._cut is not None, None
            await self._parts.stop(orderly=not hard)
            await self._exit_code()
            self._parts.exit_file.unlink(missing_ok=True)
            return 0.0
        await self._parts.deliver(spec)
        if self._state.phase in ("running", "failed") and self._boot_deadline:
            return None
        return await self._watch_boot(process)

    async def _watch_boot(self, process: nspawn.ContainerProcess) -> float | None:
        now = asyncio.get_running_loop().time()
        if not self._boot_deadline:  # adopted, or just started
            self._boot_deadline = now + self._parts.settings.boot_timeout_s
        report = self._parts.boot_report(process)
        if report.phase == "starting" and now > self._boot_deadline:
            limit = self._parts.settings.boot_timeout_s
            reason = f"cloud-init has not finished within {limit:g} s; see its console log"
            self._tell("failed", reason, reported=report.reported)
        elif report.phase == "starting":
            self._tell("starting", reported=report.reported)
            return _LOOK_S
        else:
            self._failures = 0
            self._tell(report.phase, report.reason, reported=True)
        return None

    async def _power_on(self, spec: DesiredMachine) -> float | None:
        """Start a machine that does not run, or set the reason why it stays off."""
        self._cut = None
        code = await self._exit_code()
        await self._parts.stop(orderly=False)  # remains of a crash: mount, link, group
        if spec.deallocated:
            self._parts.deallocate()
        if not spec.running or self._parts.powered_off() or code == 0:
            reason = "" if not spec.running else "switched off" if self._parts.powered_off() else "powered itself off"
            self._tell("stopped", reason)
            return None
        if code is not None and code != nspawn.REBOOT:
            self._parts.exit_file.unlink()
            _LOG.warning("machine %s ended with code %s: starting it again", self.name, code)
            self._tell("starting", f"ended with code {code}")
            return self._back_off()
        network = self._network_of(spec.network)
        if network is None:
            raise RuntimeError(f"machine {self.name}: its network {spec.network} is not there or has no rules yet")
        self._tell("starting")
        self._boot_deadline = 0.0
        await self._parts.start(spec, network)
        _LOG.info("machine %s started (generation %s)", self.name, spec.generation)
        return 0.0

    async def _exit_code(self) -> int | None:
        """Return the last exit code. When the machine has only just ended, wait up to 10 s for the code: without the
        code, a machine that powered itself off would be started again."""
        patience = 500 if self._seen_alive else 0
        self._seen_alive = False
        while (code := self._parts.exit_code()) is None and patience > 0:
            patience -= 1
            await asyncio.sleep(0.02)
        return code

    def _tell(
        self,
        phase: Literal["absent", "starting", "running", "stopped", "failed"],
        reason: str = "",
        *,
        reported: bool = False,
    ) -> None:
        """Set the state that a step observed. If the specification has changed meanwhile, leave that to the next
        step."""
        if self._acting is not self._spec:
            return
        generation = self._spec.generation if self._spec is not None else self._state.generation
        self._state = MachineState(phase=phase, generation=generation, reason=reason, reported=reported)
        self._announce()
