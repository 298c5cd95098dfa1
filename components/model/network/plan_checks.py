"""Checks of the address plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clouds.base.faults import Fault, Location
from components.model.environment import Environment
from components.model.hosts.places import host_errors
from components.model.network.address_plan import machine_capacity, plan
from components.model.network.free_range import free
from components.model.network.site_ranges import PlanError, plan_errors


def check_plan(environment: Environment) -> Iterator[Fault]:
    """Yield the faults of the address plan, of hosts' addresses and of the numbers of control-plane machines. All of
    them depend on every site's size, so none can be trusted while one size cannot be read."""
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


def check_used(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each range in use that the supernet overlaps."""
    supernet, used = environment.supernet, environment.used
    for index, range_ in enumerate(used):
        if supernet.overlaps(range_):
            offer = free(used, prefix=supernet.prefixlen)
            such = "" if offer is None else f", such as {offer}"
            wrong = f"{supernet} overlaps {range_}, which something else of yours uses (`used`)"
            basis: tuple[Location, ...] = (("used", index),)
            yield Fault(at=("supernet",), wrong=wrong, write=f"a range that nothing else uses{such}", basis=basis)


def _findings(errors: Iterable[PlanError], basis: tuple[Location, ...]) -> Iterator[Fault]:
    for error in errors:
        yield Fault(at=error.key, wrong=error.wrong, write=error.write, basis=basis)
