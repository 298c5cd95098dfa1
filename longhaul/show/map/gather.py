"""Gathers the content of the map from an environment. Every address comes from the address plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clouds.base.phrases import counted, word_list
from clouds.registry import clouds
from components.model import AddressPlan, Environment, plan
from components.model.control_plane.machines import control_machines
from components.model.control_plane.size import most_nodes
from components.model.network.link_throughput import link_limit
from components.model.network.links import LinkKind, PlannedLink, links, tunnels
from components.model.nodes.gpu_promises import host_promise, pool_promise
from longhaul.show.map.facts import LinkFacts, MapFacts, RangePart, part_of
from longhaul.show.map.sites import site_facts


def gather(environment: Environment) -> MapFacts:
    """Return the content of the map of ``environment``."""
    addresses = plan(environment)
    joined = tuple(_link(environment, link) for link in links(environment))
    tunnel_counts: Counter[str] = Counter()
    for link in links(environment):
        if link.kind is LinkKind.IPSEC:
            tunnel_counts.update({site: tunnels(environment, link) for site in (link.first, link.second)})
    return MapFacts(
        name=environment.name,
        subtitle=(
            f"{environment.domain} · Kubernetes {environment.versions.kubernetes} · etcd {environment.versions.etcd}"
        ),
        summary=_summary(environment),
        figures=tuple(_figures(environment, addresses)),
        supernet=addresses.supernet,
        parts=tuple(_parts(environment, addresses)),
        shared=tuple(_shared(environment, addresses)),
        sites=tuple(
            site_facts(environment, addresses, name, tunnels=tunnel_counts[name]) for name in environment.sites
        ),
        links=joined,
    )


def _summary(environment: Environment) -> str:
    kinds = Counter[str](site.kind for site in environment.sites.values())
    where = word_list([f"{kinds[kind]} × {cloud.picture.title}" for kind, cloud in clouds().items() if kinds[kind]])
    control = environment.control_plane.site
    pools, hosts = counted(len(environment.pools), "pool"), counted(len(environment.hosts), "bare-metal host")
    return (
        f"Sites: {where}. The control plane is in {control}. {pools}, {hosts}. "
        "Each site's card lists its ranges, gateways, pools and racks; lines between the cards are the links."
    )


def _figures(environment: Environment, addresses: AddressPlan) -> Iterator[tuple[str, str]]:
    promises = {name: pool_promise(environment, name) for name in environment.pools}
    most = most_nodes(environment) - len(environment.hosts)
    gpus = sum(pool.max * promises[name].gpus for name, pool in environment.pools.items())
    gpus += sum(host_promise(host).gpus for host in environment.hosts)
    yield _counted(len(environment.sites), "site")
    yield _counted(len(control_machines(environment, addresses)), "control-plane machine")
    if environment.pools:
        yield _counted(len(environment.pools), "pool")
        yield f"{most:,}", "pool machines at most"
    if environment.hosts:
        yield _counted(len(environment.hosts), "bare-metal host")
    if gpus:
        yield f"{gpus:,}", "GPUs at most"


def _counted(number: int, singular: str) -> tuple[str, str]:
    figure, _, word = counted(number, singular).partition(" ")
    return figure, word


def _parts(environment: Environment, addresses: AddressPlan) -> Iterator[RangePart]:
    """Yield the supernet's parts in the order of their addresses, from left to right in the picture."""
    outer = addresses.supernet
    parts = [
        part_of(outer, site.block, name=name, css=f"accent {environment.sites[name].kind}")
        for name, site in addresses.sites.items()
    ]
    parts.append(part_of(outer, addresses.services, name="services", css="shared"))
    parts.append(part_of(outer, addresses.operators, name="operators", css="shared"))
    if environment.vpn:
        parts.append(part_of(outer, addresses.laptops, name="laptops", css="shared"))
    yield from sorted(parts, key=lambda part: part.start)


def _shared(environment: Environment, addresses: AddressPlan) -> Iterator[tuple[str, str]]:
    yield "services", str(addresses.services)
    yield "kubernetes service", str(addresses.kubernetes_service)
    yield "DNS service", str(addresses.dns_service)
    yield "operators", str(addresses.operators)
    if environment.vpn:
        yield "laptops", str(addresses.laptops)


def _link(environment: Environment, link: PlannedLink) -> LinkFacts:
    match link.kind:
        case LinkKind.IPSEC:
            note = counted(tunnels(environment, link), "tunnel")
        case LinkKind.BACKBONE:
            note = "peering"
        case LinkKind.EXISTING:
            note = "circuit"
    limit = link_limit(environment, link)
    return LinkFacts(
        first=link.first, second=link.second, kind=str(link.kind), note=note, limit=str(limit) if limit else ""
    )
