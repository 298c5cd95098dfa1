"""Lists everything in an environment that has a price, with its number: machines, parts of networks, hosts.

Each cloud knows the number of parts in its network (``clouds/X/made.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from clouds.base.prices import HostKey, Key, MachineKey, Part, PartKey, part_name
from clouds.base.site import SiteBase
from clouds.registry import cloud_of
from components.model import Environment
from components.model.network.links import remote_addresses
from components.model.prices.book import name_of
from components.model.sites.places import place_of
from components.model.vpn.section import MACHINES

CONTROL_PLANE = "control plane"
POOL = "pool "
"""Prefix of a pool's group name."""

NOT_COUNTED = (
    "traffic, and gateways' charges by the gigabyte",
    "disks that are not part of a machine type",
    "vaults, private DNS and logs",
    "an Azure VPN gateway's tunnels beyond those that its price includes",
    "circuits that exist already",
)
"""Parts of a bill that are not counted: they depend on use, or on facts that an environment file does not have."""


@dataclass(frozen=True, kw_only=True)
class PricedNeed:
    """A number of units of one thing that has a price."""

    group: str
    """Part of the environment: ``control plane``, ``pool gpu``, ``site weu``, ``racks colo``."""
    what: str
    """Name within the group."""
    key: Key
    least: int
    """Smallest number."""
    most: int
    """Largest number."""
    fallbacks: tuple[str, ...] = ()
    """For a pool: the pools that get machines instead when this pool has no capacity."""

    @property
    def name(self) -> str:
        """Return group, name and key, such as ``pool cpu: machines (m7i.4xlarge, AWS us-east-1)``."""
        if isinstance(self.key, HostKey):
            return f"{self.group}: {self.what}"
        return f"{self.group}: {self.what} ({name_of(self.key).removeprefix(f'{self.what}, ')})"


def priced_needs(environment: Environment) -> tuple[PricedNeed, ...]:
    """Return everything that has a price, in the order of the file: the control plane, pools, sites, hosts."""
    return (
        *_control_plane(environment),
        *_pools(environment),
        *_networks(environment),
        *_hosts(environment),
    )


def price_keys(environment: Environment) -> tuple[Key, ...]:
    """Return the keys to ask the clouds for, each once. For a spot machine, include the ordinary price, which is the
    upper limit."""
    keys: dict[Key, None] = {}
    for need in priced_needs(environment):
        if isinstance(need.key, MachineKey) and need.key.spot:
            keys[need.key.on_demand()] = None
        if not isinstance(need.key, HostKey):
            keys[need.key] = None
    return tuple(keys)


def _control_plane(environment: Environment) -> Iterator[PricedNeed]:
    """Yield the members of the etcd clusters, the learner, the API servers, the VPN machines, and one internal
    load balancer (``components/azure/load_balancer.py``)."""
    control = environment.control_plane
    site = environment.sites[control.site]
    if not cloud_of(site).rents:
        return
    learner, vpn = control.etcd.learner, environment.vpn
    for what, count, machine_type in (
        ("etcd", control.etcd.members, control.etcd.machine_type),
        *([("etcd's learner", 1, learner.machine_type)] if learner else []),
        ("etcd for events", control.events.members, control.events.machine_type),
        ("API servers", control.api.servers, control.api.machine_type),
        *([("machines of the laptops' VPN", MACHINES, vpn.machine_type)] if vpn else []),
    ):
        key = MachineKey(cloud=site.kind, region=site.region, machine_type=machine_type)
        yield PricedNeed(group=CONTROL_PLANE, what=what, key=key, least=count, most=count)
    yield _part(CONTROL_PLANE, site, "load-balancer", 1)


def _pools(environment: Environment) -> Iterator[PricedNeed]:
    for name, pool in environment.pools.items():
        site = environment.sites[pool.site]
        if not cloud_of(site).rents:
            continue
        key = MachineKey(cloud=site.kind, region=site.region, machine_type=pool.machine_type, spot=pool.spot)
        yield PricedNeed(
            group=f"{POOL}{name}",
            what="machines",
            key=key,
            least=max(pool.min, min(pool.spare, pool.max)) if environment.scales else pool.min,
            most=pool.max,
            fallbacks=pool.fallbacks,
        )


def _networks(environment: Environment) -> Iterator[PricedNeed]:
    for name, site in environment.sites.items():
        remote = remote_addresses(environment, name)
        for part, count in cloud_of(site).parts.hourly_parts(place_of(environment, name), remote):
            if count:
                yield _part(f"site {name}", site, part, count)


def _part(group: str, site: SiteBase, part: Part, count: int) -> PricedNeed:
    key = PartKey(cloud=site.kind, region=site.region, part=part)
    return PricedNeed(group=group, what=part_name(part), key=key, least=count, most=count)


def _hosts(environment: Environment) -> Iterator[PricedNeed]:
    counts = Counter(host.site for host in environment.hosts)
    for name in environment.sites:
        if counts[name]:
            key = HostKey(site=name)
            yield PricedNeed(group=f"racks {name}", what="hosts", key=key, least=counts[name], most=counts[name])
