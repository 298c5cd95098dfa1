"""Checks of the hosts file: sites and names."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault
from clouds.base.phrases import suggestion
from clouds.registry import cloud_of
from components.model.environment import Environment


def check_hosts(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each host whose site is not on-premises, and for each name that two hosts have."""
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
