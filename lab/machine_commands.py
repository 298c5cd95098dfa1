"""Commands in the lab's machines."""

from __future__ import annotations

import os

from lab.cgroups import ControlGroup
from lab.hypervisor import nspawn
from lab.state import LabError, LabState
from lab.tenants import host_of


def entering(state: LabState, machine: str, command: list[str]) -> list[str]:
    """Return the words of a command that runs ``command`` as root in a machine, in the machine's cgroup. Raise
    :class:`LabError` for a machine that does not run."""
    group = ControlGroup.of(host_of(state), machine)
    leader = nspawn.leader_among(group.members()) if "/" not in machine else None
    if leader is None:
        raise LabError(
            f"machine {machine!r} is not running in the lab of {state.env}: "
            f"`.venv/bin/python -m lab status --env {state.env}` lists those that are"
        )
    inner = ControlGroup.of(host_of(state), machine, "shell")
    inner.create()
    terminal = [f"TERM={os.environ['TERM']}"] if "TERM" in os.environ else []
    return inner.entering(nspawn.inside(leader, command, environment=terminal))
