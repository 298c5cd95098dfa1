"""Makes a backup at once: by the first member that can, or by the learner without help from other members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from components.model import control_machines, plan
from components.model.control_plane.machines import learners, members
from contract.documents.node_answers import BackupState, of_text
from longhaul.etcd_backups.choice import highest_revision
from longhaul.etcd_backups.listing import control_access
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.model import Environment, Role
    from longhaul.etcd_backups.listing import ListedBackup

COMMAND = "longhaul-node backup"
LIMIT_S = 1800.0
"""Time limit for a backup of at most 8 GiB, seconds."""


def back_up(environment: Environment, role: Role, *, from_learner: bool = False) -> str:
    """Have one member of an etcd cluster make a backup, and return its name. Raise ``CommandError`` with each member's
    reason when none can; the leader always refuses. With ``from_learner``, have the learner make the backup, without
    asking any other member."""
    control, place = control_access(environment)
    machines = control_machines(environment, plan(environment))
    aside = tuple(machine for machine in learners(machines) if machine.role is role)
    asked = aside if from_learner else (*aside, *members(machines, role))
    command = f"{COMMAND} --without-quorum" if from_learner else COMMAND
    reasons = []
    for machine in asked:
        try:
            output = control.run_command(place, machine.name, command, timeout_s=LIMIT_S)
            state = of_text(BackupState, output.stdout)
        except CloudError as error:
            reasons.append(f"{machine.name}: {error}")
            continue
        except ValueError:
            lines = (output.stderr or output.stdout).strip().splitlines() or ["it said nothing"]
            reasons.append(f"{machine.name}: {lines[-1]}")
            continue
        if not state.error and state.newest:
            return state.newest.name
        reasons.append(f"{machine.name}: {state.error or 'it made none'}")
    raise CommandError(f"no member of {role} made a backup: {'; '.join(reasons)}")


def revision_warning(name: str, listed: Sequence[ListedBackup]) -> str:
    """Return a warning when the storage has a backup of a higher revision than backup ``name``; otherwise empty."""
    made = next((backup for backup in listed if backup.name == name), None)
    best = highest_revision(made, listed) if made else None
    if made is None or best is None or best.revision == made.revision:
        return ""
    return (
        f"{name} has revision {made.revision}, and {best.name} has {best.revision}: the new backup's member is "
        "behind, and `longhaul restore` takes the other backup"
    )


def check_learner(environment: Environment, *, now: bool, roles: Sequence[Role]) -> None:
    """Raise ``CommandError`` (usage) unless ``--from-learner`` makes sense: with ``--now``, for the main etcd cluster,
    in an environment with a learner."""
    if not now:
        raise CommandError("--from-learner chooses the member that makes a backup: it needs --now", code=Exit.USAGE)
    if "etcd" not in roles:
        raise CommandError("the events etcd has no learner: --from-learner is for etcd", code=Exit.USAGE)
    if environment.control_plane.etcd.learner is None:
        key = "control_plane.etcd.learner"
        raise CommandError(f"{environment.name} has no learner: its file has no {key}", code=Exit.USAGE)
