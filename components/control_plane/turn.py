"""One machine of a role is out of service at a time, however many are to be replaced.

The engine makes and replaces machines at once where none depends on another. That is wanted when there are none yet,
and would be the end of a store when all are to be made anew. So before it deletes one, a hook takes the role's turn: it
waits until the one that this run replaced before is back and ready, and makes sure that all others are. The turn holds
for one run of the program; what an earlier run left behind is seen by looking at the machines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class RefusedError(RuntimeError):
    """A guard refuses; says why and what to do instead."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A machine as the cloud has it."""

    id: str
    """Another one is another machine under the same name; empty when there is none."""
    being_made: bool
    """Whether the cloud is still at it, or it is not there at all."""


class Machines(Protocol):
    """Who can be asked about the machines of a role. All of it may take minutes."""

    def look(self, machine: str) -> Seen:
        """The machine as the cloud has it."""
        ...

    def why_not_ready(self, machine: str, *, wait_s: float) -> str:
        """Wait until a machine does its work; why it does not after ``wait_s`` seconds, empty when it does."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait, seconds."""

    replaced: float
    """For a machine that this run makes."""
    other: float
    """For one that should be well already."""
    look: float
    """Between looks at a machine that is not there yet."""


@dataclass(frozen=True, kw_only=True)
class _Out:
    machine: str
    id: str
    for_good: bool


class Turn:
    """The turn of one role's machines."""

    def __init__(self, machines: Machines, *, today: Sequence[str], patience: Patience) -> None:
        """``today``: the machines that there are to be; any other is deleted for good."""
        self._machines = machines
        self._today = tuple(today)
        self._patience = patience
        self._lock = asyncio.Lock()
        self._waiting: list[str] = []
        self._out: _Out | None = None
        self._lost = ""
        """Why the turn is not to be had any more in this run."""

    async def take(self, machine: str, *, check: Callable[[], None]) -> None:
        """Return when ``machine`` may be deleted, and hold the turn for it. ``check`` has the last word: it raises when
        the machine must stay, and may take minutes.

        Raises:
            RefusedError: the one before did not come back, or another is not well.
        """
        self._waiting.append(machine)
        try:
            while not await self._taken(machine, check):
                pass
        finally:
            self._waiting.remove(machine)

    async def _taken(self, machine: str, check: Callable[[], None]) -> bool:
        """One try; False when another goes first, and the next try queues behind it."""
        async with self._lock:
            await self._back(machine)
            ailing = await self._ailing(machine)
            # One that is out of service itself takes nothing away from the others.
            if ailing and not await self._reason(machine):
                if set(ailing) & set(self._waiting):
                    return False  # its own replacement is what it needs
                reasons = "; ".join(f"{other} is not well ({why})" for other, why in ailing.items())
                raise RefusedError(
                    f"{machine} must stay: {reasons}, and one machine of a kind is out of service at a time. "
                    "Bring it back first, then run `longhaul up` again."
                )
            await asyncio.to_thread(check)
            seen = await asyncio.to_thread(self._machines.look, machine)
            self._out = _Out(machine=machine, id=seen.id, for_good=machine not in self._today)
            return True

    async def _back(self, machine: str) -> None:
        """Wait for the machine that this run deleted before."""
        if self._out and not self._lost:
            out = self._out
            why = await (self._gone(out) if out.for_good else self._made(out.machine, not_id=out.id))
            if why:
                self._lost = f"{out.machine}, which this run {'deleted' if out.for_good else 'made anew'}, {why}"
            self._out = None
        if self._lost:
            raise RefusedError(f"{machine} must stay: {self._lost}. Look at it, then run `longhaul up` again.")

    async def _ailing(self, machine: str) -> dict[str, str]:
        """Which of the others are not well, and why."""
        others = [other for other in self._today if other != machine]
        found = await asyncio.gather(*(self._reason(other) for other in others))
        return {other: why for other, why in zip(others, found, strict=True) if why}

    async def _reason(self, other: str) -> str:
        """Why a machine is not well, or nothing."""
        seen = await asyncio.to_thread(self._machines.look, other)
        if not seen.id and other in self._waiting:
            return "it is not there"
        if seen.being_made:
            return await self._made(other, not_id="")
        return await asyncio.to_thread(self._machines.why_not_ready, other, wait_s=self._patience.other)

    async def _made(self, machine: str, *, not_id: str) -> str:
        """Wait until there is a machine of another id and it is ready; why not, or nothing."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience.replaced
        while True:
            seen = await asyncio.to_thread(self._machines.look, machine)
            if seen.id and seen.id != not_id and not seen.being_made:
                left = max(deadline - loop.time(), self._patience.look)
                why = await asyncio.to_thread(self._machines.why_not_ready, machine, wait_s=left)
                return f"is not ready: {why}" if why else ""
            if loop.time() > deadline:
                return f"is not there after {self._patience.replaced:.0f} s"
            await asyncio.sleep(self._patience.look)

    async def _gone(self, out: _Out) -> str:
        """Wait until a machine is deleted: so long others may still count on it. Why it is not, or nothing."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience.replaced
        while (await asyncio.to_thread(self._machines.look, out.machine)).id == out.id:
            if loop.time() > deadline:
                return f"is still there after {self._patience.replaced:.0f} s"
            await asyncio.sleep(self._patience.look)
        return ""
