"""The lab's one asyncio process: the clouds, the hypervisor that follows them, and their sockets."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from aiohttp import web

from components.model import load, plan
from lab import control, depot_authority, hosts, operator
from lab.cloud.delays import Delays
from lab.config import LabConfig
from lab.desired import Hypervisor, Network, World
from lab.hypervisor import HypervisorSettings, LabHypervisor
from lab.hypervisor.addresses import DEPOT, METADATA, SERVICES, SITE_SERVICES
from lab.hypervisor.namespaces import Namespace, listening
from lab.oidc.company import CompanyKeeper
from lab.state import LabState
from lab.tenant_ports import TenantPorts, open_port

_LOG = logging.getLogger("lab.daemon")


class CloudServices(Protocol):
    """Interface of the clouds that the daemon needs; :class:`lab.cloud.app.LabClouds` implements it."""

    @property
    def ca_certificate(self) -> Path: ...

    def internet_app(self) -> web.Application: ...

    def site_app(self, network_id: str) -> web.Application: ...

    def metadata_app(self, network_id: str) -> web.Application: ...

    def ssl_context(self) -> ssl.SSLContext: ...

    def operator_environment(self) -> dict[str, str]: ...

    def warn_spot(self, instance_id: str, notice: str) -> None: ...

    def limit_machines(self, kind: str, zone: str, count: int | None, error: str) -> None: ...

    def govern(self, action: str) -> None: ...

    async def run(self) -> None: ...

    async def close(self) -> None: ...


class CloudFactory(Protocol):
    """Makes the clouds."""

    def __call__(
        self,
        *,
        state_dir: Path,
        hypervisor: Hypervisor,
        images: Mapping[str, str],
        regions: Sequence[str],
        delays: Delays,
        request_limits: bool,
    ) -> CloudServices: ...


class Sites:
    """Serves the clouds inside each network: the service endpoint and the depot over TLS, metadata unencrypted."""

    def __init__(self, depot: Path | None) -> None:
        self._depot = depot
        self._cloud: CloudServices | None = None
        self._runners: dict[str, list[web.AppRunner]] = {}

    def attach(self, cloud: CloudServices) -> None:
        """Set the clouds. They are made after the hypervisor, which calls this object."""
        self._cloud = cloud

    def ca(self) -> bytes:
        """Return the clouds' CA certificate in PEM; empty before there are clouds."""
        return b"" if self._cloud is None else self._cloud.ca_certificate.read_bytes()

    async def network_up(self, network: Network, router: Namespace) -> None:
        """See :class:`lab.hypervisor.reconcile.NetworkObserver`."""
        if network.id in self._runners or self._cloud is None:
            return
        site = await router.listen(str(SITE_SERVICES), 443)
        self._runners[network.id] = [await serve(self._cloud.site_app(network.id), site, tls=self._cloud.ssl_context())]
        if network.metadata:
            listener = await router.listen(str(METADATA), 80)
            self._runners[network.id].append(await serve(self._cloud.metadata_app(network.id), listener))
        if self._depot is not None:
            listener = await router.listen(str(DEPOT), 443)
            app = depot_app(self._depot)
            self._runners[network.id].append(await serve(app, listener, tls=depot_authority.server_context()))

    async def network_down(self, network_id: str) -> None:
        """See :class:`lab.hypervisor.reconcile.NetworkObserver`."""
        for runner in self._runners.pop(network_id, []):
            await runner.cleanup()

    async def close(self) -> None:
        for network_id in list(self._runners):
            await self.network_down(network_id)


def depot_app(root: Path) -> web.Application:
    """Return the depot's application; every place that serves the depot needs its own."""
    app: web.Application = importlib.import_module("longhaul.artifacts.http_app").depot_app(root)
    return app


async def serve(app: web.Application, listener: socket.socket, *, tls: ssl.SSLContext | None = None) -> web.AppRunner:
    """Serve ``app`` on a listening socket until the runner is cleaned up."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.SockSite(runner, listener, ssl_context=tls).start()
    return runner


class Daemon:
    """Makes the parts of the lab, and connects them."""

    def __init__(self, state: LabState, config: LabConfig, host_net_fd: int) -> None:
        self._state = state
        self._config = config
        self._host_net_fd = host_net_fd

    async def run(self) -> None:
        """Serve until cancelled."""
        config, state, sites = self._config, self._state, Sites(self._depot())
        hypervisor = LabHypervisor(self._settings(sites.ca), observer=sites)
        cloud = self._make_cloud(hypervisor)
        sites.attach(cloud)
        await hypervisor.start()
        await hypervisor.stand(self._hosts())
        credentials = cloud.operator_environment()
        operator.write_files(state, config, credentials, plan=config.plan())
        internet = [await serve(cloud.internet_app(), listening(str(SERVICES), 443), tls=cloud.ssl_context())]
        if (depot := self._depot()) is not None:
            tls = depot_authority.server_context()
            internet.append(await serve(depot_app(depot), listening(str(DEPOT), 443), tls=tls))
        host = Path(f"/proc/self/fd/{self._host_net_fd}")
        loopback = await open_port(config, host)
        tenant_ports = TenantPorts(state=state, hypervisor=hypervisor, host_net=host, cloud_environment=credentials)
        await tenant_ports.follow()

        async def refresh() -> None:
            if LabConfig.read(state) != config:
                # Its configuration has changed. Process 1 starts a new daemon, which adopts the machines.
                signal.raise_signal(signal.SIGTERM)
                return
            await hypervisor.stand(self._hosts())
            await tenant_ports.follow()

        orders = control.application(hypervisor, env=state.env, refresh=refresh, switches=cloud)
        answers = await serve(orders, control.listener(state))
        company = CompanyKeeper(state, Path(config.company)) if config.company else None
        if company is not None:
            company.start()
        _LOG.info("ready")
        try:
            await cloud.run()
        finally:
            loopback.close()
            tenant_ports.close()
            if company is not None:
                await company.close()
            await answers.cleanup()
            for runner in internet:
                await runner.cleanup()
            await sites.close()
            await hypervisor.close()
            await cloud.close()

    def _make_cloud(self, hypervisor: Hypervisor) -> CloudServices:
        module, _, name = self._config.cloud.partition(":")
        factory: CloudFactory = getattr(importlib.import_module(module), name)
        return factory(
            state_dir=self._state.cloud,
            hypervisor=hypervisor,
            images=self._config.images,
            regions=self._config.regions,
            delays=Delays(self._config.delays, seed=self._state.env),
            request_limits=True,
        )

    def _depot(self) -> Path | None:
        return Path(self._config.depot) if self._config.depot else None

    def _hosts(self) -> World:
        """Return the world of the environment's racks, from the current hosts file."""
        if not self._config.stack:
            return World()
        environment = load(Path(self._config.stack))
        return hosts.hosts_world(environment, plan(environment), authorized_key=operator.authorized_key(self._state))

    def _settings(self, ca: Callable[[], bytes]) -> HypervisorSettings:
        return HypervisorSettings(
            state=self._state,
            plan=self._config.plan(),
            rootfs=Path(self._config.rootfs),
            images={hosts.IMAGE: Path(self._config.bare_rootfs or self._config.rootfs)},
            gateway_rootfs=Path(self._config.gateway_rootfs) if self._config.gateway_rootfs else None,
            gpu_library=Path(self._config.gpu_library) if self._config.gpu_library else None,
            ca=ca,
            boot_timeout_s=self._config.boot_timeout_s,
        )


async def _main(daemon: Daemon) -> None:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await daemon.run()


def main(argv: list[str] | None = None) -> int:
    """Run the daemon; process 1 starts it."""
    parser = argparse.ArgumentParser(prog="lab.daemon")
    parser.add_argument("--env", required=True)
    parser.add_argument("--state-root", required=True, type=Path)
    parser.add_argument("--host-net-fd", required=True, type=int)
    options = parser.parse_args(argv)
    os.set_inheritable(options.host_net_fd, False)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    state = LabState.of(options.env, root=options.state_root)
    try:
        asyncio.run(_main(Daemon(state, LabConfig.read(state), options.host_net_fd)))
    except asyncio.CancelledError:
        _LOG.info("asked to end")
        return 0
    except Exception:  # noqa: BLE001 - whatever it is belongs in the log, and process 1 starts the daemon again
        _LOG.exception("the daemon cannot continue")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
