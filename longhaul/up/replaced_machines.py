"""Control-plane machines that ``longhaul up`` replaces on request, although nothing about them changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

URN = "**{type}::{machine}"
"""The engine's pattern for a machine's resource; ``**`` matches stack, project and parents with a ``$``."""


def replacing(environment: Environment, machines: Sequence[str]) -> tuple[str, ...]:
    """Return the engine's options that replace ``machines``. Raise ``CommandError`` when a name is not that of a
    machine of the control plane."""
    from clouds.base.resource_types import ResourceKind
    from clouds.registry import cloud_of
    from components.model import control_machines, plan

    declared = control_machines(environment, plan(environment))
    there = {machine.name: environment.sites[machine.site] for machine in declared}
    unknown = [name for name in machines if name not in there]
    if unknown:
        raise CommandError(
            f"{', '.join(unknown)}: no machine of the control plane of {environment.name} ({', '.join(there)}). "
            "A pool's machines and hosts are replaced by `longhaul roll`, or by ending them in their group",
            code=Exit.USAGE,
        )
    return tuple(
        word
        for name in dict.fromkeys(machines)
        for type_, kind in cloud_of(there[name]).resources.kinds().items()
        if kind is ResourceKind.MACHINE
        for word in ("--replace", URN.format(type=type_, machine=name))
    )
