"""A backup that is made at once, by the first member that may."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from components.model import control_machines, plan
from components.model.machines import members
from longhaul.backups.listing import control_of
from longhaul.exits import CommandError

if TYPE_CHECKING:
    from components.model import Environment, Role

COMMAND = "longhaul-node backup"
LIMIT_S = 1800.0
"""Time limit in seconds for a backup, of 8 GiB at most."""


def back_up(environment: Environment, role: Role) -> str:
    """Have one member of an etcd cluster make a backup, and return its name; ``CommandError`` with each member's reason
    when none does. A member that leads refuses at once."""
    control, place = control_of(environment)
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
        if not told.get("error") and told.get("newest"):
            return str(told["newest"]["name"])
        reasons.append(f"{machine.name}: {told.get('error') or 'it made none'}")
    raise CommandError(f"no member of {role} made a backup: {'; '.join(reasons)}")
