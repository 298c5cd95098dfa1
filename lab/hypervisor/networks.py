"""Routers: one network namespace per virtual network, and one veth pair per machine.

There is no bridge. A machine believes its subnet to be one link; its router answers every ARP request (``proxy_arp``)
and has a host route to each machine, so that every packet between two machines passes the router's rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Address

from lab.desired import Machine, Network
from lab.hypervisor import addresses
from lab.hypervisor.addresses import Plan
from lab.hypervisor.namespaces import RUN, Namespace

INTERNET = Namespace(RUN / "netns" / "internet")
"""The lab's own namespace, bound here by process 1."""
OPERATOR = Namespace.named("operator")

ROUTER_SYSCTL = {
    "net/ipv4/ip_forward": "1",
    # Every address behind a router is checked by the rules; the kernel's own filter would drop asymmetric links.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    # A router that sends redirects would teach machines a way past itself.
    "net/ipv4/conf/all/send_redirects": "0",
    "net/ipv4/conf/default/send_redirects": "0",
}


def router_of(network_id: str) -> Namespace:
    """The router of a network, made or not."""
    return Namespace.named(f"net-{addresses.hashed(network_id)}")


def machine_namespace(name: str) -> Namespace:
    """The network namespace of a machine, made or not."""
    return Namespace.named(f"vm-{name}")


@dataclass(frozen=True)
class Networks:
    """Makes routers and links agree with what is asked. All methods are idempotent."""

    plan: Plan

    async def ensure(self, network: Network) -> None:
        """Make the router of ``network`` and its links to the internet and the operator."""
        router = router_of(network.id)
        await router.create()
        await router.set_sysctl(ROUTER_SYSCTL)
        local = [addresses.PLATFORM, addresses.METADATA, addresses.SITE_SERVICES]
        local += [subnet.range[1] for subnet in network.subnets]
        await self._own(router, "lo", local)
        await self._uplink(router, network)
        await self._operator_link(router, network)
        # Whatever is in the ranges and is no machine goes to lo, where the rules drop it: the router then answers ARP
        # for it, and who calls an address that is not there waits in vain, as in a cloud.
        await router.ip([f"route replace {range_} dev lo" for range_ in network.ranges])

    async def remove(self, router: Namespace) -> None:
        """Remove a router. Its machines must be gone."""
        name = addresses.short("n", router.path.name.removeprefix("net-"))
        await INTERNET.ip([f"link del {name}"], force=True)
        await OPERATOR.ip([f"link del {name}"], force=True)
        await router.delete()

    def existing(self) -> set[str]:
        """The files of all routers, whoever made them."""
        return {path.name for path in (RUN / "netns").glob("net-*")}

    async def attach(self, machine: Machine, network: Network) -> Namespace:
        """A fresh namespace for ``machine``, joined to its router, with its address and default route."""
        router, inside = router_of(machine.network), machine_namespace(machine.name)
        await self.detach(machine.name, machine.network)
        await inside.create()
        link = addresses.machine_link(machine.name)
        mac = addresses.hardware_address(machine.id, machine.generation)
        await router.ip([f"link add {link} type veth peer name eth0 address {mac} netns {inside.path}"])
        await router.set_sysctl({f"net/ipv4/conf/{link}/proxy_arp": "1", f"net/ipv4/neigh/{link}/proxy_delay": "0"})
        await router.ip([f"link set {link} up", f"route replace {machine.address.ip}/32 dev {link}"])
        gateway = gateway_of(machine, network)
        await inside.ip(
            [
                f"addr replace {machine.address} dev eth0",
                "link set eth0 up",
                f"route replace default via {gateway} dev eth0 onlink",
            ]
        )
        return inside

    async def detach(self, machine: str, network_id: str) -> None:
        """Remove a machine's link and namespace."""
        router = router_of(network_id)
        if router.exists():
            await router.ip([f"link del {addresses.machine_link(machine)}"], force=True)
        await machine_namespace(machine).delete()

    async def ensure_operator(self) -> None:
        """Make the operator's namespace with a leg to the internet."""
        await OPERATOR.create()
        await OPERATOR.set_sysctl({"net/ipv4/conf/all/rp_filter": "0", "net/ipv4/conf/default/rp_filter": "0"})
        await self._own(OPERATOR, "lo", [self.plan.operator])
        await self._pair(INTERNET, "operator", OPERATOR, addresses.UPLINK)
        await self._own(OPERATOR, addresses.UPLINK, [addresses.OPERATOR_PUBLIC])
        await OPERATOR.ip([f"route replace default via {addresses.INTERNET_GATEWAY} dev {addresses.UPLINK} onlink"])
        await INTERNET.ip([f"route replace {addresses.OPERATOR_PUBLIC}/32 dev operator"])

    async def _uplink(self, router: Namespace, network: Network) -> None:
        name = addresses.network_link(network.id)
        egress = sorted({subnet.egress for subnet in network.subnets if subnet.egress is not None})
        if not egress:
            await INTERNET.ip([f"link del {name}"], force=True)
            await router.ip(["route replace default dev lo"])
            return
        await self._pair(INTERNET, name, router, addresses.UPLINK)
        await self._own(router, addresses.UPLINK, list(egress))
        await INTERNET.ip([f"route replace {address}/32 dev {name}" for address in egress])
        await router.ip([f"route replace default via {addresses.INTERNET_GATEWAY} dev {addresses.UPLINK} onlink"])

    async def _operator_link(self, router: Namespace, network: Network) -> None:
        name = addresses.network_link(network.id)
        await self._pair(OPERATOR, name, router, addresses.OPERATOR_LINK)
        await router.ip([f"route replace {self.plan.operator}/32 dev {addresses.OPERATOR_LINK}"])
        await router.set_sysctl({f"net/ipv4/conf/{addresses.OPERATOR_LINK}/proxy_arp": "1"})
        await OPERATOR.ip([f"route replace {range_} dev {name} src {self.plan.operator}" for range_ in network.ranges])

    async def _pair(self, near: Namespace, near_name: str, far: Namespace, far_name: str) -> None:
        links = {link["ifname"] for link in json.loads(await near.query("link", "show"))}
        if near_name not in links:
            await near.ip([f"link add {near_name} type veth peer name {far_name} netns {far.path}"])
        await near.ip([f"link set {near_name} up"])
        await far.ip([f"link set {far_name} up"])

    async def _own(self, namespace: Namespace, interface: str, wanted: list[IPv4Address]) -> None:
        """Give ``interface`` exactly the ``wanted`` addresses, each as a /32."""
        shown = json.loads(await namespace.query("-4", "addr", "show", "dev", interface))
        held = {item["local"] for link in shown for item in link.get("addr_info", ()) if item["prefixlen"] == 32}
        extra = held - {str(address) for address in wanted}
        await namespace.ip(
            [f"addr replace {address}/32 dev {interface}" for address in wanted]
            + [f"addr del {address}/32 dev {interface}" for address in sorted(extra)]
        )


def gateway_of(machine: Machine, network: Network) -> IPv4Address:
    """The router's address in the machine's subnet; raises ValueError when no subnet holds the machine."""
    for subnet in network.subnets:
        if machine.address.ip in subnet.range:
            return subnet.range[1]
    ranges = ", ".join(f"{subnet.name} {subnet.range}" for subnet in network.subnets)
    raise ValueError(
        f"machine {machine.name}: address {machine.address.ip} is in no subnet of {network.name} ({ranges})"
    )
