"""Views of single machines of the control plane, as their cloud reports them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MachineView:
    """One virtual machine, as its cloud reports it."""

    name: str
    provisioning: str
    """The cloud's own word for the state of its creation, such as ``Succeeded``."""
    power: str
    """``running``, ``stopped``, ``deallocated`` or another word of the cloud; empty when unknown."""
    id: str = ""
    """The cloud's own id of the machine. A new machine under the same name has a new id."""


@dataclass(frozen=True, kw_only=True)
class CommandOutput:
    """Output of a script that ran on a machine."""

    stdout: str
    stderr: str
