"""The learner of the main etcd cluster: when its machine may go.

It never votes, so it has a replacement lock of its own: it waits for no voting member's replacement, and none for it.
"""

from __future__ import annotations

from pulumi import ResourceHookBinding

from clouds.azure.names import resource_group
from components.azure.account import azure_site
from components.control_plane.guard import PATIENCE, Guarded, member_hook
from components.control_plane.readiness import RoleMachines
from components.control_plane.replacement import ReplacementLock
from components.model import AddressPlan, Environment, Role, control_machines
from components.model.control_plane.machines import learner_name, learners, members
from components.model.secrets.vault import etcd_state_secret, vault_url
from components.model.sites.places import name_prefix, place_of


def learner_guard(environment: Environment, addresses: AddressPlan) -> dict[str, ResourceHookBinding]:
    """Return the guard of the learner's machine, by its name, whether or not the file has a learner: the engine looks a
    hook up by name when it deletes a machine that is no longer in the file."""
    machines = control_machines(environment, addresses)
    name, site = learner_name(environment), environment.control_plane.site
    group, prefix = resource_group(place_of(environment, site)), name_prefix(environment)
    subscription = azure_site(environment, site).subscription
    voters = [machine.name for machine in members(machines, Role.ETCD)]
    guarded = Guarded(
        environment=environment.name,
        destroyable=environment.destroyable,
        subscription=subscription,
        group=group,
        prefix=prefix,
        machine=name,
        vault_url=vault_url(environment),
        lock=ReplacementLock(
            RoleMachines(subscription=subscription, group=group, prefix=prefix),
            today=[machine.name for machine in learners(machines)],
            patience=PATIENCE,
        ),
    )

    return {name: member_hook(guarded, peers=voters, state_secret=etcd_state_secret(Role.ETCD))}
