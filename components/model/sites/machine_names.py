"""Checks of the names of pools, gateways and hosts: machines are called after them."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault, Location
from clouds.base.names import NODE
from components.model.control_plane.machines import Role
from components.model.environment import Environment
from components.model.nodes.host_nodes import HOSTS, host_node_name
from components.model.sites.cloud_names import check_sets
from contract.labels import HOSTS_POOL_LABEL


def check_names(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each name of a pool, gateway or host that clashes with another name or is too long. Machines
    are called ``<env>-<role>-<index>``, ``<env>-<pool>-…``, ``<env>-<gateway>`` and ``<env>-<host>``, and these names
    must not clash."""
    reserved = tuple(str(role) for role in Role)
    not_pools = {
        **dict.fromkeys(reserved, "a control-plane role"),
        **dict.fromkeys((HOSTS_POOL_LABEL, HOSTS), "the pool of all hosts"),
    }
    for pool in environment.pools:
        if pool in not_pools:
            wrong = f"is the name of {not_pools[pool]}"
            yield Fault(at=("pools", pool), wrong=wrong, write=f"a name that is none of {', '.join(not_pools)}")
    yield from check_sets(environment)
    taken: dict[str, Location] = {}
    for site, gateway, at in _gateways(environment):
        earlier = taken.setdefault(gateway, at)
        if earlier != at:
            wrong = f"{gateway!r} is already a gateway of {earlier[1]}"
            yield Fault(at=at, wrong=wrong, write=f"another name, such as {site}-{gateway}", basis=(earlier,))
        elif gateway.startswith(tuple(f"{role}-" for role in reserved)):
            wrong = f"{gateway!r} begins like the name of a control-plane machine"
            yield Fault(at=at, wrong=wrong, write=f"another name, such as {site}-{gateway}")
    owners = {
        **{f"{pool}-": f"begins like the machines of the pool {pool}" for pool in environment.pools},
        **{f"{role}-": "begins like the name of a control-plane machine" for role in reserved},
    }
    for index, host in enumerate(environment.hosts):
        name, at = host_node_name(environment, host.name), ("hosts", index, "name")
        clash = next((wrong for prefix, wrong in owners.items() if host.name.startswith(prefix)), "")
        if host.name in taken:
            clash = f"is the name of the gateway {host.name} too"
        if clash:
            write = f"another name, such as one that begins with {host.site}-"
            yield Fault(at=at, wrong=clash, write=write, basis=(("name",), ("pools",)))
        elif len(name) > NODE:
            wrong = f"{name!r}, the name of its machine, has {len(name)} characters"
            most = NODE - len(environment.name) - 1
            yield Fault(at=at, wrong=wrong, write=f"a name of at most {most}", basis=(("name",),))


def _gateways(environment: Environment) -> Iterator[tuple[str, str, Location]]:
    for name, site in environment.sites.items():
        for index, gateway in enumerate(site.gateways):
            yield name, gateway.name, ("sites", name, "gateways", index, "name")
