"""Makes room in an etcd cluster that has reached its quota, by the first member that can.

Two members that work at the same time would defragment two members at once, and cost the quorum. So the next member is
asked only when it is certain that nothing was begun; a lost answer gives no certainty. A machine with a hanging agent
would cost an hour, so each machine first gets a command that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from contract.documents.node_answers import Reclaimed, of_text
from longhaul.control_plane.node_answers import STILL
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.control import CommandOutput
    from components.model import Environment, Role

COMMAND = "longhaul-node reclaim"
PROBE, PROBE_S = "true", 300.0
"""Command that does nothing, and its time limit, seconds. An agent runs one command at a time. The limit is long enough
for a running command to end, such as an aborted reclaim of three members of 8 GiB on local SSDs."""
LIMIT_S = 3600.0
"""Time limit, seconds: seven members of 8 GiB, one after the other. Azure's agent gives a script 90 minutes
(learn.microsoft.com, "Run scripts in your Linux VM by using action Run Commands")."""


def reclaim(environment: Environment, role: Role, *, tell: Callable[[str], None]) -> str:
    """Have one member compact and defragment its etcd cluster, and return its result. Raise ``CommandError`` with each
    member's reason when none did it, or with the reason of the first member that may have begun. ``tell`` gets a line
    for each member that is passed over."""
    from clouds.registry import cloud_of
    from components.model import control_machines, plan
    from components.model.control_plane.machines import members
    from components.model.sites.places import place_of

    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        raise CommandError(f"the control plane is on {place.site.kind}, where it cannot be asked yet", code=Exit.USAGE)
    machines = members(control_machines(environment, plan(environment)), role)
    power = {view.name: view.power for view in control.machines(place)}
    reasons: list[str] = []

    def passed_over(name: str, why: str) -> None:
        reasons.append(f"{name}: {why}")
        tell(f"{name} is passed over: {why}")

    for name in (machine.name for machine in machines):
        if name not in power or power[name] in STILL:
            passed_over(name, f"it is {power.get(name, 'not there')}")
            continue
        try:
            control.run_command(place, name, PROBE, timeout_s=PROBE_S)
        except CloudError as error:
            passed_over(name, f"its agent does not answer ({error})")
            continue
        try:
            answer = _member_answer(control.run_command(place, name, COMMAND, timeout_s=LIMIT_S))
        except CloudError as error:
            raise CommandError(_halfway(name, role, f"{error}. It may still be running")) from None
        if answer.done:
            return "; ".join([answer.reason, *_sizes(answer.sizes)])
        if not answer.ask_another:
            raise CommandError(_halfway(name, role, answer.reason))
        passed_over(name, answer.reason)
    raise CommandError(f"no member of {role} could make room: {'; '.join(reasons)}")


def _member_answer(output: CommandOutput) -> Reclaimed:
    """Return the member's answer, or an answer with the reason why the member gave none."""
    try:
        return of_text(Reclaimed, output.stdout)
    except ValueError:
        lines = (output.stderr or output.stdout).strip().splitlines() or ["it said nothing"]
        return Reclaimed(done=False, reason=lines[-1])


def _halfway(name: str, role: Role, reason: str) -> str:
    return (
        f"{name}: {reason}; no other member of {role} was asked, since two members would be defragmented at once. "
        f"See `longhaul status`, and run `longhaul up --reclaim {role}` again: repeating it does no harm"
    )


def _sizes(sizes: Mapping[str, tuple[int, int]]) -> list[str]:
    return [f"{name} {before / 2**20:.1f} to {after / 2**20:.1f} MiB" for name, (before, after) in sizes.items()]
