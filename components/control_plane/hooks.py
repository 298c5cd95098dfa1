"""Hooks of every machine of a control plane, in one place: a program that only destroys declares only these."""

from __future__ import annotations

from pulumi import ResourceHookBinding

from components.control_plane.guard import PATIENCE, Guarded, guards, member_hook
from components.control_plane.readiness import RoleMachines, machines_of
from components.control_plane.replacement import ReplacementLock
from components.model import AddressPlan, Environment, Role, control_machines
from components.model.control_plane.machines import learner_name, learners, members
from components.model.secrets.vault import etcd_state_secret, vault_url


def machine_hooks(environment: Environment, addresses: AddressPlan) -> dict[str, ResourceHookBinding]:
    """Return the hooks of every machine that an environment may have or have had, by the machine's name."""
    return guards(environment, addresses) | _learner_guard(environment, addresses)


def _learner_guard(environment: Environment, addresses: AddressPlan) -> dict[str, ResourceHookBinding]:
    """Return the guard of the learner's machine, by its name, whether or not the file has a learner: when the engine
    deletes a machine that is no longer in the file, it looks the hook up by name. The learner never votes, so its
    replacement lock is separate: learner and voting members do not wait for each other's replacement."""
    machines = control_machines(environment, addresses)
    live = machines_of(environment)
    name = learner_name(environment)
    today = [machine.name for machine in learners(machines)]
    guarded = Guarded(
        environment=environment.name,
        destroyable=environment.destroyable,
        machine=name,
        machines=live,
        vault_url=vault_url(environment),
        lock=ReplacementLock(RoleMachines(live), today=today, patience=PATIENCE),
    )
    voters = [machine.name for machine in members(machines, Role.ETCD)]
    return {name: member_hook(guarded, peers=voters, state_secret=etcd_state_secret(Role.ETCD))}
