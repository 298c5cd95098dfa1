"""Checks across the environment's sections, and across environments. Each returns what it found; none stops the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from itertools import combinations

from components.model.environment import Environment
from components.model.errors import Problem
from components.model.network import PlanError, plan
from components.model.sites import AwsSite, AzureSite, OnpremSite

Finding = tuple[str, str, str]
"""Key, what is wrong, what to write."""


def check(environment: Environment, *, source: str, stack: str) -> list[Problem]:
    """Everything that is wrong with one environment whose fields are each valid."""
    checks: tuple[Callable[[Environment], Iterator[Finding]], ...] = (
        _check_control_plane,
        _check_pools,
        _check_machine_types,
        _check_hosts,
        _check_links,
        _check_plan,
    )
    found = [finding for one in checks for finding in one(environment)]
    if environment.name != stack:
        found.insert(0, ("name", f"{environment.name!r} is not the name of its stack, {stack!r}", f"name: {stack}"))
    return [Problem(file=source, key=key, wrong=wrong, write=write) for key, wrong, write in found]


def check_disjoint(environments: Mapping[str, Environment]) -> list[Problem]:
    """Overlaps between environments, by the file each is in; both are named."""
    return [
        Problem(
            file=second,
            key="supernet",
            wrong=f"{b.supernet} of {b.name} overlaps {a.supernet} of {a.name} in {first}",
            write="a supernet of its own for each environment",
        )
        for (first, a), (second, b) in combinations(environments.items(), 2)
        if a.supernet.overlaps(b.supernet)
    ]


def _choices(known: Iterator[str] | list[str], given: str) -> str:
    names = sorted(known)
    close = get_close_matches(given, names, n=1)
    listed = ", ".join(names) or "none is declared"
    return f"{close[0]} (or one of: {listed})" if close else f"one of: {listed}"


def _check_control_plane(environment: Environment) -> Iterator[Finding]:
    name = environment.control_plane.site
    site = environment.sites.get(name)
    if site is None:
        yield "control_plane.site", f"{name!r} is not a site", _choices(list(environment.sites), name)
    elif not isinstance(site, AzureSite):
        azure = [other for other, s in environment.sites.items() if isinstance(s, AzureSite)]
        yield "control_plane.site", f"{name!r} is not on Azure, the only place a control plane can be yet", _choices(
            azure, name
        )


def _check_pools(environment: Environment) -> Iterator[Finding]:
    for name, pool in environment.pools.items():
        site = environment.sites.get(pool.site)
        clouds = [other for other, s in environment.sites.items() if not isinstance(s, OnpremSite)]
        if site is None:
            yield f"pools.{name}.site", f"{pool.site!r} is not a site", _choices(clouds, pool.site)
        elif isinstance(site, OnpremSite):
            yield f"pools.{name}.site", f"{pool.site!r} is on-prem; its hosts go into the hosts file", _choices(
                clouds, pool.site
            )
        if pool.min > pool.max:
            yield f"pools.{name}.min", f"{pool.min} is more than max, {pool.max}", f"min: {pool.max} or less"
        for fallback in pool.fallbacks:
            if fallback == name or fallback not in environment.pools:
                others = [other for other in environment.pools if other != name]
                yield f"pools.{name}.fallbacks", f"{fallback!r} is not another pool", _choices(others, fallback)


def _check_machine_types(environment: Environment) -> Iterator[Finding]:
    control = environment.control_plane
    wanted: list[tuple[str, str, str, bool]] = [
        ("control_plane.etcd.machine_type", control.site, control.etcd.machine_type, True),
        ("control_plane.events.machine_type", control.site, control.events.machine_type, True),
        ("control_plane.api.machine_type", control.site, control.api.machine_type, False),
        *((f"pools.{name}.machine_type", pool.site, pool.machine_type, False) for name, pool in environment.pools.items()),
    ]
    for key, site_name, name, needs_ssd in wanted:
        site = environment.sites.get(site_name)
        if site is None or isinstance(site, OnpremSite):
            continue
        yield from _check_machine_type(environment, key=key, cloud=site.kind, name=name, needs_ssd=needs_ssd)


def _check_machine_type(
    environment: Environment, *, key: str, cloud: str, name: str, needs_ssd: bool
) -> Iterator[Finding]:
    from components.model.machine_types import known_machine_types

    types = {**known_machine_types(), **environment.machine_types}
    fitting = [other for other, t in types.items() if t.cloud == cloud and (t.local_ssd_gb > 0 or not needs_ssd)]
    machine_type = types.get(name)
    if machine_type is None:
        yield key, f"{name!r} is not a machine type Longhaul knows", (
            f"{_choices(fitting, name)}; a new type is declared under `machine_types`"
        )
    elif machine_type.cloud != cloud:
        yield key, f"{name!r} is a type of {machine_type.cloud}, the site is on {cloud}", _choices(fitting, name)
    elif needs_ssd and not machine_type.local_ssd_gb:
        yield key, f"{name!r} has no local SSD, which etcd needs", _choices(fitting, name)


def _check_hosts(environment: Environment) -> Iterator[Finding]:
    racks = [name for name, site in environment.sites.items() if isinstance(site, OnpremSite)]
    counts = Counter(host.name for host in environment.hosts)
    for index, host in enumerate(environment.hosts):
        key = f"hosts.{index}"
        if host.site not in racks:
            yield f"{key}.site", f"{host.site!r} of {host.name} is not an on-prem site", _choices(racks, host.site)
        if counts[host.name] > 1:
            yield f"{key}.name", f"{host.name!r} is in the list {counts[host.name]} times", "a name of its own"
    if environment.hosts and environment.bare_metal is None:
        yield "bare_metal", "is missing though hosts are given", "the name of the hosts file"


def _check_links(environment: Environment) -> Iterator[Finding]:
    for index, link in enumerate(environment.links):
        for site in link.between:
            if site not in environment.sites:
                yield f"links.{index}.between", f"{site!r} is not a site", _choices(list(environment.sites), site)
        if link.between[0] == link.between[1]:
            yield f"links.{index}.between", "names one site twice", "two sites"


def _check_plan(environment: Environment) -> Iterator[Finding]:
    try:
        addresses = plan(environment)
        yield from _check_host_addresses(environment)
    except PlanError as error:
        yield error.key, error.wrong, error.write
        return
    for name, site in environment.sites.items():
        if isinstance(site, AzureSite | AwsSite) and len(site.zones) > 4:
            yield f"sites.{name}.zones", f"{len(site.zones)} zones, the address plan holds four", "at most four"
    del addresses


def _check_host_addresses(environment: Environment) -> Iterator[Finding]:
    from components.model.racks import rack_places

    seen: dict[object, str] = {}
    for place in rack_places(environment, plan(environment)):
        if place.address in seen:
            yield "hosts", f"{place.name} and {seen[place.address]} both have {place.address}", "an address each"
        seen[place.address] = place.name
