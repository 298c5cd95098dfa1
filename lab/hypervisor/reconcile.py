"""Hypervisor: makes networks, rules, names, load balancers and machines agree with the desired world."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any, Protocol

from lab import inotify
from lab.desired import CommandResult, DesiredMachine, MachineState, Network, Peering, TunnelState, World
from lab.hypervisor import addresses, firewall, nspawn, router_links
from lab.hypervisor.addresses import AddressRanges
from lab.hypervisor.balancer import Balancers
from lab.hypervisor.charon import PROCESS
from lab.hypervisor.commands import command
from lab.hypervisor.dns import NameServer
from lab.hypervisor.firewall import Healthy
from lab.hypervisor.gateways import CloudGateways
from lab.hypervisor.internet import Internet, find_cut
from lab.hypervisor.machine_keeper import MachineKeeper, Power
from lab.hypervisor.machines import MachineParts
from lab.hypervisor.namespaces import Namespace
from lab.hypervisor.network_disks import remove_all_but
from lab.hypervisor.networks import Networks, router_of
from lab.hypervisor.operators import Operators
from lab.hypervisor.router_links import RouterLink
from lab.hypervisor.settings import HypervisorSettings

_LOG = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}")
"""Pattern of valid machine names; the lab uses the names for folders, cgroups and interfaces."""


class NetworkObserver(Protocol):
    """Observer of routers that come up or go away. It serves the cloud's services inside the routers."""

    async def network_up(self, network: Network, router: Namespace) -> None: ...

    async def network_down(self, network_id: str) -> None: ...


class LabHypervisor:
    """Implements :class:`lab.desired.Hypervisor`."""

    def __init__(self, settings: HypervisorSettings, *, observer: NetworkObserver) -> None:
        self._settings = settings
        self._observer = observer
        self._networks = Networks(settings.plan)
        self._operators = Operators(self._networks)
        self._balancers = Balancers(changed=self._refresh_rules)
        self._gateways = CloudGateways(settings, self._networks)
        self._internet = Internet()
        self._world = World()
        self._ordered: World | None = None
        """World that the clouds ordered most recently; None before their first order."""
        self._standing = World()
        self._keepers: dict[str, MachineKeeper] = {}
        """Keepers by machine name; a machine that is replaced keeps its keeper."""
        self._made: dict[str, Network] = {}
        self._peered: tuple[tuple[Peering, ...], frozenset[str]] | None = None
        self._ways: dict[str, tuple[RouterLink, ...]] = {}
        """Links out of each network, as applied to its router."""
        self._rules: dict[str, str] = {}
        """nftables document that is applied to each router."""
        self._lock = asyncio.Lock()
        self._removals: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Make the parts that need no cloud: the operator's namespace, the internet's rules and its name server."""
        await self._internet.ensure()
        await self._operators.ensure()

    async def close(self) -> None:
        """Stop following; machines and networks stay as they are, and the next daemon adopts them."""
        await self._balancers.close()
        await self._gateways.close()
        for keeper in self._keepers.values():
            await keeper.close()

    async def apply(self, world: World) -> None:
        """See :meth:`lab.desired.Hypervisor.apply`. A failure of one object is logged, and does not stop the others."""
        async with self._lock:
            self._ordered = world
            await self._follow(world + self._standing)

    async def stand(self, standing: World) -> None:
        """Follow ``standing``, the racks, in addition to the clouds' world. Before the clouds' first order only store
        ``standing``: following it alone would remove the clouds' machines."""
        async with self._lock:
            self._standing = standing
            if self._ordered is not None:
                await self._follow(self._ordered + standing)

    async def _follow(self, world: World) -> None:
        self._world = world
        wanted = {network.id: network for network in world.networks}
        for network in world.networks:
            await self._guarded(f"network {network.name}", self._ensure_network(network))
        await self._guarded("peerings", self._ensure_peerings(world.peerings))
        await self._guarded("gateways", self._gateways.follow(world.gateways, self._made))
        self._balancers.follow(world.load_balancers)
        for network in world.networks:
            await self._guarded(f"ways of network {network.name}", self._ensure_ways(network))
            await self._guarded(f"rules of network {network.name}", self._apply_rules(network))
        await self._guarded("names of the operators", self._operators.serve_names(world.networks))
        self._follow_machines(world.machines)
        self._later(self._remove_gone(wanted.keys()))

    async def admit(self, plan: AddressRanges) -> None:
        """Make the namespaces of a tenant; the clouds order the tenant's networks."""
        async with self._lock:
            await self._operators.admit(plan, self._world.networks)

    async def dismiss(self, tenant: str) -> None:
        async with self._lock:
            await self._operators.dismiss(tenant)

    def machine_state(self, machine_id: str) -> MachineState:
        """See :meth:`lab.desired.Hypervisor.machine_state`."""
        keeper = self._by_id(machine_id)
        return keeper.state if keeper is not None else MachineState(phase="absent")

    def has_room(self, machine_ids: Collection[str]) -> bool:
        """See :meth:`lab.desired.Hypervisor.has_room`. inotify limits the number of nodes."""
        starting = sum(self.machine_state(machine_id).phase in ("absent", "starting") for machine_id in machine_ids)
        return inotify.at_hand((inotify.MACHINE + inotify.NODE) * (starting + 1))

    async def wait_settled(self, machine_id: str, *, timeout_s: float) -> MachineState:
        """See :meth:`lab.desired.Hypervisor.wait_settled`."""
        keeper = self._by_id(machine_id)
        return MachineState(phase="absent") if keeper is None else await keeper.settled(timeout_s)

    async def wait_reported(self, machine_id: str, *, timeout_s: float) -> MachineState:
        """See :meth:`lab.desired.Hypervisor.wait_reported`."""
        keeper = self._by_id(machine_id)
        return MachineState(phase="absent") if keeper is None else await keeper.reported(timeout_s)

    async def run(self, machine_id: str, script: str, *, timeout_s: float) -> CommandResult:
        """See :meth:`lab.desired.Hypervisor.run`. A script that takes too long has exit code 124.

        Raises:
            RuntimeError: the machine does not exist or does not run.
        """
        keeper = self._by_id(machine_id)
        if keeper is None:
            raise RuntimeError(f"machine {machine_id} does not exist")
        return await keeper.parts.run(script, timeout_s=timeout_s)

    async def power(self, name: str, action: Power) -> None:
        """Press the power switch of a machine; raise KeyError when no machine has this name."""
        await self._keepers[name].power(action)

    async def switch_on(self, machine_id: str) -> None:
        """See :meth:`lab.desired.Hypervisor.switch_on`."""
        keeper = self._by_id(machine_id)
        if keeper is not None and keeper.state.phase == "stopped":
            await keeper.power("on")

    async def cut(self, name: str) -> None:
        """Cut a gateway or a tunnel off the internet; raise LookupError when there is none of this name."""
        await self._internet.cut(name, find_cut(name, self._world))

    async def restore(self, name: str) -> None:
        """Remove a cut; raise LookupError when there is none of this name."""
        if name not in self._internet.cuts:
            raise LookupError(f"{name!r} is not cut; these are: {', '.join(self._internet.cuts) or 'none'}")
        await self._internet.restore(name)

    def tunnel_states(self, gateway_id: str) -> Mapping[str, TunnelState]:
        """See :meth:`lab.desired.Hypervisor.tunnel_states`."""
        return self._gateways.states(gateway_id)

    def report(self) -> dict[str, Any]:
        """Return everything for ``lab status``."""
        return {
            "machines": [keeper.report() for _, keeper in sorted(self._keepers.items())],
            "networks": [_network_report(network) for network in self._made.values()],
            "load_balancers": self._balancers.verdicts(),
            "gateways": self._gateways.report(),
            "cuts": sorted(self._internet.cuts),
        }

    def _by_id(self, machine_id: str) -> MachineKeeper | None:
        # Azure's identifiers do not distinguish case.
        for keeper in self._keepers.values():
            known = keeper.spec.id if keeper.spec else keeper.parts.record().get("id", "")
            if known.lower() == machine_id.lower():
                return keeper
        return None

    async def _ensure_network(self, network: Network) -> None:
        if self._made.get(network.id) == network:
            return
        await self._networks.ensure(network)
        router = router_of(network.id)
        await NameServer(router, addresses.PLATFORM).serve(network.names)
        await self._observer.network_up(network, router)
        self._made[network.id] = network

    async def _ensure_ways(self, network: Network) -> None:
        links = router_links.router_links(network, self._world)
        if links != self._ways.get(network.id, ()):
            self._ways.pop(network.id, None)
            await self._networks.ensure_ways(network, links, router_links.routes(links))
            self._ways[network.id] = links

    async def _ensure_peerings(self, peerings: tuple[Peering, ...]) -> None:
        wanted = (peerings, frozenset(self._made))
        if wanted != self._peered:
            self._peered = None
            await self._networks.ensure_peerings(peerings)
            self._peered = wanted

    async def _refresh_rules(self, network_id: str) -> None:
        async with self._lock:
            for network in self._world.networks:
                if network.id == network_id:
                    await self._apply_rules(network)

    async def _apply_rules(self, network: Network) -> None:
        chosen = [
            Healthy(balancer=balancer, backends=self._balancers.healthy(balancer.id))
            for balancer in self._world.load_balancers
        ]
        text = firewall.render(
            network=network,
            machines=self._world.machines,
            balancers=chosen,
            plan=self._networks.plan_of(network),
            router_links=router_links.router_links(network, self._world),
        )
        if self._rules.get(network.id) != text:
            await command(router_of(network.id).inside(["nft", "-f", "-"]), stdin=text)
            self._rules[network.id] = text

    def _follow_machines(self, machines: Sequence[DesiredMachine]) -> None:
        wanted = {machine.name: machine for machine in machines if _NAME.fullmatch(machine.name)}
        for machine in machines:
            if machine.name not in wanted:
                _LOG.error("machine %s: %r is no host name, the machine is not made", machine.id, machine.name)
        for name in self._present() - wanted.keys():
            if name not in self._keepers:
                _LOG.warning("orphan machine %s is in no cloud's store: it is removed", name)
                self._keepers[name] = self._keeper(name)
            keeper = self._keepers[name]
            if keeper.spec is not None or keeper.state.phase == "starting":
                keeper.follow(None)
                self._later(self._forget(keeper))
        for name, machine in wanted.items():
            if name not in self._keepers:
                self._keepers[name] = self._keeper(name)
            self._keepers[name].follow(machine)

    def _present(self) -> set[str]:
        """Return the names of all machines that run, have a disk, or have a keeper."""
        directory = self._settings.state.machines
        disks = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
        machines = {name for name in nspawn.running() if not name.startswith(PROCESS)}
        return disks | machines | set(self._keepers)

    def _keeper(self, name: str) -> MachineKeeper:
        parts = MachineParts(name, self._settings, self._networks)
        return MachineKeeper(parts, network_of=self._ready_network)

    def _ready_network(self, network_id: str) -> Network | None:
        """Return a network that machines may join; None until its rules are applied, because the rules separate the
        machines."""
        return self._made.get(network_id) if network_id in self._rules else None

    async def _forget(self, keeper: MachineKeeper) -> None:
        if await keeper.gone():
            self._keepers.pop(keeper.name, None)

    async def _remove_gone(self, wanted: Any) -> None:
        """Remove networks that are not in ``wanted``, once no machine is left in them."""
        keep = {router_of(network_id).path.name for network_id in wanted}
        await asyncio.gather(*(keeper.gone() for keeper in self._keepers.values() if keeper.spec is None))
        async with self._lock:
            if {network.id for network in self._world.networks} != set(wanted):
                return  # a later apply starts its own removal
            for network_id in [network_id for network_id in self._made if network_id not in wanted]:
                await self._guarded(f"network {network_id}", self._remove_network(network_id))
            left = asyncio.to_thread(remove_all_but, self._settings.state, self._world.network_disks)
            await self._guarded("network disks", left)
            for name in self._networks.existing() - keep:
                _LOG.warning("orphan router %s is in no cloud's store: it is removed", name)
                await self._guarded(f"router {name}", self._remove_router(name))

    async def _remove_network(self, network_id: str) -> None:
        await self._observer.network_down(network_id)
        await NameServer(router_of(network_id), addresses.PLATFORM).stop()
        await self._networks.remove(router_of(network_id))
        del self._made[network_id]
        self._ways.pop(network_id, None)
        self._gateways.forget_network(network_id)
        self._rules.pop(network_id, None)

    async def _remove_router(self, name: str) -> None:
        router = Namespace.named(name)
        await NameServer(router, addresses.PLATFORM).stop()
        await self._networks.remove(router)

    def _later(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)

    async def _guarded(self, what: str, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:  # noqa: BLE001 - one object's failure must stop no other's
            _LOG.exception("%s", what)


def _network_report(network: Network) -> dict[str, Any]:
    """Return a network for ``lab status``, with its NATs' addresses."""
    return {
        "id": network.id,
        "name": network.name,
        "ranges": [str(range_) for range_ in network.ranges],
        "egress": sorted({str(address) for subnet in network.subnets for address in subnet.egress}),
    }
