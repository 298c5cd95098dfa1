"""Namespaces of people. The namespace of an environment's operator has a link to the internet and a link to each
network of the environment. The namespaces of the laptop and of the company have a link to the internet only."""

from __future__ import annotations

from collections.abc import Sequence

from lab.desired import Network
from lab.hypervisor import addresses
from lab.hypervisor.addresses import AddressRanges
from lab.hypervisor.dns import NameServer
from lab.hypervisor.networks import COMPANY, INTERNET, Networks, laptop_of, operator_of


class Operators:
    """Namespaces of the people of the lab's own environment and of its tenants. All methods are idempotent."""

    def __init__(self, networks: Networks) -> None:
        self._networks = networks

    async def ensure(self) -> None:
        """Make the namespaces of the lab's own environment and of the company."""
        await NameServer(INTERNET, addresses.INTERNET_DNS).serve({})
        await self._networks.ensure_outside(COMPANY, addresses.COMPANY)
        await self._ensure_places(self._networks.own_plan)
        await self.serve_names(())

    async def admit(self, plan: AddressRanges, networks: Sequence[Network]) -> None:
        """Make the namespaces of a tenant."""
        if self._networks.tenants.get(plan.tenant) != plan:
            self._networks.tenants[plan.tenant] = plan
            await self._ensure_places(plan)
            await self.serve_names(networks)

    async def dismiss(self, tenant: str) -> None:
        """Remove the namespaces of a tenant, whose networks must be gone."""
        if (plan := self._networks.tenants.pop(tenant, None)) is not None:
            await NameServer(operator_of(plan), addresses.INTERNET_DNS).stop()
            await self._networks.remove_places(plan)

    async def serve_names(self, networks: Sequence[Network]) -> None:
        """Serve each operator the names of its environment's networks only."""
        for plan in self._networks.plans():
            mine = (network for network in networks if self._networks.plan_of(network) == plan)
            names = {name: address for network in mine for name, address in network.names.items()}
            await NameServer(operator_of(plan), addresses.INTERNET_DNS).serve(names)

    async def _ensure_places(self, plan: AddressRanges) -> None:
        await self._networks.ensure_operator(plan)
        await self._networks.ensure_outside(laptop_of(plan), plan.laptop)
