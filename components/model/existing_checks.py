"""What can be wrong with parts that are named instead of made, as far as the file alone tells."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from clouds.aws.site import AwsSite
from clouds.azure.existing import CONTROL_PLANE_SUBNETS, name_of, subscription_of
from clouds.azure.site import AzureSite
from clouds.base.fault import Fault, Location
from clouds.base.ranges import PRIVATE
from components.model.environment import Environment
from components.model.words import choices

SHARED = IPv4Network("100.64.0.0/10")
"""Addresses behind a carrier's translation (RFC 6598)."""


def check_existing(environment: Environment) -> Iterator[Fault]:
    """Parts that are named and do not go with the rest of the file."""
    taken: dict[str, Location] = {}
    account: Location | None = None
    for name, site in environment.sites.items():
        if isinstance(site, AzureSite):
            yield from _azure(environment, name, site)
            network = site.existing.network
        elif isinstance(site, AwsSite):
            yield from _aws(name, site)
            network = site.existing.vpc
            if site.account is not None:
                account = account or ("sites", name, "account")
                yield from _account(environment, name, site.account, first=account)
        else:
            continue
        if network is not None:
            at = ("sites", name, "existing", "network" if isinstance(site, AzureSite) else "vpc")
            yield from _network(name, network, at, taken, written=site.range is not None)


def _account(environment: Environment, name: str, account: str, *, first: Location) -> Iterator[Fault]:
    """One provider serves all AWS sites."""
    other = environment.sites[str(first[1])]
    if isinstance(other, AwsSite) and other.account != account:
        wrong = f"{account} is not {other.account}, the account of {first[1]}, and an environment has one"
        yield Fault(at=("sites", name, "account"), wrong=wrong, write=f'"{other.account}"', basis=(first,))


def _network(name: str, network: str, at: Location, taken: dict[str, Location], *, written: bool) -> Iterator[Fault]:
    earlier = taken.setdefault(network.lower(), at)
    if earlier != at:
        wrong = f"{network} is the network of {earlier[1]} already"
        yield Fault(at=at, wrong=wrong, write="a network of its own for each site", basis=(earlier,))
    if not written:
        wrong = f"a network is named, and the range that {name} has of it is not written"
        write = f"`range` of {name}: a block that the network holds"
        yield Fault(at=at, wrong=wrong, write=write, basis=(("sites", name, "range"),))


def _azure(environment: Environment, name: str, site: AzureSite) -> Iterator[Fault]:
    there, at = site.existing, ("sites", name, "existing")
    gateway = there.vpn_gateway
    ids: tuple[tuple[Location, str | None], ...] = (
        ((*at, "network"), there.network),
        ((*at, "dns_zone"), there.dns_zone),
        ((*at, "vpn_gateway", "id"), gateway.id if gateway else None),
    )
    for place, id_ in ids:
        if id_ is not None and subscription_of(id_) != site.subscription:
            wrong = f"{name_of(id_)} is in another subscription than {name}"
            write = f"the id of one in {site.subscription}"
            yield Fault(at=place, wrong=wrong, write=write, basis=(("sites", name, "subscription"),))
    named = there.subnets.named()
    if there.network is None:
        for key, is_named in (("subnets", bool(named)), ("vpn_gateway", gateway is not None)):
            if is_named:
                yield Fault(at=(*at, key), wrong="no network is named that it would be in", write="`network` as well")
    for index, address in enumerate(gateway.addresses if gateway else ()):
        if not _is_public(address):
            wrong = f"{address} is not public: the other ends of its tunnels are out on the internet"
            place = (*at, "vpn_gateway", "addresses", index)
            yield Fault(at=place, wrong=wrong, write="the address of the gateway's public IP configuration")
    yield from _subnets(environment, name, named, at)
    yield from _zone(environment, name, site, at)


def _is_public(address: IPv4Address) -> bool:
    """Whether the internet may know it; ranges kept for documentation stand for such ones in examples and labs."""
    kept = address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    return not kept and not any(address in range_ for range_ in (*PRIVATE, SHARED))


def _subnets(environment: Environment, name: str, named: dict[str, str], at: Location) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for part, subnet in named.items():
        place = (*at, "subnets", part)
        earlier = first.setdefault(subnet.lower(), part)
        if earlier != part:
            wrong = f"{subnet!r} is the subnet of {earlier} already"
            yield Fault(at=place, wrong=wrong, write="a subnet for each", basis=((*at, "subnets", earlier),))
        if part in CONTROL_PLANE_SUBNETS and _is_elsewhere(environment, name):
            wrong = f"{name} has no {part} subnet: the control plane is in {environment.control_plane.site}"
            yield Fault(at=place, wrong=wrong, write="nothing here", basis=(("control_plane", "site"),))


def _zone(environment: Environment, name: str, site: AzureSite, at: Location) -> Iterator[Fault]:
    zone, control = site.existing.dns_zone, environment.control_plane.site
    if zone is None:
        if site.existing.dns_zone_linked:
            yield Fault(at=(*at, "dns_zone_linked"), wrong="no DNS zone is named", write="`dns_zone` as well")
        return
    if _is_elsewhere(environment, name):
        wrong = f"the environment's zone is beside the control plane, in {control}"
        yield Fault(at=(*at, "dns_zone"), wrong=wrong, write="nothing here", basis=(("control_plane", "site"),))
    elif name == control and name_of(zone) != environment.domain:
        wrong = f"{name_of(zone)!r} is not the environment's domain"
        write = f"the id of a zone called {environment.domain}"
        yield Fault(at=(*at, "dns_zone"), wrong=wrong, write=write, basis=(("domain",),))


def _is_elsewhere(environment: Environment, name: str) -> bool:
    """Whether the control plane has a site, and it is not this one."""
    control = environment.control_plane.site
    return name != control and isinstance(environment.sites.get(control), AzureSite)


def _aws(name: str, site: AwsSite) -> Iterator[Fault]:
    there, at = site.existing, ("sites", name, "existing")
    if there.vpc is None:
        for key in ("internet_gateway", "node_subnets", "vpn_gateway"):
            if getattr(there, key):
                yield Fault(at=(*at, key), wrong="no VPC is named that it would be of", write="`vpc` as well")
    first: dict[str, str] = {}
    for zone, named in there.node_subnets.items():
        place = (*at, "node_subnets", zone)
        if zone not in site.zones:
            wrong = f"{zone!r} is not a zone of {name}"
            basis = (("sites", name, "zones"), *(("sites", name, "zones", index) for index in range(len(site.zones))))
            yield Fault(at=place, wrong=wrong, write=choices(site.zones, zone), basis=basis)
        earlier = first.setdefault(named.subnet, zone)
        if earlier != zone:
            wrong = f"{named.subnet} is the subnet of zone {earlier} already"
            basis = ((*at, "node_subnets", earlier),)
            yield Fault(at=(*place, "subnet"), wrong=wrong, write="a subnet for each zone", basis=basis)
