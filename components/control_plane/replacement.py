"""Replacement lock of a role: one machine is out of service at a time, however many are to be replaced.

The engine makes and replaces machines in parallel where none depends on another. That is right for the first machines,
but would destroy an etcd cluster when all of its machines are to be replaced. So before the engine deletes a machine, a
hook takes the role's replacement lock: the hook waits until the machine that this run replaced before is ready again,
and makes sure that all others are ready. The lock exists for one run of the program; the state of the machines shows
what an earlier run left unfinished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class GuardRefusedError(RuntimeError):
    """Raised when a guard refuses; the message says why, and what to do instead."""


@dataclass(frozen=True, kw_only=True)
class CloudMachine:
    """State of a machine in the cloud."""

    id: str
    """Id of the machine; a replacement under the same name has another id. Empty when there is no machine."""
    being_made: bool
    """True when the cloud is still making the machine, or when there is none."""


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """Facts about a machine's leave, for the check of that machine."""

    for_good: bool
    """True when the machine has no successor."""
    doomed: tuple[str, ...] = ()
    """Other machines that are not healthy and wait for their own replacement: the present machines will not become
    healthy again."""


Check = Callable[[Leaving], None]
"""Function that raises an error when a machine must stay, and otherwise prepares its leave."""


class MachineQuestions(Protocol):
    """Questions about the machines of a role. Each may take minutes."""

    def look(self, machine: str) -> CloudMachine:
        """Return the state of a machine in the cloud."""
        ...

    def why_not_ready(self, machine: str, *, wait_s: float) -> str:
        """Wait until a machine does its work. Return an empty text when it does, and the reason when it does not within
        ``wait_s`` seconds."""


@dataclass(frozen=True, kw_only=True)
class WaitingTimes:
    """Waiting times, seconds."""

    replaced: float
    """Time for a machine that this run makes."""
    other: float
    """Time for a machine that should be healthy already."""
    look: float
    """Pause between looks at a machine that is not there yet."""


@dataclass(frozen=True, kw_only=True)
class _Out:
    machine: str
    id: str
    for_good: bool


class ReplacementLock:
    """Replacement lock of one role's machines."""

    def __init__(self, machines: MachineQuestions, *, today: Sequence[str], patience: WaitingTimes) -> None:
        """``today``: the machines that the environment is to have; any other is deleted for good."""
        self._machines = machines
        self._today = tuple(today)
        self._patience = patience
        self._lock = asyncio.Lock()
        self._waiting: list[str] = []
        self._out: _Out | None = None
        self._lost = ""
        """Reason why the lock cannot be taken any more in this run; empty while it can."""

    async def take(self, machine: str, *, check: Check) -> None:
        """Wait until ``machine`` may be deleted, and hold the lock for it. ``check`` is called last: it raises an error
        when the machine must stay, and may take minutes.

        Raise ``GuardRefusedError`` when the machine that was replaced before did not come back, or another machine of
        the role is not healthy.
        """
        self._waiting.append(machine)
        try:
            while not await self._taken(machine, check):
                pass
        finally:
            self._waiting.remove(machine)

    async def _taken(self, machine: str, check: Check) -> bool:
        """Try once to take the lock. Return False when another machine goes first; the next try queues behind it."""
        async with self._lock:
            await self._back(machine)
            ailing = await self._ailing(machine)
            # Deleting a machine that is itself out of service costs the others nothing.
            if ailing and not await self._reason(machine):
                if set(ailing) & set(self._waiting):
                    return False  # the unhealthy machine waits for its own replacement
                reasons = "; ".join(f"{other} is not healthy ({why})" for other, why in ailing.items())
                raise GuardRefusedError(
                    f"{machine} must stay: {reasons}, and one machine of a kind is out of service at a time. "
                    "Bring it back first, then run `longhaul up` again."
                )
            doomed = tuple(other for other in ailing if other in self._waiting)
            await asyncio.to_thread(check, Leaving(for_good=machine not in self._today, doomed=doomed))
            view = await asyncio.to_thread(self._machines.look, machine)
            self._out = _Out(machine=machine, id=view.id, for_good=machine not in self._today)
            return True

    async def _back(self, machine: str) -> None:
        """Wait for the replacement of the machine that this run deleted before. Raise ``GuardRefusedError`` when it
        does not become ready."""
        if self._out and not self._lost:
            out = self._out
            why = await (self._gone(out) if out.for_good else self._made(out.machine, not_id=out.id))
            if why:
                self._lost = f"{out.machine}, which this run {'deleted' if out.for_good else 'made anew'}, {why}"
            self._out = None
        if self._lost:
            raise GuardRefusedError(f"{machine} must stay: {self._lost}. Look at it, then run `longhaul up` again.")

    async def _ailing(self, machine: str) -> dict[str, str]:
        """Return the other machines that are not healthy, with the reason for each."""
        others = [other for other in self._today if other != machine]
        reasons = await asyncio.gather(*(self._reason(other) for other in others))
        return {other: why for other, why in zip(others, reasons, strict=True) if why}

    async def _reason(self, other: str) -> str:
        """Return the reason why a machine is not healthy; empty when it is healthy."""
        view = await asyncio.to_thread(self._machines.look, other)
        if not view.id and other in self._waiting:
            return "it is not there"
        if view.being_made:
            return await self._made(other, not_id="")
        return await asyncio.to_thread(self._machines.why_not_ready, other, wait_s=self._patience.other)

    async def _made(self, machine: str, *, not_id: str) -> str:
        """Wait until a machine with another id exists and is ready. Return an empty text then, or the reason why it is
        not."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience.replaced
        while True:
            view = await asyncio.to_thread(self._machines.look, machine)
            if view.id and view.id != not_id and not view.being_made:
                left = max(deadline - loop.time(), self._patience.look)
                why = await asyncio.to_thread(self._machines.why_not_ready, machine, wait_s=left)
                return f"is not ready: {why}" if why else ""
            if loop.time() > deadline:
                return f"is not there after {self._patience.replaced:.0f} s"
            await asyncio.sleep(self._patience.look)

    async def _gone(self, out: _Out) -> str:
        """Wait until a machine is deleted, because others may count on it until then. Return an empty text then, or the
        reason why it is not deleted."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience.replaced
        while (await asyncio.to_thread(self._machines.look, out.machine)).id == out.id:
            if loop.time() > deadline:
                return f"is still there after {self._patience.replaced:.0f} s"
            await asyncio.sleep(self._patience.look)
        return ""
