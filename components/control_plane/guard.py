"""Guards against accidental deletion.

There are two guards, both in the engine, so they work whoever runs it (``components/guards/immutable.py`` guards
resources in use):

- control-plane machines of a role are deleted one at a time. A healthy machine is deleted only when all others of its
  role are healthy (``replacement.py``). Also, an etcd member is deleted only when its etcd cluster keeps quorum without
  it, and an API server only after the server has left the load balancer;
- the whole environment is destroyed only when its file says ``destroyable: true`` and the operator confirmed it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ResourceHook, ResourceHookArgs, ResourceHookBinding, ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from clouds.base.control import ControlMachines
from clouds.base.errors import CloudError
from clouds.registry import vault_at
from components.control_plane.founding import is_bootstrapped
from components.control_plane.readiness import ASK_S, DEADLINE_S, RoleMachines, machines_of
from components.control_plane.replacement import GuardRefusedError, Leaving, ReplacementLock, WaitingTimes
from components.model import AddressPlan, Environment, Role, control_machines
from components.model.control_plane.machines import MOST_MEMBERS, members
from components.model.network.address_plan import FRONTEND
from components.model.secrets.certificates import ETCD_CLIENT
from components.model.secrets.vault import etcd_state_secret, vault_url
from components.model.vpn.section import MACHINES
from contract.documents.node_answers import Departure, Removal, Survival, of_text

DESTROY_VARIABLE = "LONGHAUL_DESTROY"
"""Environment variable that ``longhaul destroy`` sets to the environment's name once the operator confirmed."""

MOST_SERVERS = 15
"""Largest number of API servers that an environment may ever have: the model's limit."""

PATIENCE = WaitingTimes(replaced=DEADLINE_S, other=30.0, look=6.0)
"""Waiting times of guards. The guard waits for a machine that this run makes as long as a machine may take to become
ready. For a machine that should be healthy, the guard waits long enough for an etcd member to find a leader again.
``look`` keeps to Azure's limit: 36 reads of a machine at once, and 12 further reads in each minute
(learn.microsoft.com, "Compute throttling limits", "Low Cost Get VM")."""

Ask = Callable[[str], str]
"""Function that asks a peer, by its machine's name, whether the etcd cluster survives, and returns its JSON answer."""


Run = Callable[[str, str], str]
"""Function that runs a command on a machine, by its name, and returns its output."""


def confirmed(environment: str) -> bool:
    """Return whether the operator confirmed that this environment is to be destroyed."""
    return os.environ.get(DESTROY_VARIABLE) == environment


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """A control-plane machine that a guard protects."""

    environment: str
    destroyable: bool
    machine: str
    machines: ControlMachines
    """Machines of the control plane in the cloud."""
    vault_url: str
    lock: ReplacementLock
    """Replacement lock of the machine's role."""

    @property
    def goes_with_all(self) -> bool:
        """Return whether the whole environment is being destroyed."""
        return self.destroyable and confirmed(self.environment)

    def run(self, machine: str, command: str) -> str:
        """Run a command on a machine of the control plane, and return its output."""
        return self.machines.run_command(machine, command, timeout_s=ASK_S).stdout


def member_hook(member: Guarded, *, peers: Sequence[str], state_secret: str) -> ResourceHookBinding:
    """Return a hook that refuses to delete an etcd member's machine when its etcd cluster would lose quorum. An etcd
    cluster that was never bootstrapped has no data to lose: a faulty first member can be made again.

    ``peers``: the machines of the other members; ``state_secret``: the vault's secret that records whether the etcd
    cluster was ever bootstrapped.
    """

    def check(leaving: Leaving) -> None:
        may_leave(member.machine, leaving, peers=peers, run=member.run)

    async def before_delete(_args: ResourceHookArgs) -> None:
        if member.goes_with_all:
            return
        if is_bootstrapped(await asyncio.to_thread(vault_at(member.vault_url).get, state_secret)):
            await member.lock.take(member.machine, check=check)

    hook = ResourceHook(f"{member.machine}-keeps-quorum", before_delete)
    return ResourceHookBinding(before_delete=[hook])


def server_hook(server: Guarded, *, others: bool, frontend: str, opened_by: str) -> ResourceHookBinding:
    """Return a hook that runs before the machine of an API server is deleted. The hook makes the server leave the load
    balancer as soon as another server answers there.

    ``others``: whether the file declares other API servers; ``frontend``: the load balancer's address and port;
    ``opened_by``: the vault's secret without which the server cannot serve. While the secret does not exist, nothing
    can be lost.
    """

    def leave(_leaving: Leaving) -> None:
        if not others:
            return
        try:
            departure = of_text(Departure, server.run(server.machine, f"longhaul-node leave --frontend {frontend}"))
        except CloudError as error:
            if error.busy:
                raise GuardRefusedError(
                    f"{server.machine} cannot be asked to leave the load balancer now: {error}. "
                    "Run `longhaul up` again in a few minutes."
                ) from error
            return  # a machine that cannot be asked does not serve
        except ValueError:
            return
        if not departure.left:
            raise GuardRefusedError(
                f"{server.machine} must stay: {departure.reason}. `longhaul status` shows the other API servers; run "
                "`longhaul up` again when one of them is ready."
            )

    async def before_delete(_args: ResourceHookArgs) -> None:
        if server.goes_with_all:
            return
        if await asyncio.to_thread(vault_at(server.vault_url).get, opened_by) is not None:
            await server.lock.take(server.machine, check=leave)

    hook = ResourceHook(f"{server.machine}-leaves", before_delete)
    return ResourceHookBinding(before_delete=[hook])


def one_at_a_time_hook(guarded: Guarded) -> ResourceHookBinding:
    """Return a hook that lets a healthy machine be deleted only while the others of its role are healthy. It
    guards VPN machines."""

    async def before_delete(_args: ResourceHookArgs) -> None:
        if not guarded.goes_with_all:
            await guarded.lock.take(guarded.machine, check=lambda _leaving: None)

    return ResourceHookBinding(before_delete=[ResourceHook(f"{guarded.machine}-goes", before_delete)])


def guards(environment: Environment, addresses: AddressPlan) -> dict[str, ResourceHookBinding]:
    """Return a guard for every machine that a role may ever have, not only for today's: when the engine deletes a
    machine that is no longer in the file, it looks the hook up by name. Raise ``TypeError`` when the cloud of the
    control plane's site cannot hold a control plane."""
    hooks: dict[str, ResourceHookBinding] = {}
    for role in Role:
        hooks |= _of_role(environment, addresses, role)
    return hooks


def _of_role(environment: Environment, addresses: AddressPlan, role: Role) -> dict[str, ResourceHookBinding]:
    name = environment.control_plane.site
    machines = machines_of(environment)
    today = [machine.name for machine in members(control_machines(environment, addresses), role)]
    lock = ReplacementLock(RoleMachines(machines), today=today, patience=PATIENCE)
    frontend = f"{addresses.sites[name].subnet('api')[FRONTEND]}:{environment.control_plane.api.port}"
    hooks: dict[str, ResourceHookBinding] = {}
    for index in range(_most(role)):
        machine = f"{environment.name}-{role}-{index}"
        others = tuple(other for other in today if other != machine)
        guarded = Guarded(
            environment=environment.name,
            destroyable=environment.destroyable,
            machine=machine,
            machines=machines,
            vault_url=vault_url(environment),
            lock=lock,
        )
        if role.is_etcd:
            hooks[machine] = member_hook(guarded, peers=others, state_secret=etcd_state_secret(role))
        elif role is Role.VPN:
            hooks[machine] = one_at_a_time_hook(guarded)
        else:
            opened_by = f"{machine}-{ETCD_CLIENT}"
            hooks[machine] = server_hook(guarded, others=bool(others), frontend=frontend, opened_by=opened_by)
    return hooks


def _most(role: Role) -> int:
    """Return the largest number of machines that a role may ever have."""
    if role is Role.VPN:
        return MACHINES
    return MOST_MEMBERS if role.is_etcd else MOST_SERVERS


def check_quorum(*, machine: str, peers: Sequence[str], ask: Ask) -> None:
    """Raise ``GuardRefusedError`` unless one of ``peers`` confirms that its etcd cluster keeps quorum without
    ``machine``."""
    only = (
        f"{machine} is the only member of its etcd cluster: deleting it loses the cluster. Undo the change, run "
        "`longhaul up` with three members, then make the change."
    )
    silent: list[str] = []
    for peer in peers:
        try:
            survival = of_text(Survival, ask(peer))
        except CloudError as error:
            if not error.absent:
                silent.append(f"{peer} ({error.code or 'no answer'})")
            continue
        except ValueError:
            silent.append(f"{peer} (no answer)")
            continue
        if survival.survives:
            return
        raise GuardRefusedError(
            f"{machine} must stay: without it its etcd cluster loses quorum ({survival.reason}). Bring its peers back "
            "first."
        )
    if not silent:
        raise GuardRefusedError(only)
    raise GuardRefusedError(
        f"{machine} must stay: no other member of its etcd cluster answers ({'; '.join(silent)}). Bring one of them "
        "back (`longhaul status` shows them), then run `longhaul up` again."
    )


def may_leave(machine: str, leaving: Leaving, *, peers: Sequence[str], run: Run) -> None:
    """Raise ``GuardRefusedError`` unless ``machine`` may be deleted. First remove from its etcd cluster the members
    that will not come back: the machine's own member if it has no successor, and dead members whose machines are
    replaced later. etcd admits no new member while one is down, so the machine's successor would wait for the dead ones
    for ever."""
    for other in leaving.doomed:
        take_out(other, peers=[peer for peer in peers if peer != other], run=run, if_dead=True)
    if leaving.for_good:
        take_out(machine, peers=peers, run=run)
    else:
        command = f"longhaul-node cluster --without {machine}"
        check_quorum(machine=machine, peers=peers, ask=lambda peer: run(peer, command))


def take_out(machine: str, *, peers: Sequence[str], run: Run, if_dead: bool = False) -> None:
    """Remove a machine's member from its etcd cluster, by asking its peers; with ``if_dead``, only when the member does
    not answer. Raise ``GuardRefusedError`` when no peer carries out the request: the cluster would go on counting a
    dead member."""
    refusals: list[str] = []
    command = f"longhaul-node remove --member {machine}{' --if-dead' if if_dead else ''}"
    for peer in peers:
        try:
            removal = of_text(Removal, run(peer, command))
        except CloudError as error:
            refusals.append(f"{peer}: {error.code or 'no answer'}")
            continue
        except ValueError:
            refusals.append(f"{peer}: its answer cannot be read")
            continue
        if removal.removed or removal.alive:
            return
        refusals.append(f"{peer}: {removal.reason}")
    raise GuardRefusedError(
        f"{machine} must stay: no other member removes it from its etcd cluster first "
        f"({'; '.join(refusals) or 'there is none'}). `longhaul status` shows the members; run "
        "`longhaul up` again when enough of them are healthy."
    )


class DestructionProvider(ResourceProvider):
    """Protects the environment: this resource is made after everything of value, so it must be deleted first, and it
    refuses."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, object]) -> CreateResult:
        """Make nothing."""
        return CreateResult(id_=str(props["environment"]), outs=props)

    def update(self, _id: str, _olds: dict[str, object], news: dict[str, object]) -> UpdateResult:
        """Record whether the environment may be destroyed."""
        return UpdateResult(outs=news)

    def diff(self, _id: str, olds: dict[str, object], news: dict[str, object]) -> DiffResult:
        """Report changes as an update in place."""
        names = ("environment", "destroyable")
        return DiffResult(changes=any(olds.get(name) != news.get(name) for name in names), replaces=[])

    def delete(self, _id: str, props: dict[str, object]) -> None:
        """Refuse unless the environment is destroyable and the operator confirmed."""
        environment = str(props["environment"])
        if not props.get("destroyable"):
            raise GuardRefusedError(
                f"{environment} is not destroyable: set `destroyable: true` in its file and run `up` first."
            )
        if not confirmed(environment):
            raise GuardRefusedError(
                f"destroying {environment} was not confirmed: use `longhaul destroy --env {environment}`."
            )


class DestructionGuard(Resource, module="longhaul", name="DestructionGuard"):
    """Resource that depends on everything of value and refuses its own deletion."""

    def __init__(self, name: str, *, environment: str, destroyable: bool, opts: ResourceOptions | None = None) -> None:
        properties: dict[str, pulumi.Input[object]] = {"environment": environment, "destroyable": destroyable}
        super().__init__(DestructionProvider(), name, properties, opts)
