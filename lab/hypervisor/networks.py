"""Routers: one network namespace for each virtual network, and one veth pair for each machine.

There is no bridge. A machine treats its subnet as one link. Its router answers every ARP request (``proxy_arp``) and
has a host route to each machine, so every packet between two machines passes the router's rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network

from lab.desired import DesiredMachine, Network, Peering
from lab.hypervisor import addresses
from lab.hypervisor.addresses import AddressRanges
from lab.hypervisor.namespaces import RUN, Namespace
from lab.hypervisor.router_links import RouterLink

INTERNET = Namespace(RUN / "netns" / "internet")
"""The lab's network namespace, which process 1 binds to this path."""
COMPANY = Namespace.named("company")
"""Network namespace of the services that the users' company runs itself."""

ROUTER_SYSCTL = {
    "net/ipv4/ip_forward": "1",
    # The rules check every address behind a router; the kernel's own filter would drop packets of asymmetric links.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    # A router that sent redirects would teach machines a route that bypasses it.
    "net/ipv4/conf/all/send_redirects": "0",
    "net/ipv4/conf/default/send_redirects": "0",
}

_WAYS = "201"
"""Protocol number that marks routes to other networks, so that the lab finds these routes later."""
_DELIVERED = "202"
"""Protocol number that marks routes to ranges that the network delivers to machines besides their addresses."""


def operator_of(plan: AddressRanges) -> Namespace:
    """Return the namespace of an environment's operator."""
    return Namespace.named(plan.place)


def laptop_of(plan: AddressRanges) -> Namespace:
    """Return the namespace of an environment's laptop."""
    return Namespace.named(plan.laptop_place)


def router_of(network_id: str) -> Namespace:
    """Return the router of a network; the router need not exist."""
    return Namespace.named(f"net-{addresses.hashed(network_id)}")


def machine_namespace(name: str) -> Namespace:
    """Return the network namespace of a machine; the namespace need not exist."""
    return Namespace.named(f"vm-{name}")


@dataclass(frozen=True)
class Networks:
    """Makes routers and links as they are requested. All methods are idempotent."""

    own_plan: AddressRanges
    """Plan of the lab's own environment."""
    tenants: dict[str, AddressRanges] = field(default_factory=dict)
    """Plans of the lab's tenants, by name."""

    def plans(self) -> tuple[AddressRanges, ...]:
        """Return the plans of all environments, the lab's own first."""
        return (self.own_plan, *self.tenants.values())

    def plan_of(self, network: Network) -> AddressRanges:
        """Return the plan of the environment to which a network belongs. Supernets are disjoint; a network in no
        tenant's supernet belongs to the lab's own environment."""
        owners = (plan for plan in self.tenants.values() if network.ranges[0].subnet_of(plan.supernet))
        return next(owners, self.own_plan)

    def plan_at(self, address: IPv4Address) -> AddressRanges:
        """Return the plan of the environment to which an address belongs."""
        owners = (plan for plan in self.tenants.values() if address in plan.supernet)
        return next(owners, self.own_plan)

    async def ensure(self, network: Network) -> None:
        """Make the router of ``network`` and its links to the internet and the operator."""
        router = router_of(network.id)
        await router.create()
        await router.set_sysctl(ROUTER_SYSCTL)
        local = [addresses.PLATFORM, addresses.METADATA, addresses.SITE_SERVICES, addresses.DEPOT]
        local += [subnet.range[1] for subnet in network.subnets]
        await self.set_addresses(router, "lo", local)
        await self._uplink(router, network)
        await self._operator_link(router, network)
        # Addresses of the ranges that no machine has are routed to lo, where the rules drop them. So the router answers
        # ARP for them, and a client of such an address waits in vain, as in a cloud.
        await router.ip([f"route replace {range_} dev lo" for range_ in network.ranges])

    async def remove(self, router: Namespace) -> None:
        """Remove a router. Its machines must be gone."""
        name = addresses.short("n", router.path.name.removeprefix("net-"))
        for namespace in (INTERNET, *map(operator_of, self.plans())):
            await namespace.ip([f"link del {name}"], force=True)
        await router.delete()

    def existing(self) -> set[str]:
        """Return the file names of all routers, whichever daemon made them."""
        return {path.name for path in (RUN / "netns").glob("net-*")}

    async def attach(self, machine: DesiredMachine, network: Network) -> Namespace:
        """Make a fresh namespace for ``machine``, linked to its router, with its address and default route."""
        router, inside = router_of(machine.network), machine_namespace(machine.name)
        await self.detach(machine.name, machine.network)
        await inside.create()
        link = addresses.machine_link(machine.name)
        mac = addresses.hardware_address(machine.id, machine.generation)
        await router.ip([f"link add {link} type veth peer name eth0 address {mac} netns {inside.path}"])
        await router.set_sysctl({f"net/ipv4/conf/{link}/proxy_arp": "1", f"net/ipv4/neigh/{link}/proxy_delay": "0"})
        await router.ip([f"link set {link} up", f"route replace {machine.address.ip}/32 dev {link}"])
        if machine.routed:
            await self.deliver(machine)
        await inside.ip([f"addr replace {machine.address} dev eth0", "link set eth0 up"])
        gateway = gateway_of(machine, network)
        await inside.ip(
            [f"route replace {target} via {gateway} dev eth0 onlink" for target in self._near(machine, network)]
        )
        if machine.public is not None:
            await self._publish(machine, machine.public, inside)
        return inside

    def _near(self, machine: DesiredMachine, network: Network) -> list[str]:
        """Return the destinations that a machine reaches through its router: all, unless it has an interface on the
        internet."""
        if machine.public is None:
            return ["default"]
        services = (addresses.PLATFORM, addresses.METADATA, addresses.DEPOT, self.plan_of(network).operator)
        return [*map(str, network.ranges), *(f"{address}/32" for address in services)]

    async def _publish(self, machine: DesiredMachine, public: IPv4Address, inside: Namespace) -> None:
        link = addresses.public_link(machine.name)
        await INTERNET.ip([f"link add {link} type veth peer name eth1 netns {inside.path}", f"link set {link} up"])
        await INTERNET.ip([f"route replace {public}/32 dev {link}"])
        await inside.ip(
            [
                f"addr replace {public}/32 dev eth1",
                "link set eth1 up",
                f"route replace default via {addresses.INTERNET_GATEWAY} dev eth1 onlink src {public}",
            ]
        )

    async def deliver(self, machine: DesiredMachine) -> None:
        """Route the ranges that the network delivers besides its address to an attached machine. If two machines have
        the same range, like a rack's two gateways, the machine with the lower address gets the range while it runs."""
        link, metric = addresses.machine_link(machine.name), int(machine.address.ip) - int(machine.address.network[0])
        router_links = {
            str(range_): f"via {machine.address.ip} dev {link} onlink metric {metric}" for range_ in machine.routed
        }
        await self._route(router_of(machine.network), link, router_links, protocol=_DELIVERED)

    async def _route(self, router: Namespace, link: str, wanted: Mapping[str, str], *, protocol: str) -> None:
        """Replace the routes of a protocol on ``link`` by ``wanted``."""
        shown = json.loads(await router.query("-4", "route", "show", "dev", link, "protocol", protocol))
        await router.ip(
            [f"route replace {target} {router_link} proto {protocol}" for target, router_link in wanted.items()]
        )
        gone = {str(IPv4Network(route["dst"])) for route in shown} - set(wanted)
        await router.ip([f"route del {target} dev {link} proto {protocol}" for target in sorted(gone)])

    async def detach(self, machine: str, network_id: str) -> None:
        """Remove a machine's links and namespace."""
        router = router_of(network_id)
        if router.exists():
            await router.ip([f"link del {addresses.machine_link(machine)}"], force=True)
        await INTERNET.ip([f"link del {addresses.public_link(machine)}"], force=True)
        await machine_namespace(machine).delete()

    async def join(self, gateway_id: str, network: Network, inside: Namespace) -> None:
        """Join a gateway's namespace (``eth0``) to the router of its network."""
        await self._pair(router_of(network.id), addresses.gateway_link(gateway_id), inside, "eth0")

    async def expose(self, link: str, inside: Namespace, public: Sequence[IPv4Address]) -> None:
        """Join a namespace to the internet with these addresses, and remove any others."""
        await self._pair(INTERNET, link, inside, addresses.UPLINK)
        await self.set_addresses(inside, addresses.UPLINK, public)
        await INTERNET.ip([f"route replace {address}/32 dev {link}" for address in public])
        await inside.ip([f"route replace default via {addresses.INTERNET_GATEWAY} dev {addresses.UPLINK} onlink"])

    async def part(self, key: str) -> None:
        """Remove the links of the gateway with this key from all namespaces."""
        for namespace in (INTERNET, *map(Namespace.named, self.existing())):
            await namespace.ip([f"link del g-{key}"], force=True)

    async def ensure_peerings(self, peerings: Sequence[Peering]) -> None:
        """Join the routers of peered networks, and remove the links of former peerings."""
        wanted = {addresses.peering_link(peering.id): peering for peering in peerings}
        for router in map(Namespace.named, self.existing()):
            links = {link["ifname"] for link in json.loads(await router.query("link", "show"))}
            gone = [name for name in links if name.startswith("p-") and name not in wanted]
            await router.ip([f"link del {name}" for name in gone], force=True)
        for link, peering in wanted.items():
            first, second = router_of(peering.first), router_of(peering.second)
            if first.exists() and second.exists():
                await self._pair(first, link, second, link)

    async def ensure_ways(
        self, network: Network, router_links: Sequence[RouterLink], chosen: Mapping[IPv4Network, RouterLink]
    ) -> None:
        """Make the routes of ``chosen`` to other networks, over ``router_links``."""
        router = router_of(network.id)
        for router_link in router_links:
            await self.set_addresses(router, router_link.link, [router_link.near])
            routes = {
                str(target): f"via {router_link.hop} dev {router_link.link} onlink"
                for target, by in chosen.items()
                if by is router_link
            }
            await self._route(router, router_link.link, routes, protocol=_WAYS)

    async def ensure_operator(self, plan: AddressRanges) -> None:
        """Make the namespace of an environment's operator, with a link to the internet."""
        inside = operator_of(plan)
        await inside.create()
        await inside.set_sysctl({"net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/default/rp_filter": "0"})
        # Private names belong to an environment, so its operator has a name server of its own.
        await self.set_addresses(inside, "lo", [plan.operator, addresses.INTERNET_DNS])
        await self.expose(plan.place, inside, [plan.public])

    async def ensure_outside(self, inside: Namespace, address: IPv4Address) -> None:
        """Make a namespace whose only link leads to the internet."""
        await inside.create()
        await self.expose(inside.path.name, inside, [address])

    async def remove_places(self, plan: AddressRanges) -> None:
        """Remove the namespaces of an environment's operator and laptop, with their links."""
        for inside in (operator_of(plan), laptop_of(plan)):
            await INTERNET.ip([f"link del {inside.path.name}"], force=True)
            await inside.delete()

    async def _uplink(self, router: Namespace, network: Network) -> None:
        name = addresses.network_link(network.id)
        known = {*(address for subnet in network.subnets for address in subnet.egress), *network.public}
        if not known:
            await INTERNET.ip([f"link del {name}"], force=True)
            await router.ip(["route replace default dev lo"])
            return
        await self.expose(name, router, sorted(known))

    async def _operator_link(self, router: Namespace, network: Network) -> None:
        name, plan = addresses.network_link(network.id), self.plan_of(network)
        inside = operator_of(plan)
        await self._pair(inside, name, router, addresses.OPERATOR_LINK)
        await router.ip([f"route replace {plan.operator}/32 dev {addresses.OPERATOR_LINK}"])
        await router.set_sysctl({f"net/ipv4/conf/{addresses.OPERATOR_LINK}/proxy_arp": "1"})
        await inside.ip([f"route replace {range_} dev {name} src {plan.operator}" for range_ in network.ranges])

    async def _pair(self, near: Namespace, near_name: str, far: Namespace, far_name: str) -> None:
        links = {link["ifname"] for link in json.loads(await near.query("link", "show"))}
        if near_name not in links:
            await near.ip([f"link add {near_name} type veth peer name {far_name} netns {far.path}"])
        await near.ip([f"link set {near_name} up"])
        await far.ip([f"link set {far_name} up"])

    async def set_addresses(self, namespace: Namespace, interface: str, wanted: Sequence[IPv4Address]) -> None:
        """Give ``interface`` exactly the ``wanted`` addresses, each as a /32."""
        shown = json.loads(await namespace.query("-4", "addr", "show", "dev", interface))
        present = {item["local"] for link in shown for item in link.get("addr_info", ()) if item["prefixlen"] == 32}
        extra = present - {str(address) for address in wanted}
        await namespace.ip(
            [f"addr replace {address}/32 dev {interface}" for address in wanted]
            + [f"addr del {address}/32 dev {interface}" for address in sorted(extra)]
        )


def gateway_of(machine: DesiredMachine, network: Network) -> IPv4Address:
    """Return the router's address in the machine's subnet; raises ValueError when no subnet holds the machine."""
    for subnet in network.subnets:
        if machine.address.ip in subnet.range:
            return subnet.range[1]
    ranges = ", ".join(f"{subnet.name} {subnet.range}" for subnet in network.subnets)
    raise ValueError(
        f"machine {machine.name}: address {machine.address.ip} is in no subnet of {network.name} ({ranges})"
    )
