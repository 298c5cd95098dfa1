"""The learner of the main etcd cluster: when its machine may be made, and when it may go.

It never votes, so it has a replacement lock of its own: it waits for no voting member's replacement, and none for it.
"""

from __future__ import annotations

import asyncio

from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding

from clouds.azure.names import resource_group
from clouds.azure.session import AzureError
from components.azure.account import azure_site
from components.control_plane.guard import PATIENCE, Guarded, Run, member_hook
from components.control_plane.readiness import RoleMachines
from components.control_plane.replacement import RefusedError, ReplacementLock
from components.model import AddressPlan, Environment, Role, control_machines
from components.model.control_plane.machines import learner_name, learners, members
from components.model.secrets.vault import etcd_state_secret, vault_url
from components.model.sites.places import name_prefix, place_of

SETTING = "ETCD_MAX_LEARNERS=2"
"""Setting of etcd that the image's etcd.service has, from the release on that knows of learners."""

QUESTION = "systemctl show --property=Environment --value etcd.service"


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

    async def before_create(_args: ResourceHookArgs) -> None:
        await asyncio.gather(*(asyncio.to_thread(check_voter, voter, run=guarded.run) for voter in voters))

    leaving = member_hook(guarded, peers=voters, state_secret=etcd_state_secret(Role.ETCD))
    making = ResourceHook(f"{name}-has-a-place", before_create)
    return {name: ResourceHookBinding(before_create=[making], before_delete=leaving.before_delete)}


def check_voter(voter: str, *, run: Run) -> None:
    """Raise ``RefusedError`` unless a voting member takes a learner for ever and another that joins. Each member judges
    a new one by its own limit (etcd 3.6, server/etcdserver/api/membership, ``ValidateConfigurationChange``): where the
    limits differ, they would disagree for good on who is a member."""
    try:
        said = run(voter, QUESTION)
    except AzureError as error:
        raise RefusedError(
            f"the learner is not made: {voter} cannot be asked whether it takes one ({error}). Bring it back "
            "(`longhaul status`), then run `longhaul up` again."
        ) from error
    if SETTING not in said.split():
        raise RefusedError(
            f"the learner is not made: {voter} runs an image whose etcd takes one learner alone, so that no member "
            "could be replaced any more. Bake an image of this release, run `longhaul up` with it and without the "
            "learner, then declare the learner."
        )
