"""Views of single machines of the control plane, as their cloud reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


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
class BackupView:
    """One backup, as the cloud's storage lists it."""

    name: str
    size: int
    """Number of encrypted bytes."""
    made: datetime
    """Time at which it was there, by the storage's clock."""
    metadata: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CommandOutput:
    """Output of a script that ran on a machine."""

    stdout: str
    stderr: str
