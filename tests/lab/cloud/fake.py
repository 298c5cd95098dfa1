"""A hypervisor that makes nothing: it stores the world, and machines are in the state that a test gives them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from lab.desired import CommandResult, DesiredMachine, MachineState, TunnelState, World


class FakeHypervisor:
    """Hypervisor whose machines run as soon as they are wanted, unless ``phases`` has another state for their name."""

    def __init__(self) -> None:
        self.world = World()
        self.applied = 0
        self.phases: dict[str, MachineState] = {}
        self.commands: list[tuple[str, str]] = []
        self.result = CommandResult(exit_code=0, stdout="out\n", stderr="")
        self.tunnels: dict[str, dict[str, TunnelState]] = {}
        self.hold: asyncio.Event | None = None
        self.full = False
        """True when the host has no room for another node."""
        self.broken = 0
        """Number of further calls of apply that fail."""

    async def apply(self, world: World) -> None:
        if self.broken:
            self.broken -= 1
            raise RuntimeError("no such device")
        self.world = world
        self.applied += 1

    def machine_state(self, machine_id: str) -> MachineState:
        machine = self.machine(machine_id)
        if machine is None:
            return MachineState(phase="absent")
        given = self.phases.get(machine.name)
        if given:
            return given
        phase = "running" if machine.running else "stopped"
        return MachineState(phase=phase, generation=machine.generation, reported=machine.running)

    def has_room(self, machine_ids: Collection[str]) -> bool:
        return not self.full

    async def wait_settled(self, machine_id: str, *, timeout_s: float) -> MachineState:
        if self.hold:
            await asyncio.wait_for(self.hold.wait(), timeout_s)
        return self.machine_state(machine_id)

    async def wait_reported(self, machine_id: str, *, timeout_s: float) -> MachineState:
        return await self.wait_settled(machine_id, timeout_s=timeout_s)

    async def switch_on(self, machine_id: str) -> None:
        machine = self.machine(machine_id)
        if machine is not None:
            self.phases.pop(machine.name, None)

    def tunnel_states(self, gateway_id: str) -> Mapping[str, TunnelState]:
        return self.tunnels.get(gateway_id, {})

    async def run(self, machine_id: str, script: str, *, timeout_s: float) -> CommandResult:
        self.commands.append((machine_id, script))
        return self.result

    def machine(self, machine_id: str) -> DesiredMachine | None:
        return next((machine for machine in self.world.machines if machine.id == machine_id), None)
