"""Checks across the environment's sections. Each yields its faults; none stops the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clouds.base.faults import Fault, Location
from clouds.base.machine_types import MachineProperties
from clouds.base.names import NODE
from clouds.base.phrases import suggestion
from clouds.base.pool import Pool
from clouds.registry import cloud_of, clouds
from components.model.access.checks import check_access, check_identity, check_operators_inside
from components.model.control_plane.learner import check_learner
from components.model.control_plane.machines import Role
from components.model.depots.checks import check_depots
from components.model.environment import Environment
from components.model.hosts.places import host_errors
from components.model.hosts.ssh_keys import check_host_keys
from components.model.identity.sign_in import check_sign_in
from components.model.network.address_plan import PlanError, machine_capacity, plan, plan_errors
from components.model.network.capacity import check_capacity, check_peered, check_total
from components.model.network.links import links
from components.model.network.public_addresses import check_operators, check_public_addresses, check_vpn_sources
from components.model.nodes.gpu_promises import check_gpus
from components.model.nodes.nodes import HOSTS, host_node_name, label_fault
from components.model.nodes.rdma import huge_pages_2mib
from components.model.policy.waiver_checks import check_waivers
from components.model.pools.checks import check_base, check_fabric, check_fallbacks, check_purchase
from components.model.sites.checks import check_zones
from components.model.sites.cloud_names import check_sets
from components.model.sites.existing import check_existing
from components.model.sites.name_lengths import check_lengths
from components.model.sites.tags import check_tags
from components.model.teams.checks import check_teams
from contract.endpoints import JOIN_PORT
from contract.labels import HOSTS_POOL_LABEL
from contract.project import OBJECTS

if TYPE_CHECKING:
    from clouds.registry import AnyCloud

HUGE_PAGES_PERCENT = 85
"""Largest share of a machine type's memory that may be huge pages, in percent. The machine itself refuses more than
nine tenths of the memory that its kernel sees, which is a little less than the type's."""

SMALLER_PER_GIB = 512
"""Number of huge pages of 2 MiB in a GiB."""


def check(environment: Environment, *, stack: str) -> Iterator[Fault]:
    """Yield every fault of an environment whose fields are each valid."""
    if environment.name != stack:
        wrong = f"{environment.name!r} is not the name of its stack, {stack!r}"
        yield Fault(at=("name",), wrong=wrong, write=stack)
    if environment.name.endswith(OBJECTS):
        wrong = f"{environment.name!r} ends with {OBJECTS!r}, as the stack of what runs on a cluster does"
        yield Fault(at=("name",), wrong=wrong, write=environment.name.removesuffix(OBJECTS))
    checks: tuple[Callable[[Environment], Iterator[Fault]], ...] = (
        _check_control_plane,
        _check_api_port,
        _check_pools,
        check_purchase,
        check_fabric,
        check_fallbacks,
        check_base,
        _check_machine_types,
        _check_hosts,
        check_access,
        check_gpus,
        _check_names,
        _check_links,
        check_identity,
        check_sign_in,
        check_teams,
        check_existing,
        check_lengths,
        check_tags,
        check_public_addresses,
        check_operators,
        check_operators_inside,
        check_vpn_sources,
        check_zones,
        check_depots,
        check_learner,
        check_waivers,
        check_host_keys,
        _check_plan,
        check_capacity,
        check_peered,
        check_total,
    )
    for rule in checks:
        yield from rule(environment)


def _sites(environment: Environment, wanted: Callable[[AnyCloud], bool]) -> list[str]:
    return [name for name, site in environment.sites.items() if wanted(cloud_of(site))]


def _holds_control_plane(cloud: AnyCloud) -> bool:
    return cloud.holds_control_plane


def _rents(cloud: AnyCloud) -> bool:
    return cloud.rents


def _check_control_plane(environment: Environment) -> Iterator[Fault]:
    name = environment.control_plane.site
    possible = _sites(environment, _holds_control_plane)
    if name not in environment.sites:
        wrong = f"{name!r} is not a site"
    elif name not in possible:
        titles = " or ".join(cloud.title for cloud in clouds().values() if cloud.holds_control_plane)
        wrong = f"{name!r} is not on {titles}: a control plane cannot be elsewhere yet"
    else:
        return
    basis: tuple[Location, ...] = (("sites",), ("sites", name, "kind"))
    yield Fault(at=("control_plane", "site"), wrong=wrong, write=suggestion(possible, name), basis=basis)


def _check_api_port(environment: Environment) -> Iterator[Fault]:
    if environment.control_plane.api.port == JOIN_PORT:
        wrong = f"{JOIN_PORT} is the port of the join service"
        yield Fault(at=("control_plane", "api", "port"), wrong=wrong, write="another, such as 6443")


def _check_pools(environment: Environment) -> Iterator[Fault]:
    rented = _sites(environment, _rents)
    for name, pool in environment.pools.items():
        at = ("pools", name)
        if pool.site not in rented:
            on_prem = pool.site in environment.sites
            wrong = "is on-prem; its hosts go into the hosts file" if on_prem else "is not a site"
            yield Fault(
                at=(*at, "site"),
                wrong=f"{pool.site!r} {wrong}",
                write=suggestion(rented, pool.site),
                basis=(("sites",), ("sites", pool.site, "kind")),
            )
        if pool.min > pool.max:
            wrong = f"{pool.min} is more than max, {pool.max}"
            yield Fault(at=(*at, "min"), wrong=wrong, write=f"at most {pool.max}", basis=((*at, "max"),))
        if pool.spare > pool.max:
            wrong = f"{pool.spare} is more than max, {pool.max}"
            yield Fault(at=(*at, "spare"), wrong=wrong, write=f"at most {pool.max}", basis=((*at, "max"),))
        others = [other for other in environment.pools if other != name]
        for index, fallback in enumerate(pool.fallbacks):
            if fallback not in others:
                wrong = f"{fallback!r} is not another pool"
                place = (*at, "fallbacks", index)
                yield Fault(at=place, wrong=wrong, write=suggestion(others, fallback), basis=(("pools",),))
            elif fallback in pool.fallbacks[:index]:
                wrong = f"{fallback!r} is named before"
                yield Fault(at=(*at, "fallbacks", index), wrong=wrong, write="each pool once, in order")
        yield from _check_huge_pages(environment, name, pool)
        for key in pool.labels:
            if fault := label_fault(key):
                yield Fault(at=(*at, "labels", key), wrong=f"{key!r} {fault}", write="a key of your own domain")


def _check_huge_pages(environment: Environment, name: str, pool: Pool) -> Iterator[Fault]:
    kind = environment.known_types.get(pool.machine_type)
    site = environment.sites.get(pool.site)
    if kind is None or site is None or kind.cloud != site.kind:
        return
    adapters = huge_pages_2mib(environment, name)
    possible = kind.memory_gib * SMALLER_PER_GIB * HUGE_PAGES_PERCENT // 100
    most = max((possible - adapters) // SMALLER_PER_GIB, 0)
    if pool.huge_pages_gib > most:
        wrong = f"{pool.huge_pages_gib} GiB leave too little of the {kind.memory_gib} GiB of a {pool.machine_type}"
        if adapters:
            wrong += f", beside {adapters / SMALLER_PER_GIB:.1f} GiB for its network adapters"
        at = ("pools", name)
        basis = ((*at, "machine_type"), (*at, "efa"), ("machine_types", pool.machine_type, "memory_gib"))
        yield Fault(at=(*at, "huge_pages_gib"), wrong=wrong, write=f"at most {most}", basis=basis)


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """A machine type that the environment uses."""

    at: Location
    site: Location
    """Location of the site's name in the file."""
    site_name: str
    name: str
    needs_ssd: bool = False


def _wanted(environment: Environment) -> Iterator[_Wanted]:
    control = environment.control_plane
    at: Location
    site = ("control_plane", "site")
    for part, name, needs_ssd in (
        ("etcd", control.etcd.machine_type, True),
        ("events", control.events.machine_type, True),
        ("api", control.api.machine_type, False),
    ):
        at = ("control_plane", part, "machine_type")
        yield _Wanted(at=at, site=site, site_name=control.site, name=name, needs_ssd=needs_ssd)
    if environment.vpn is not None:
        yield _Wanted(at=("vpn", "machine_type"), site=site, site_name=control.site, name=environment.vpn.machine_type)
    if control.etcd.learner is not None:
        at = ("control_plane", "etcd", "learner", "machine_type")
        yield _Wanted(at=at, site=site, site_name=control.site, name=control.etcd.learner.machine_type)
    for pool_name, pool in environment.pools.items():
        at = ("pools", pool_name, "machine_type")
        yield _Wanted(at=at, site=("pools", pool_name, "site"), site_name=pool.site, name=pool.machine_type)


def _check_machine_types(environment: Environment) -> Iterator[Fault]:
    types = environment.known_types
    for wanted in _wanted(environment):
        site = environment.sites.get(wanted.site_name)
        # A control plane on AWS or in a rack has a fault of its own; errors of its machine types would only follow from
        # that.
        possible = _rents if wanted.at[0] == "pools" else _holds_control_plane
        if site is not None and possible(cloud_of(site)):
            yield from _check_machine_type(types, wanted=wanted, cloud=site.kind)


def _check_machine_type(types: dict[str, MachineProperties], *, wanted: _Wanted, cloud: str) -> Iterator[Fault]:
    machine_type = types.get(wanted.name)
    if machine_type is None:
        wrong = "is not a machine type that Longhaul knows"
    elif machine_type.cloud != cloud:
        wrong = f"is a type of {machine_type.cloud}, and {wanted.site_name} is on {cloud}"
    elif wanted.needs_ssd and not machine_type.local_ssd_gb:
        wrong = "has no local SSD, which etcd needs"
    else:
        return
    basis: tuple[Location, ...] = (
        wanted.site,
        ("sites", wanted.site_name, "kind"),
        ("machine_types", wanted.name),
        *(("machine_types", wanted.name, key) for key in ("cloud", "local_ssd_gb")),
    )
    fitting = [name for name, t in types.items() if t.cloud == cloud and (t.local_ssd_gb > 0 or not wanted.needs_ssd)]
    write = suggestion(fitting, wanted.name)
    if machine_type is None:
        write = f"{write}; or declare it under `machine_types`"
    yield Fault(at=wanted.at, wrong=f"{wanted.name!r} {wrong}", write=write, basis=basis)


def _check_hosts(environment: Environment) -> Iterator[Fault]:
    onprem = [name for name, site in environment.sites.items() if not cloud_of(site).rents]
    first: dict[str, int] = {}
    for index, host in enumerate(environment.hosts):
        if host.site not in onprem:
            yield Fault(
                at=("hosts", index, "site"),
                wrong=f"{host.site!r} is not an on-prem site",
                write=suggestion(onprem, host.site),
                basis=(("sites",), ("sites", host.site, "kind")),
            )
        earlier = first.setdefault(host.name, index)
        if earlier != index:
            yield Fault(
                at=("hosts", index, "name"),
                wrong=f"{host.name!r} is already the name of hosts.{earlier}",
                write="a name that no other host has",
                basis=(("hosts", earlier, "name"),),
            )


def _check_names(environment: Environment) -> Iterator[Fault]:
    """Check the names of pools, gateways and hosts. Machines are called ``<env>-<role>-<index>``, ``<env>-<pool>-…``,
    ``<env>-<gateway>`` and ``<env>-<host>``, and these must not clash."""
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
    prefixes = tuple(f"{part}-" for part in (*reserved, *environment.pools))
    for index, host in enumerate(environment.hosts):
        name, at = host_node_name(environment, host.name), ("hosts", index, "name")
        if host.name in taken or host.name.startswith(prefixes):
            wrong = f"{name!r}, as its machine is called, is a name that Longhaul gives a machine of its own"
            yield Fault(at=at, wrong=wrong, write="another name", basis=(("name",), ("pools",)))
        elif len(name) > NODE:
            wrong = f"{name!r}, as its machine is called, has {len(name)} characters"
            most = NODE - len(environment.name) - 1
            yield Fault(at=at, wrong=wrong, write=f"a name of at most {most}", basis=(("name",),))


def _gateways(environment: Environment) -> Iterator[tuple[str, str, Location]]:
    for name, site in environment.sites.items():
        for index, gateway in enumerate(site.gateways):
            yield name, gateway.name, ("sites", name, "gateways", index, "name")


def _check_links(environment: Environment) -> Iterator[Fault]:
    pairs: dict[frozenset[str], int] = {}
    for index, link in enumerate(environment.links):
        at = ("links", index, "between")
        for end, site in enumerate(link.between):
            if site not in environment.sites:
                wrong, write = f"{site!r} is not a site", suggestion(environment.sites, site)
                yield Fault(at=(*at, end), wrong=wrong, write=write, basis=(("sites",),))
        if link.between[0] == link.between[1]:
            yield Fault(at=at, wrong=f"{link.between[0]!r} is both ends", write="two different sites")
        earlier = pairs.setdefault(frozenset(link.between), index)
        if earlier != index:
            wrong = f"{' and '.join(link.between)} are already connected by links.{earlier}"
            yield Fault(at=at, wrong=wrong, write="each pair of sites once", basis=(("links", earlier),))
    names: dict[str, str] = {}
    for planned in links(environment):
        pair = f"{planned.first} and {planned.second}"
        other = names.setdefault(planned.name, pair)
        if other != pair:
            wrong = f"the links of {pair} and of {other} would both be called {planned.name}"
            yield Fault(at=("sites", planned.second), wrong=wrong, write="another name for one of these sites")


def _check_plan(environment: Environment) -> Iterator[Fault]:
    """Check the address plan. It depends on every site's size: while one size cannot be read, none of these faults can
    be trusted."""
    sizes = [("sites", name, key) for name in environment.sites for key in ("range", "prefix")]
    basis: tuple[Location, ...] = (("supernet",), ("sites", "[key]"), *sizes)
    errors = plan_errors(environment)
    yield from _findings(errors, basis)
    if errors:
        return
    addresses = plan(environment)
    yield from _findings(host_errors(environment, addresses), basis)
    control = environment.control_plane
    site = addresses.sites.get(control.site)
    if site is None:
        return
    counts = {"etcd.members": control.etcd.members, "events.members": control.events.members}
    for key, count in {**counts, "api.servers": control.api.servers}.items():
        part, field = key.split(".")
        subnet = site.subnet(part)
        if count > machine_capacity(subnet):
            wrong = f"{count} machines do not fit into {subnet}, the {part} subnet of {control.site}"
            write = f"at most {machine_capacity(subnet)}, or a larger block for {control.site}"
            yield Fault(at=("control_plane", part, field), wrong=wrong, write=write, basis=basis)


def _findings(errors: Iterable[PlanError], basis: tuple[Location, ...]) -> Iterator[Fault]:
    for error in errors:
        yield Fault(at=error.key, wrong=error.wrong, write=error.write, basis=basis)
