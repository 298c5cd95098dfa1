"""Single machines as their cloud sees them: those of the control plane."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MachineView:
    """One virtual machine as the cloud sees it."""

    name: str
    provisioning: str
    """The cloud's own word for how its making went, such as ``Succeeded``."""
    power: str
    """``running``, ``stopped``, ``deallocated`` or what else the cloud says; empty when unknown."""
    id: str = ""
    """The cloud's own id of the machine: another one under the same name has another."""


@dataclass(frozen=True, kw_only=True)
class CommandOutput:
    """What a script run in a machine wrote."""

    stdout: str
    stderr: str
