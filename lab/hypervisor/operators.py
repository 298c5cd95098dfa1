"""Operators of environments: each has a namespace, with a link to the internet and one to each network of its
environment."""

from __future__ import annotations

from collections.abc import Sequence

from lab.desired import Network
from lab.hypervisor import addresses
from lab.hypervisor.addresses import Plan
from lab.hypervisor.dns import NameServer
from lab.hypervisor.networks import INTERNET, Networks, operator_of


class Operators:
    """Namespaces of the operators of the lab's own environment and of its tenants. All methods are idempotent."""

    def __init__(self, networks: Networks) -> None:
        self._networks = networks

    async def ensure(self) -> None:
        """Make the namespace of the lab's own operator."""
        await self._networks.ensure_operator(self._networks.own_plan)
        await self.serve_names(())

    async def admit(self, plan: Plan, networks: Sequence[Network]) -> None:
        """Make the namespace of a tenant's operator."""
        if self._networks.tenants.get(plan.tenant) != plan:
            self._networks.tenants[plan.tenant] = plan
            await self._networks.ensure_operator(plan)
            await self.serve_names(networks)

    async def dismiss(self, tenant: str) -> None:
        """Remove the namespace of a tenant's operator; the tenant's networks are gone by then."""
        if (plan := self._networks.tenants.pop(tenant, None)) is not None:
            await NameServer(operator_of(plan), addresses.INTERNET_DNS).stop()
            await self._networks.remove_operator(plan)

    async def serve_names(self, networks: Sequence[Network]) -> None:
        """Serve each operator the names of its environment's networks. A laptop would use its site's name server
        through the VPN, which knows all private names of its environment and of no other."""
        for plan in self._networks.plans():
            mine = (network for network in networks if self._networks.plan_of(network) == plan)
            names = {name: address for network in mine for name, address in network.names.items()}
            place = operator_of(plan) if plan.tenant else INTERNET
            await NameServer(place, addresses.INTERNET_DNS).serve(names)
