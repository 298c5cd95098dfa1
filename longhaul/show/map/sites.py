"""Gathers the content of a site's card: ranges, control plane, gateways, pools, hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clouds.base.phrases import counted
from clouds.registry import cloud_of
from components.model import AddressPlan, Environment, SitePlan
from components.model.hosts.places import gateway_places, host_places
from components.model.network.api_address import api_address
from components.model.network.capacity import SiteUse, site_uses
from components.model.nodes.gpu_promises import host_promise, pool_promise
from components.model.pools.reservations import reservation_words
from components.model.sites.section import Site
from components.model.vpn.section import MACHINES
from contract.documents.node import GpuPromise
from longhaul.show.map.facts import CardLine, CardSection, SiteFacts, entry, part_of
from longhaul.show.map.fonts import CODE, TEXT

PARTS = ("infrastructure", "nodes", "pods")
"""Names of a block's parts on the map."""


def site_facts(environment: Environment, addresses: AddressPlan, name: str, *, tunnels: int) -> SiteFacts:
    """Return the card of site ``name``; ``tunnels`` is the number of IPsec tunnels that end there."""
    site, ranges = environment.sites[name], addresses.sites[name]
    sections = [_control_plane(environment, addresses)] if name == environment.control_plane.site else []
    sections += _gateways(environment, addresses, name, tunnels=tunnels)
    sections += _pools(environment, name)
    sections += _hosts(environment, addresses, name)
    inside = (ranges.infra, ranges.nodes, ranges.pods)
    return SiteFacts(
        name=name,
        kind=site.kind,
        where=_where(site),
        block=ranges.block,
        parts=tuple(
            part_of(ranges.block, range_, name=part, css=f"accent {part}")
            for part, range_ in zip(PARTS, inside, strict=True)
        ),
        ranges=(*_ranges(site, ranges), *_room(site_uses(environment, addresses)[name])),
        sections=tuple(sections),
    )


def _where(site: Site) -> str:
    if not site.region:
        return cloud_of(site).title
    if not site.zones:
        return f"{site.region} · no zones"
    zones = "zone" if len(site.zones) == 1 else "zones"
    return f"{site.region} · {zones} {', '.join(site.zones)}"


def _ranges(site: Site, ranges: SitePlan) -> Iterator[CardLine]:
    for part, range_ in zip(PARTS, (ranges.infra, ranges.nodes, ranges.pods), strict=True):
        yield CardLine(left=part, right=str(range_), swatch=part)
    if cloud_of(site).picture.zones_have_ranges:
        for index, zone in enumerate(site.zones):
            yield CardLine(left=f"zone {zone}", right=str(ranges.zone_pods(index)), inside=True)


def _room(use: SiteUse) -> Iterator[CardLine]:
    """Yield the share of the addresses that is used when every pool is at its maximum."""
    if use.room is not None:
        yield CardLine(left="nodes at most", right=f"{use.nodes:,} of {use.room:,}, {use.left:,} left", inside=True)


def _control_plane(environment: Environment, addresses: AddressPlan) -> CardSection:
    control, ranges = environment.control_plane, addresses.sites[environment.control_plane.site]
    vpn = environment.vpn
    machines = (
        ("API servers", "api", control.api.servers, control.api.machine_type),
        ("etcd", "etcd", control.etcd.members, control.etcd.machine_type),
        *([("etcd's learner", "etcd", 1, control.etcd.learner.machine_type)] if control.etcd.learner else []),
        ("etcd for events", "events", control.events.members, control.events.machine_type),
        *([("laptops' VPN", "vpn", MACHINES, vpn.machine_type)] if vpn else []),
    )
    where = f"{environment.api_name}:{control.api.port}"
    lines = [CardLine(left=where, right=str(api_address(environment, addresses)), left_face=CODE)]
    for title, part, count, kind in machines:
        under, beside = str(ranges.subnet(part)), _size(environment, kind)
        lines += entry(title, f"{count} × {kind}", under=under, beside=beside, face=CODE)
    return CardSection(title="Control plane", lines=tuple(lines), panel=True)


def _size(environment: Environment, kind: str) -> str:
    machine = environment.machine_type(kind)
    return f"{machine.vcpus} cores, {machine.memory_gib:,} GiB"


def _gateways(environment: Environment, addresses: AddressPlan, name: str, *, tunnels: int) -> Iterator[CardSection]:
    site = environment.sites[name]
    words = cloud_of(site).tunnels.gateway_words(site)
    lines: list[CardLine] = []
    for place in gateway_places(environment, addresses):
        if place.site == name:
            machine, public = f"{environment.name}-{place.name}", str(place.public_address)
            lines += entry(machine, public, under=f"inside {place.address}", beside="public", face=CODE)
    if tunnels and cloud_of(site).picture.gateway_in_subnet:
        subnet = str(addresses.sites[name].subnet("gateway"))
        lines += entry("VPN gateway", subnet, under=words, face=CODE)
    elif tunnels and words:
        lines += entry("VPN gateway", words, face=TEXT)
    if lines:
        count = len(site.gateways) or 1
        note = counted(tunnels, "IPsec tunnel") if tunnels else "no tunnels"
        yield CardSection(title=f"{count} gateways" if count > 1 else "Gateway", lines=tuple(lines), note=note)


def _pools(environment: Environment, name: str) -> Iterator[CardSection]:
    lines: list[CardLine] = []
    most = gpus = 0
    pools = {pool_name: pool for pool_name, pool in environment.pools.items() if pool.site == name}
    for pool_name, pool in pools.items():
        promise = pool_promise(environment, pool_name)
        count = f"{pool.min:,} to {pool.max:,}" if pool.min < pool.max else f"{pool.max:,}"
        tag = "spot" if pool.spot else reservation_words(pool.reservation).partition(" ")[0]
        beside = gpu_words(promise) or _size(environment, pool.machine_type)
        lines += entry(pool_name, count, under=pool.machine_type, beside=beside, tag=tag)
        most, gpus = most + pool.max, gpus + pool.max * promise.gpus
    if pools:
        of_them = f", {counted(gpus, 'GPU')}" if gpus else ""
        yield CardSection(
            title="Pool" if len(pools) == 1 else f"{len(pools)} pools",
            note=f"up to {counted(most, 'machine')}{of_them}",
            lines=tuple(lines),
        )


def _hosts(environment: Environment, addresses: AddressPlan, name: str) -> Iterator[CardSection]:
    if cloud_of(environment.sites[name]).rents:
        return
    places = [place for place in host_places(environment, addresses) if place.site == name]
    promises = [host_promise(host) for host in environment.hosts if host.site == name]
    if not places:
        yield CardSection(title="Racks", lines=(CardLine(left="no host is listed yet"),))
        return
    alike = Counter((promise.gpus, promise.model) for promise in promises)
    lines: list[CardLine] = []
    for (gpus, model), count in sorted(alike.items(), key=lambda item: (-item[0][0], -item[1], item[0][1])):
        words = gpu_words(GpuPromise(gpus=gpus, model=model))
        lines += entry(counted(count, "host"), f"{words} each" if words else "no GPUs")
    ends = dict.fromkeys((places[0], places[-1]))
    for word, place in zip(("from ", "to ") if len(ends) > 1 else ("",), ends, strict=True):
        lines.append(CardLine(left=f"{word}{place.name}", right=str(place.address)))
    total = sum(promise.gpus for promise in promises)
    note = counted(len(places), "host") + (f", {counted(total, 'GPU')}" if total else "")
    yield CardSection(title="Racks", note=note, lines=tuple(lines))


def gpu_words(promise: GpuPromise) -> str:
    """Return ``8 × H100``, ``8 GPUs`` when the model is unknown, or an empty text without GPUs."""
    if promise.gpus and promise.model:
        return f"{promise.gpus} × {promise.model}"
    return counted(promise.gpus, "GPU") if promise.gpus else ""
