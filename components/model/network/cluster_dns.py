"""The servers of the cluster's DNS: how many each site has, and the addresses at which they are asked.

Two servers run anywhere. Besides, each site with nodes that always run has servers of its own, which answer when the
site's links are cut (docs/dns.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from ipaddress import IPv4Address

from clouds.base.pool_section import Pool
from components.model.environment import Environment
from components.model.network.address_plan import AddressPlan
from contract.object_names import COREDNS
from contract.resources import GPU_RESOURCE
from contract.taints import SYSTEM_TAINT

TOLERATED = (SYSTEM_TAINT, GPU_RESOURCE, "CriticalAddonsOnly")
"""Keys of taints that DNS servers tolerate."""

ANYWHERE = 2
"""Number of servers that run anywhere."""
LEAST_OF_SITE = 2
"""Number of servers of a site, if it has as many nodes that always run."""
NODES_PER_SERVER = 256
"""Number of a site's nodes for which it gets one more server. Of each node, its cache alone asks them. A server on two
cores answers 33,669 queries a second (coredns/deployment, ``kubernetes/Scaling_CoreDNS.md``), which is 131 for each of
256 nodes."""

_BLOCK_BITS = 12
"""Number of bits of an address inside the smallest block of a site, a /20."""
_FIRST_ADDRESS = 16
_ADDRESSES = 239
"""Range of the sites' addresses among those of Services: offsets 16 to 254. Kubernetes takes the first 256 addresses of
a large range last for Services without a declared address (kubernetes.io, "Service ClusterIP allocation"). The number
is a prime, so that blocks of equal size rarely have equal remainders."""


def deployment_name(site: str | None = None) -> str:
    """Return the name of the Deployment of a site's own servers, or of those that run anywhere."""
    return COREDNS if site is None else f"{COREDNS}-{site}"


def refuses_dns(pool: Pool) -> bool:
    """Return whether a pool has a taint that DNS servers do not tolerate."""
    return not all(taint.key in TOLERATED or taint.effect == "PreferNoSchedule" for taint in pool.taints)


def standing_nodes(environment: Environment) -> Mapping[str, int]:
    """Return the number of nodes that always run and accept DNS servers, including GPU nodes, by site. Sites without
    such nodes are left out."""
    counts: Counter[str] = Counter()
    for pool in environment.pools.values():
        if not refuses_dns(pool):
            counts[pool.site] += pool.min
    counts.update(host.site for host in environment.hosts if not host.quarantined)
    return {site: counts[site] for site in environment.sites if counts[site]}


def node_sites(environment: Environment) -> tuple[str, ...]:
    """Return the sites that have nodes, or may have some: those with a pool or a host."""
    sites = {pool.site for pool in environment.pools.values()} | {host.site for host in environment.hosts}
    return tuple(site for site in environment.sites if site in sites)


def site_servers(environment: Environment, standing: Mapping[str, int]) -> Mapping[str, int]:
    """Return the number of each site's own servers, by site, for its :func:`standing_nodes`: two, and one more for each
    256 nodes that it may have, but no more than machines that always run."""
    most: Counter[str] = Counter(host.site for host in environment.hosts)
    for pool in environment.pools.values():
        most[pool.site] += pool.max
    return {site: min(nodes, LEAST_OF_SITE + most[site] // NODES_PER_SERVER) for site, nodes in standing.items()}


def pod_name_servers(addresses: AddressPlan, site: str) -> tuple[IPv4Address, ...]:
    """Return the servers that pods of a site ask where their node has no cache: the site's own, and those of all sites,
    which a site without servers of its own needs."""
    return tuple(filter(None, (site_dns_addresses(addresses).get(site), addresses.dns_service)))


def site_dns_addresses(addresses: AddressPlan) -> Mapping[str, IPv4Address]:
    """Return the address of the Service of each site's own servers, by site.

    Nodes have it in their files, whether their site has servers or not: a pool's ``min`` would otherwise make all of
    the site's machines outdated. It must not move either: it follows from the number of the site's block in the
    supernet, counted in the smallest blocks. Where two remainders are equal, the later site in the file takes the next
    one.
    """
    start = int(addresses.supernet.network_address)
    sites: dict[int, str] = {}
    for name, site in addresses.sites.items():
        first = (int(site.block.network_address) - start) >> _BLOCK_BITS
        free = (offset % _ADDRESSES for offset in range(first, first + _ADDRESSES) if offset % _ADDRESSES not in sites)
        if (offset := next(free, None)) is not None:
            sites[offset] = name
    return {name: addresses.services[_FIRST_ADDRESS + offset] for offset, name in sites.items()}
