"""Serves the lab's tenants in the daemon: it keeps each tenant's operator, files and loopback port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab import operator
from lab.config import LabConfig
from lab.hypervisor import LabHypervisor
from lab.hypervisor.namespaces import call_in, listening
from lab.hypervisor.networks import operator_of
from lab.state import LabState
from lab.tenants import tenants_of

_LOG = logging.getLogger("lab.tenant_ports")


async def open_port(config: LabConfig, host_net: Path, *, tenant: str = "") -> asyncio.Server:
    """Open the loopback port of an environment; it connects to the environment's API from its operator's namespace."""
    forwarder = operator.Forwarder(config.api(), place=operator_of(config.plan(tenant)))
    listener = await call_in(host_net, lambda: listening("127.0.0.1", config.port))
    return await asyncio.start_server(forwarder.accept, sock=listener)


@dataclass(frozen=True, kw_only=True)
class TenantPorts:
    """Follows the state folders of the lab's tenants."""

    state: LabState
    hypervisor: LabHypervisor
    host_net: Path
    """Network namespace of the host, as a path."""
    cloud_environment: Mapping[str, str]
    """Environment variables of the clouds for operators; all operators share one directory, one subscription and one
    account."""
    _ports: dict[str, asyncio.Server] = field(default_factory=dict, init=False)

    async def follow(self) -> None:
        """Admit new tenants, and dismiss those that have left. Raise OSError for a port that is in use."""
        tenants = {state.env: state for state in tenants_of(self.state)}
        for env in self._ports.keys() - tenants.keys():
            self._ports.pop(env).close()
            await self.hypervisor.dismiss(env)
            _LOG.info("%s is no longer beside %s", env, self.state.env)
        for env, state in tenants.items():
            if env not in self._ports:
                await self._admit(state)
                _LOG.info("%s is beside %s", env, self.state.env)

    async def _admit(self, state: LabState) -> None:
        config = LabConfig.read(state)
        plan = config.plan(state.env)
        await self.hypervisor.admit(plan)
        operator.authorized_key(state)
        operator.write_files(state, config, self.cloud_environment, plan=plan)
        self._ports[state.env] = await open_port(config, self.host_net, tenant=state.env)

    def close(self) -> None:
        """Close the ports."""
        for server in self._ports.values():
            server.close()
