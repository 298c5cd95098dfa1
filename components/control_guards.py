"""Which guard stands before the deletion of each control-plane machine."""

from __future__ import annotations

from pulumi import ResourceHookBinding

from components import guard
from components.azure import names
from components.model import AddressPlan, Environment, Role, control_machines
from components.model.groups import name_prefix
from components.model.machines import members
from components.model.network import FRONTEND
from components.model.sites import AzureSite
from components.model.vault import store_state_secret, vault_url
from components.readiness import DEADLINE_S, RoleMachines
from components.render.stores import MOST_MEMBERS
from components.turn import Patience, Turn

MOST_SERVERS = 15
"""API servers that an environment may ever have: what the model admits at most."""

STORES_PART = "etcd-client"
"""The part of an API server's certificates that opens the stores."""

PATIENCE = Patience(replaced=DEADLINE_S, other=30.0, look=2.0)
"""For a machine that this run makes, as long as its readiness waits; for one that should be well, long enough for a
member to see a leader again."""


def guards(environment: Environment, addresses: AddressPlan) -> dict[str, ResourceHookBinding]:
    """A guard for every place that a role may have, not only for today's machines: the engine looks a hook up by its
    name when it deletes a machine that is no longer in the file. ``TypeError`` when the site is not on Azure."""
    found: dict[str, ResourceHookBinding] = {}
    for role in Role:
        found |= _of_role(environment, addresses, role)
    return found


def _of_role(environment: Environment, addresses: AddressPlan, role: Role) -> dict[str, ResourceHookBinding]:
    name = environment.control_plane.site
    site = environment.sites[name]
    if not isinstance(site, AzureSite):
        raise TypeError(f"site {name} is {site.kind}, not azure")
    group = names.resource_group(environment, name)
    today = [machine.name for machine in members(control_machines(environment, addresses), role)]
    prefix = name_prefix(environment)
    asked = RoleMachines(subscription=site.subscription, group=group, prefix=prefix)
    turn = Turn(asked, today=today, patience=PATIENCE)
    frontend = f"{addresses.sites[name].subnet('api')[FRONTEND]}:{environment.control_plane.api.port}"
    found: dict[str, ResourceHookBinding] = {}
    for index in range(MOST_MEMBERS if role.is_store else MOST_SERVERS):
        machine = f"{environment.name}-{role}-{index}"
        others = tuple(other for other in today if other != machine)
        guarded = guard.Guarded(
            environment=environment.name,
            destroyable=environment.destroyable,
            subscription=site.subscription,
            group=group,
            prefix=prefix,
            machine=machine,
            vault_url=vault_url(environment),
            turn=turn,
        )
        if role.is_store:
            found[machine] = guard.member_hook(guarded, peers=others, state_secret=store_state_secret(role))
        else:
            opened_by = f"{machine}-{STORES_PART}"
            found[machine] = guard.server_hook(guarded, others=bool(others), frontend=frontend, opened_by=opened_by)
    return found
