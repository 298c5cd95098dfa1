"""The address plan: every range of an environment, computed from one supernet.

A site's block of prefix length *p* is laid out so that each part is one range, whatever the block's size:

========  ==================  ==========================================
Part      Prefix              Of a /16
========  ==================  ==========================================
infra     p+4, first          x.y.0.0/20: sixteen subnets of p+8 (/24)
nodes     p+3, second         x.y.32.0/19
pods      p+1, second         x.y.128.0/17: 2,048 nodes of /28
========  ==================  ==========================================

The last sixteenth of the supernet belongs to no site: its first half is for services, the next quarter for operators'
machines, and the last quarter for laptops in tunnels of the VPN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from components.model.environment import Environment
from components.model.network.site_ranges import nth_subnet, shared_range, site_ranges
from contract.documents.node_place import POD_PREFIX

INFRA_SUBNETS = ("gateway", "etcd", "events", "api", "system", "vpn")
"""Subnets of the infrastructure range, one sixteenth each, in order. Clouds may use the rest for subnets of their
own."""

FIRST_MACHINE = 10
"""Offset of a role's first machine in its subnet. Azure reserves the first four addresses and the last one
(learn.microsoft.com, "Azure Virtual Network FAQ"), and the load balancer's offset is :data:`FRONTEND`."""

LAPTOPS_PREFIX = 23
"""Prefix length of the range of one VPN machine's tunnels: 509 laptops, beside the machine itself."""

FRONTEND = 5
"""Offset of the API's load balancer in the ``api`` subnet."""


@dataclass(frozen=True, kw_only=True)
class SitePlan:
    """One site's ranges."""

    block: IPv4Network
    infra: IPv4Network
    nodes: IPv4Network
    pods: IPv4Network

    def subnet(self, part: str) -> IPv4Network:
        """Return the infrastructure subnet of ``part``, one of :data:`INFRA_SUBNETS`."""
        return nth_subnet(self.infra, self.infra.prefixlen + 4, INFRA_SUBNETS.index(part))

    def zone_subnet(self, index: int) -> IPv4Network:
        """Return the node subnet of availability zone ``index``; a site has at most four."""
        return nth_subnet(self.nodes, self.nodes.prefixlen + 2, index)

    def zone_pods(self, index: int) -> IPv4Network:
        """Return the pod range of availability zone ``index``; a site has at most four."""
        return nth_subnet(self.pods, self.pods.prefixlen + 2, index)

    @property
    def hosts(self) -> int:
        """Return the number of bare-metal hosts for which the block has node addresses and pod ranges."""
        return min(machine_capacity(self.nodes), 1 << (POD_PREFIX - self.pods.prefixlen))

    def node_address(self, index: int) -> IPv4Address:
        """Return the address of the site's bare-metal host ``index``; raise ``IndexError`` when the node range is
        full."""
        return machine_address(self.nodes, index)

    def pod_range(self, index: int) -> IPv4Network:
        """Return the pod range of the site's bare-metal host ``index``; raise ``IndexError`` when the pod range is
        full."""
        return nth_subnet(self.pods, POD_PREFIX, index)


@dataclass(frozen=True, kw_only=True)
class AddressPlan:
    """Every range of an environment."""

    supernet: IPv4Network
    sites: Mapping[str, SitePlan]
    services: IPv4Network
    operators: IPv4Network
    laptops: IPv4Network
    """Addresses inside the VPN's tunnels. No site sees them: a VPN machine sends laptops' packets with its own
    address."""

    def tunnel_range(self, index: int) -> IPv4Network:
        """Return the range of the tunnels of VPN machine ``index``."""
        return nth_subnet(self.laptops, LAPTOPS_PREFIX, index)

    @property
    def kubernetes_service(self) -> IPv4Address:
        """Address of the ``kubernetes`` service: the first of the service range, as kube-apiserver assigns it."""
        return self.services[1]

    @property
    def dns_service(self) -> IPv4Address:
        """Address of the cluster's DNS service."""
        return self.services[10]


def site_plan(block: IPv4Network) -> SitePlan:
    """Return the ranges of one site's block."""
    prefix = block.prefixlen
    return SitePlan(
        block=block,
        infra=nth_subnet(block, prefix + 4, 0),
        nodes=nth_subnet(block, prefix + 3, 1),
        pods=nth_subnet(block, prefix + 1, 1),
    )


def role_addresses(subnet: IPv4Network, count: int) -> tuple[IPv4Address, ...]:
    """Return the addresses of a role's machines in its subnet, by index; raise ``IndexError`` when the subnet is too
    small."""
    return tuple(machine_address(subnet, index) for index in range(count))


def machine_address(subnet: IPv4Network, index: int) -> IPv4Address:
    """Return the address of machine ``index`` in its subnet; raise ``IndexError`` when the subnet is too small."""
    if not 0 <= index < machine_capacity(subnet):
        raise IndexError(f"{subnet} has no address for machine {index}")
    return subnet[FIRST_MACHINE + index]


def machine_capacity(subnet: IPv4Network) -> int:
    """Return the number of machines that a subnet holds: all addresses, except those before the first machine's and the
    broadcast address."""
    return subnet.num_addresses - FIRST_MACHINE - 1


def plan(environment: Environment) -> AddressPlan:
    """Return the environment's address plan; raise ``PlanError`` when there is none. Sites get their blocks in the
    file's order: a later site never moves an earlier one."""
    blocks, errors = site_ranges(environment)
    if errors:
        raise errors[0]
    shared = shared_range(environment.supernet)
    return AddressPlan(
        supernet=environment.supernet,
        sites={name: site_plan(block) for name, block in blocks.items()},
        services=nth_subnet(shared, shared.prefixlen + 1, 0),
        operators=nth_subnet(shared, shared.prefixlen + 2, 2),
        laptops=nth_subnet(shared, shared.prefixlen + 2, 3),
    )
