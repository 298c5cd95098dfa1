"""Room for an etcd cluster that has reached its quota, made by the first member that answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from longhaul.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment, Role

COMMAND = "longhaul-node reclaim"
LIMIT_S = 3600.0
"""Time limit in seconds: seven members of 8 GiB, one after the other. Azure's agent gives a script 90 minutes
(learn.microsoft.com, "Run scripts in your Linux VM by using action Run Commands")."""


def reclaim(environment: Environment, role: Role) -> str:
    """Have one member compact and defragment its etcd cluster, and return what came of it; ``CommandError`` with each
    member's reason when none did."""
    from clouds.registry import cloud_of
    from components.model import control_machines, plan
    from components.model.machines import members
    from components.model.places import place_of

    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        raise CommandError(f"the control plane is on {place.site.kind}, where it cannot be asked yet", code=Exit.USAGE)
    reasons = []
    for machine in members(control_machines(environment, plan(environment)), role):
        try:
            output = control.run_command(place, machine.name, COMMAND, timeout_s=LIMIT_S)
            told = json.loads(output.stdout)
        except CloudError as error:
            reasons.append(f"{machine.name}: {error}")
            continue
        except ValueError:
            said = (output.stderr or output.stdout).strip().splitlines() or ["it said nothing"]
            reasons.append(f"{machine.name}: {said[-1]}")
            continue
        if told.get("done"):
            return "; ".join([str(told["reason"]), *_sizes(told.get("sizes", {}))])
        reasons.append(f"{machine.name}: {told.get('reason') or 'it did nothing'}")
    raise CommandError(f"no member of {role} could make room: {'; '.join(reasons)}")


def _sizes(sizes: dict[str, tuple[int, int]]) -> list[str]:
    return [f"{name} {before / 2**20:.1f} to {after / 2**20:.1f} MiB" for name, (before, after) in sizes.items()]
