"""The largest number of nodes that pools and hosts may have, checked against the addresses that the plan has for
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import combinations
from typing import TYPE_CHECKING

from clouds.base.faults import Fault, Location
from clouds.base.limits import Room
from clouds.base.phrases import word_list
from clouds.base.pool_section import Pool
from clouds.base.ranges import SiteRanges
from clouds.registry import cloud_of
from components.model.control_plane.size import promised_nodes
from components.model.environment import Environment
from components.model.network.address_plan import AddressPlan, plan, site_plan
from components.model.network.links import LinkKind, links
from components.model.network.site_ranges import plan_errors
from components.model.sites.places import ranges_of_plan
from contract.documents.node_place import POD_PREFIX

if TYPE_CHECKING:
    from clouds.registry import AnyCloud

LARGEST = 8
"""Shortest prefix of a site's block."""


@dataclass(frozen=True, kw_only=True)
class SiteUse:
    """Addresses of a site that are in use when every pool is at its maximum."""

    nodes: int
    """Largest number of nodes: the sum of the pools' maxima, or of the listed hosts."""
    room: int | None
    """Number of nodes for which the site's ranges have addresses; None when its cloud does not say."""

    @property
    def left(self) -> int | None:
        """Number of nodes for which addresses are left."""
        return None if self.room is None else self.room - self.nodes


def site_uses(environment: Environment, addresses: AddressPlan) -> dict[str, SiteUse]:
    """Return the use of each site's addresses, in the file's order."""
    uses: dict[str, SiteUse] = {}
    for name, site in environment.sites.items():
        if cloud_of(site).rents:
            rooms = _rooms(environment, name, ranges_of_plan(addresses.supernet, addresses.sites[name]))
            room = sum(space.nodes for space in rooms) if rooms else None
            uses[name] = SiteUse(nodes=sum(pool.max for pool in _pools(environment, name).values()), room=room)
        else:
            hosts = sum(host.site == name for host in environment.hosts)
            uses[name] = SiteUse(nodes=hosts, room=addresses.sites[name].hosts)
    return uses


def check_capacity(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool that does not fit into its zones; if all do, yield one for each site that cannot hold
    all of its pools at once. The check needs the whole address plan."""
    if plan_errors(environment):
        return
    addresses = plan(environment)
    sizes = [("sites", name, key) for name in environment.sites for key in ("range", "prefix", "zones")]
    basis: tuple[Location, ...] = (("supernet",), ("sites", "[key]"), *sizes)
    for name, site in environment.sites.items():
        if not cloud_of(site).rents:
            continue
        ranges = ranges_of_plan(addresses.supernet, addresses.sites[name])
        rooms, pools = _rooms(environment, name, ranges), _pools(environment, name)
        shortages = list(_pools_without_room(rooms, pools)) or list(_sites_without_room(name, rooms, pools))
        for at, wrong, most in shortages:
            larger = _larger(environment, name)
            more_room = f"a block that holds them, such as a /{larger}" if larger else "a second site for the rest"
            write = f"{most}; or {more_room}"
            more = (*basis, *(("pools", pool, key) for pool in pools for key in ("site", "max", "zones")))
            yield Fault(at=at, wrong=wrong, write=write, basis=more)


def check_peered(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each group of peered sites whose pools together have more nodes than their cloud allows."""
    for names in _peered(environment):
        site = environment.sites[names[0]]
        pools = {name: pool for name, pool in environment.pools.items() if pool.site in names}
        nodes, most = sum(pool.max for pool in pools.values()), peered_room(cloud_of(site), len(names))
        if most is not None and nodes > most:
            wrong = (
                f"the pools of {word_list(names)} may have {nodes:,} nodes, and peered networks have addresses for "
                f"{most:,} together: {', '.join(f'{name} {pool.max:,}' for name, pool in pools.items())}"
            )
            basis: tuple[Location, ...] = (("sites",), ("links",), *(("pools", name, "max") for name in pools))
            write = f"pools whose `max` are {most} together at most; or another environment for the rest"
            yield Fault(
                at=("pools", max(pools, key=lambda name: pools[name].max), "max"), wrong=wrong, write=write, basis=basis
            )


def peered_room(cloud: AnyCloud, sites: int) -> int | None:
    """Return the number of nodes that this many peered sites of a cloud can have together; None when the cloud has no
    limit."""
    return cloud.limits.peered(sites, 2 ** (32 - POD_PREFIX))


def _peered(environment: Environment) -> Iterator[tuple[str, ...]]:
    """Yield the groups of sites whose networks are peered, directly or through other sites, each in the file's
    order."""
    group = {name: name for name in environment.sites}
    for link in links(environment):
        if link.kind is LinkKind.BACKBONE and group[link.first] != group[link.second]:
            joined = group[link.second]
            group = {name: group[link.first] if first == joined else first for name, first in group.items()}
    for first in dict.fromkeys(group.values()):
        names = tuple(name for name in group if group[name] == first)
        if len(names) > 1:
            yield names


def check_total(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when there may be more nodes than the file's own ``max_nodes``. An autoscaler keeps to that number
    (services/autoscaler/shared_limits.py), so with an autoscaler only the machines that always run count. A dry run
    counts as an autoscaler too: it is the way to stop an autoscaler, and must not require a larger control plane."""
    most, hosts = environment.max_nodes, len(environment.hosts)
    least, pools = sum(pool.min for pool in environment.pools.values()), promised_nodes(environment) - hosts
    which, nodes = ("`min`", least) if environment.autoscaler is not None else ("maxima", pools)
    if most is not None and nodes + hosts > most:
        wrong = f"{most:,} are fewer than the pools' {which} and the hosts together: {nodes:,} + {hosts:,}"
        write = f"at least {nodes + hosts}, or smaller pools"
        if least + hosts <= most:
            write += ", or `autoscaler: {}`, which keeps within it"
        basis: tuple[Location, ...] = (("pools",), ("hosts",), ("bare_metal",), ("autoscaler",))
        yield Fault(at=("max_nodes",), wrong=wrong, write=write, basis=basis)


def _pools(environment: Environment, site: str) -> dict[str, Pool]:
    return {name: pool for name, pool in environment.pools.items() if pool.site == site}


def _rooms(environment: Environment, site: str, ranges: SiteRanges) -> tuple[Room, ...]:
    return cloud_of(environment.sites[site]).limits.rooms(environment.sites[site], ranges)


def _reached(rooms: Sequence[Room], pool: Pool) -> frozenset[int]:
    """Return the indices of the rooms that a pool's machines can be in."""
    zones = set(pool.zones)
    return frozenset(index for index, room in enumerate(rooms) if not zones or zones & set(room.zones))


def _pools_without_room(rooms: Sequence[Room], pools: Mapping[str, Pool]) -> Iterator[tuple[Location, str, str]]:
    for name, pool in pools.items():
        reached = [rooms[index] for index in sorted(_reached(rooms, pool))]
        most = sum(room.nodes for room in reached)
        if reached and pool.max > most:
            wrong = f"{pool.max:,} nodes do not fit into {_room_phrase(reached)}"
            yield ("pools", name, "max"), wrong, f"at most {most}"


def _sites_without_room(
    site: str, rooms: Sequence[Room], pools: Mapping[str, Pool]
) -> Iterator[tuple[Location, str, str]]:
    """Yield the smallest set of rooms that is too small for its pools. By Hall's theorem, all pools fit at once if
    every set of rooms can hold the pools that fit nowhere else."""
    reached = {name: _reached(rooms, pool) for name, pool in pools.items()}
    for size in range(1, len(rooms) + 1):
        for some in map(frozenset, combinations(range(len(rooms)), size)):
            confined = [name for name, reach in reached.items() if reach and reach <= some]
            nodes, most = sum(pools[name].max for name in confined), sum(rooms[index].nodes for index in some)
            if nodes > most:
                where = _room_phrase([rooms[index] for index in sorted(some)])
                each = ", ".join(f"{name} {pools[name].max:,}" for name in confined)
                wrong = f"the pools of {site} may have {nodes:,} nodes, which do not fit into {where}: {each}"
                yield ("sites", site, "prefix"), wrong, f"pools whose `max` are {most} together at most"
                return


def _room_phrase(rooms: Sequence[Room]) -> str:
    each = ", ".join(f"{room.range} ({room.nodes:,})" for room in rooms)
    return f"{each}, where each node takes the addresses of its pods too"


def _larger(environment: Environment, site: str) -> int | None:
    """Return the prefix length of the smallest block that holds all pools of the site; None when no block does."""
    addresses = plan(environment)
    pools = _pools(environment, site)
    for prefix in range(addresses.sites[site].block.prefixlen - 1, LARGEST - 1, -1):
        block = IPv4Network((0, prefix))
        rooms = _rooms(environment, site, ranges_of_plan(addresses.supernet, site_plan(block)))
        if not any(_pools_without_room(rooms, pools)) and not any(_sites_without_room(site, rooms, pools)):
            return prefix
    return None
