"""VPN gateways of the clouds: follows the desired gateways, dials their tunnels and watches them."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from typing import Any

from lab.desired import DesiredGateway, DesiredTunnel, Network, TunnelState
from lab.hypervisor import instances, nspawn
from lab.hypervisor.charon import NAMESPACE, PROCESS, CharonParts, connection, key_of, shared_key
from lab.hypervisor.commands import HostCommandError
from lab.hypervisor.namespaces import RUN
from lab.hypervisor.networks import Networks
from lab.hypervisor.settings import HypervisorSettings
from lab.hypervisor.tunnels import Watched
from lab.hypervisor.vici import CharonSession, Tree, ViciError

_LOG = logging.getLogger(__name__)
_LOOK_S = 2.0
"""Seconds between counts of bytes, and between dials of a tunnel that is down; changes are noticed at once."""
_RETRY_S = 2.0


class GatewayKeeper:
    """Keeps one gateway in the specified state until the gateway is removed."""

    def __init__(self, parts: CharonParts) -> None:
        self._parts = parts
        self._spec: DesiredGateway | None = None
        self._loaded: dict[str, DesiredTunnel] = {}
        """Tunnels that are loaded into this charon."""
        self._spread = ""
        """Last applied rules that divide the flows among the instances."""
        self._watched: dict[str, Watched] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.trouble = ""

    @property
    def parts(self) -> CharonParts:
        return self._parts

    @property
    def spec(self) -> DesiredGateway | None:
        return self._spec

    def follow(self, spec: DesiredGateway | None) -> None:
        """Take a new specification; None removes the gateway."""
        if spec == self._spec and self._task is not None:
            return
        self._spec = spec
        wanted = {tunnel.name for tunnel in spec.tunnels} if spec else set()
        self._watched = {name: self._watched.get(name, Watched()) for name in sorted(wanted)}
        self._changed.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep(), name=f"keeper of gateway {self._parts.key}")

    def states(self) -> dict[str, TunnelState]:
        """Return the state of each tunnel by name."""
        return {name: watched.state() for name, watched in self._watched.items()}

    async def gone(self) -> bool:
        """Wait for an ordered removal; return False when the gateway is wanted again meanwhile."""
        if self._task is not None:
            await asyncio.wait({self._task})
        return self._spec is None

    async def close(self) -> None:
        """Stop keeping the gateway, and leave it as it is."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        while self._spec is not None:
            try:
                await self._attend()
                self.trouble = ""
            except Exception as error:  # noqa: BLE001 - told as the gateway's trouble, and tried again
                if str(error) != self.trouble:
                    _LOG.exception("gateway %s", self._name())
                self.trouble = str(error) or type(error).__name__
                await self._wait(_RETRY_S)
        await self._parts.destroy()

    async def _attend(self) -> None:
        """Serve one charon, newly started or adopted, until the charon or the gateway ends."""
        process = self._parts.process()
        if process is None:
            await self._parts.stop()  # remains of a crash: mount and group
            process = await self._parts.start(self._name())
        self._loaded, self._spread = {}, ""
        session = await self._parts.connect(process)
        try:
            await self._parts.tune()
            await session.listen("child-updown", lambda _: self._changed.set())
            await session.listen("ike-updown", lambda _: self._changed.set())
            self.trouble = ""
            while self._spec is not None and process.alive():
                self._changed.clear()
                await self._load(session, self._spec)
                await self._look(session, self._spec)
                await self._divide(self._spec)
                await self._wait(_LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311
        finally:
            # If charon has ended, its tunnels are gone too; if it still runs, it is queried again.
            for watched in self._watched.values():
                watched.see([])
            await session.close()

    def _name(self) -> str:
        return self._parts.key if self._spec is None else self._spec.name

    async def _wait(self, pause: float) -> None:
        try:
            async with asyncio.timeout(pause):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _load(self, session: CharonSession, spec: DesiredGateway) -> None:
        """Make charon know exactly the tunnels of ``spec``. Loading a known tunnel again does no harm."""
        wanted = {tunnel.name: tunnel for tunnel in spec.tunnels}
        if wanted == self._loaded:
            return
        loaded = (await session.command("get-conns")).get("conns", [])
        for name in loaded if isinstance(loaded, list) else []:
            if name not in wanted or self._loaded.get(name, wanted[name]) != wanted[name]:
                await session.command("unload-conn", {"name": name})
                await self._cut(session, name)
                await session.command("unload-shared", {"id": name})
        for name, tunnel in wanted.items():
            if self._loaded.get(name) != tunnel:
                await session.command("load-shared", shared_key(tunnel))
                await session.command("load-conn", connection(tunnel))
        self._loaded = wanted

    async def _cut(self, session: CharonSession, name: str) -> None:
        try:
            await session.command("terminate", {"ike": name, "force": "yes", "timeout": "-1"})
        except ViciError:
            return  # it was not up

    async def _look(self, session: CharonSession, spec: DesiredGateway) -> None:
        """Read the state of the tunnels. Dial the tunnels that are down, if this end initiates them."""
        listed: dict[str, list[Tree]] = {tunnel.name: [] for tunnel in spec.tunnels}

        def add_association(event: Tree) -> None:
            for name, association in event.items():
                if name in listed and isinstance(association, dict):
                    listed[name].append(association)

        await session.listen("list-sa", add_association)
        await session.command("list-sas", {"noblock": "yes"})
        for name, associations in listed.items():
            if name in self._watched:
                self._watched[name].see(associations)
        for tunnel in spec.tunnels:
            watched = self._watched.get(tunnel.name)
            if tunnel.initiate and watched is not None and not listed[tunnel.name] and watched.due():
                await self._dial(session, tunnel.name)

    async def _divide(self, spec: DesiredGateway) -> None:
        """Drop the share of instances without a tunnel."""
        rules = instances.render(spec, up={name for name, watched in self._watched.items() if watched.up})
        if rules != self._spread:
            await self._parts.spread(rules)
            self._spread = rules

    async def _dial(self, session: CharonSession, name: str) -> None:
        try:
            await session.command("initiate", {"child": name, "ike": name, "timeout": "-1", "loglevel": "-1"})
        except ViciError as error:
            _LOG.warning("tunnel %s: %s", name, error)


class CloudGateways:
    """All gateways of the clouds."""

    def __init__(self, settings: HypervisorSettings, networks: Networks) -> None:
        self._settings = settings
        self._networks = networks
        self._keepers: dict[str, GatewayKeeper] = {}
        """Keepers by the keys of their gateways."""
        self._linked: dict[str, tuple[DesiredGateway, Network]] = {}
        self._removals: set[asyncio.Task[None]] = set()

    async def follow(self, gateways: Sequence[DesiredGateway], networks: Mapping[str, Network]) -> None:
        """Keep exactly these gateways. Their links exist when this returns; their tunnels come up later."""
        wanted = {key_of(gateway.id): gateway for gateway in gateways if gateway.network in networks}
        for key in self._present() - wanted.keys():
            keeper = self._keeper(key)
            self._linked.pop(key, None)
            keeper.follow(None)
            self._later(keeper)
        for key, gateway in wanted.items():
            keeper = await self._fresh(key)
            network = networks[gateway.network]
            if self._linked.get(key) != (gateway, network):
                try:
                    await keeper.parts.link(gateway, network)
                except HostCommandError:  # the next look tries this one again
                    _LOG.exception("links of gateway %s", gateway.name)
                    continue
                self._linked[key] = (gateway, network)
            keeper.follow(gateway)

    def forget_network(self, network_id: str) -> None:
        """Forget the links of gateways whose router is gone."""
        self._linked = {key: made for key, made in self._linked.items() if made[1].id != network_id}

    def states(self, gateway_id: str) -> dict[str, TunnelState]:
        """See :meth:`lab.desired.Hypervisor.tunnel_states`. Ids compare without regard to case, as in Azure."""
        for keeper in self._keepers.values():
            if keeper.spec is not None and keeper.spec.id.lower() == gateway_id.lower():
                return keeper.states()
        return {}

    def report(self) -> list[dict[str, Any]]:
        """Return the gateways for ``lab status``."""
        return [
            {
                "id": spec.id,
                "name": spec.name,
                "network": spec.network,
                "addresses": [str(address) for address in spec.addresses],
                "trouble": keeper.trouble,
                "tunnels": [_tunnel_report(tunnel, keeper.states()[tunnel.name]) for tunnel in spec.tunnels],
            }
            for keeper in self._keepers.values()
            if (spec := keeper.spec) is not None
        ]

    async def close(self) -> None:
        """Stop following; the gateways run on, and the next daemon adopts them."""
        await asyncio.gather(*(keeper.close() for keeper in self._keepers.values()))

    def _keeper(self, key: str) -> GatewayKeeper:
        if key not in self._keepers:
            self._keepers[key] = GatewayKeeper(CharonParts(key, self._settings, self._networks))
        return self._keepers[key]

    async def _fresh(self, key: str) -> GatewayKeeper:
        """Return the keeper of a wanted gateway. Wait for a removal in progress to end first, because the removal would
        also remove the gateway's new parts."""
        keeper = self._keepers.get(key)
        if keeper is not None and keeper.spec is None and await keeper.gone() and self._keepers.get(key) is keeper:
            del self._keepers[key]
        return self._keeper(key)

    def _present(self) -> set[str]:
        folder = RUN / "gateways"
        named = {path.name.removeprefix(NAMESPACE) for path in (RUN / "netns").glob(f"{NAMESPACE}*")}
        entries = {entry.name for entry in folder.iterdir()} if folder.exists() else set()
        alive = {name.removeprefix(PROCESS) for name in nspawn.running() if name.startswith(PROCESS)}
        return named | entries | alive | set(self._keepers)

    def _later(self, keeper: GatewayKeeper) -> None:
        async def forget() -> None:
            if await keeper.gone() and self._keepers.get(keeper.parts.key) is keeper:
                del self._keepers[keeper.parts.key]

        task = asyncio.create_task(forget())
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)


def _tunnel_report(tunnel: DesiredTunnel, state: TunnelState) -> dict[str, Any]:
    return {
        "name": tunnel.name,
        "local": str(tunnel.local),
        "remote": str(tunnel.remote),
        "up": state.up,
        "since": state.since,
        "bytes_in": state.bytes_in,
        "bytes_out": state.bytes_out,
    }
