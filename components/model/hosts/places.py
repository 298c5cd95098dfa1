"""Addresses of each bare-metal host and on-premises gateway in the address plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from components.model.environment import Environment
from components.model.network.address_plan import AddressPlan, SitePlan, machine_address
from components.model.network.site_ranges import PlanError


@dataclass(frozen=True, kw_only=True)
class HostPlace:
    """Addresses of one bare-metal host."""

    name: str
    site: str
    address: IPv4Address
    pods: IPv4Network


@dataclass(frozen=True, kw_only=True)
class GatewayPlace:
    """Addresses of one on-premises gateway."""

    name: str
    """Name in the environment file; the machine is `<env>-<name>`."""
    site: str
    address: IPv4Address
    """Address inside the site, in its `gateway` subnet."""
    public_address: IPv4Address
    host_key: str | None


def gateway_places(environment: Environment, addresses: AddressPlan) -> Iterator[GatewayPlace]:
    """Yield every on-premises gateway. Its address follows from its position among its site's gateways."""
    for name, site in environment.sites.items():
        for index, gateway in enumerate(site.gateways):
            yield GatewayPlace(
                name=gateway.name,
                site=name,
                address=machine_address(addresses.sites[name].subnet("gateway"), index),
                public_address=gateway.public_address,
                host_key=gateway.host_key,
            )


def host_places(environment: Environment, addresses: AddressPlan) -> Iterator[HostPlace]:
    """Yield address and pod range of every host. The pod range follows from the host's position among its site's hosts,
    and so does the address unless the host declares one. The environment must have been checked: raise ``IndexError``
    when a site has no room left. Hosts of unknown sites are skipped."""
    return (place for _, place in _numbered(environment, addresses))


def _numbered(environment: Environment, addresses: AddressPlan) -> Iterator[tuple[int, HostPlace]]:
    """Yield each place with the host's index in the hosts file."""
    counts: defaultdict[str, int] = defaultdict(int)
    for number, host in enumerate(environment.hosts):
        site = addresses.sites.get(host.site)
        if site is None:
            continue
        index = counts[host.site]
        counts[host.site] += 1
        yield (
            number,
            HostPlace(
                name=host.name,
                site=host.site,
                address=host.address or site.node_address(index),
                pods=site.pod_range(index),
            ),
        )


def quarantined_ranges(environment: Environment, addresses: AddressPlan, site: str) -> tuple[IPv4Network, ...]:
    """Return the addresses of a site's hosts in quarantine and of their pods."""
    names = {host.name for host in environment.hosts if host.quarantined}
    quarantined = [place for place in host_places(environment, addresses) if place.site == site and place.name in names]
    return tuple(range_ for place in quarantined for range_ in (IPv4Network(place.address), place.pods))


def host_errors(environment: Environment, addresses: AddressPlan) -> Iterator[PlanError]:
    """Yield every error that prevents hosts from having addresses of their own."""
    overfull = list(_overfull(environment, addresses))
    yield from overfull
    yield from _misplaced(environment, addresses)
    if not overfull:
        yield from _shared(environment, addresses)


def _overfull(environment: Environment, addresses: AddressPlan) -> Iterator[PlanError]:
    for name, count in Counter(host.site for host in environment.hosts).items():
        site = addresses.sites.get(name)
        if site is not None and count > site.hosts:
            yield PlanError(
                key=("sites", name, "prefix"),
                wrong=f"{site.block} of {name} has room for {site.hosts} hosts, the hosts file lists {count}",
                write=f"a larger block: a `prefix` below {site.block.prefixlen}, or such a `range`",
            )


def _misplaced(environment: Environment, addresses: AddressPlan) -> Iterator[PlanError]:
    for index, host in enumerate(environment.hosts):
        site = addresses.sites.get(host.site)
        if site is not None and host.address is not None and not _usable(site, host.address):
            yield PlanError(
                key=("hosts", index, "address"),
                wrong=f"{host.address} is not a host's address in {site.nodes}, the node range of {host.site}",
                write=f"{site.nodes[1]} to {site.nodes[-2]}, or leave it out",
            )


def _usable(site: SitePlan, address: IPv4Address) -> bool:
    return address in site.nodes and address not in (site.nodes.network_address, site.nodes.broadcast_address)


def _shared(environment: Environment, addresses: AddressPlan) -> Iterator[PlanError]:
    """Yield an error for each address that two hosts have: both declare it, or one declares it and the other has it by
    its position in the list."""
    holders: dict[IPv4Address, int] = {}
    for index, place in _numbered(environment, addresses):
        other = holders.setdefault(place.address, index)
        if other != index:
            blamed, spared = (other, index) if environment.hosts[index].address is None else (index, other)
            given = "" if environment.hosts[spared].address else ", by its place in the list"
            yield PlanError(
                key=("hosts", blamed, "address"),
                wrong=f"{place.address} is also the address of hosts.{spared}{given}",
                write="an address that no other host has, or leave it out",
            )
