"""Renders an overview: for programs as JSON; for people as a head of two lines, the drawing, and a section for each
part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain

from clouds.base.phrases import counted
from clouds.base.throughput import text as throughput
from components.model.control_plane.machines import Role
from components.model.network.links import LinkKind
from longhaul.costs.cost import EnvironmentCost
from longhaul.costs.text import cost_json
from longhaul.report.json_output import document
from longhaul.report.text import INDENT, table, wrapped
from longhaul.show.counts import GpuCount, by_model, total
from longhaul.show.drawing import NAMES, drawing
from longhaul.show.overview import (
    CloudName,
    ControlRole,
    LinkView,
    Overview,
    PoolOverview,
    SiteView,
    Totals,
    folded,
    where,
)
from longhaul.show.people_text import people_lines, team_lines
from longhaul.terminal.printable import printable

DRAWN, LISTED = 5, 8
"""Maximum numbers of pools for each site, in the drawing and in the table, unless everything is shown."""

_ROLES = {
    Role.ETCD: "etcd",
    Role.EVENTS: "etcd for events",
    Role.API: "API servers",
    Role.VPN: "laptops' VPN",
}

_SIZED = {
    "acts": "the autoscaler sizes pools by waiting pods and idle nodes",
    "looks": "the autoscaler changes no size, and only reports what it would do",
    "off": "no autoscaler: you change pools' sizes yourself (docs/autoscaler.md)",
}


def to_json(overview: Overview, *, cost: EnvironmentCost | None) -> str:
    """Render the whole overview as one JSON object; ``cost`` is None when prices are unknown."""
    return document({**asdict(overview), "cost": cost and cost_json(cost)})


def to_text(overview: Overview, *, cost: str, everything: bool, unicode: bool) -> str:
    """Render the whole overview. ``cost`` is the cost as text. With ``everything``, no pools are left out, and machines
    and zones are listed. ``unicode`` means that the reader has UTF-8."""
    sections = (
        _head(overview),
        _titled("Topology", drawing(overview, pools=None if everything else DRAWN)),
        _titled("Sites", _sites(overview)),
        _titled("Control plane", _control_plane(overview, everything=everything)),
        _titled("Pools", _pools(overview, everything=everything)),
        _titled("Hosts", _hosts(overview)),
        _titled("People", people_lines(overview.people)),
        _titled("Teams", team_lines(overview.people, queues=overview.queues)),
        _titled("Address plan", _addresses(overview, everything=everything)),
        _titled("Links", _links(overview, everything=everything)),
        _titled("Names in the clouds", _names(overview, everything=everything)),
        _titled("Cost", (f"{INDENT}{line}" for line in cost.splitlines())),
    )
    text = "\n\n".join("\n".join(section) for section in sections if section)
    return printable(text, unicode=unicode)


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    """Return a section; empty when it has no lines."""
    content = list(lines)
    return [title, *content] if content else []


def _head(overview: Overview) -> list[str]:
    totals, margin = overview.totals, " " * (len(overview.name) + 2)
    control = f"control plane of {counted(totals.control_machines, 'machine')} in {overview.control_plane.site}"
    what = f"{_places(totals)}, {totals.nodes} nodes, {control}"
    gpus = f"GPUs: {_gpus(totals.gpus_by_model)}" if totals.gpus_by_model else "no GPUs"
    return [
        *wrapped(what, indent=f"{overview.name}: ", hanging=margin),
        *wrapped(gpus, indent=margin),
    ]


def _places(totals: Totals) -> str:
    regions = f"{counted(totals.regions, 'cloud region')}" if totals.regions else ""
    hosts = f"{totals.onprem_sites} on-prem" if totals.onprem_sites else ""
    return f"{counted(totals.sites, 'site')} ({', '.join(filter(None, (regions, hosts)))})"


def _gpus(counts: Sequence[GpuCount]) -> str:
    """Return the count of each model, after the sum if there are several models."""
    each = ", ".join(map(str, counts))
    return f"{total(count.count for count in counts)} ({each})" if len(counts) > 1 else each


def _sites(overview: Overview) -> Iterator[str]:
    rows = [(site.name, where(site), _zones(site), str(site.block), _linked(overview, site)) for site in overview.sites]
    yield from table(("SITE", "WHERE", "ZONES", "BLOCK", "LINKED TO"), rows)
    for site in overview.sites:
        if site.existing:
            start = f"{INDENT}{site.name} existing: "
            yield from wrapped(", ".join(site.existing), indent=start, hanging=INDENT * 2)


def _zones(site: SiteView) -> str:
    return " ".join(zone.zone for zone in site.zones) or "-"


def _linked(overview: Overview, site: SiteView) -> str:
    by_kind = overview.linked(site.name)
    return "; ".join(f"{NAMES[kind]} {', '.join(names)}" for kind, names in by_kind.items()) or "-"


def _control_plane(overview: Overview, *, everything: bool) -> Iterator[str]:
    control = overview.control_plane
    yield f"{INDENT}https://{control.api_name}:{control.api_port}, a load balancer at {control.api_address}"
    yield f"{INDENT}Kubernetes {control.kubernetes}, etcd {control.etcd}"
    if overview.pools:
        yield f"{INDENT}{_SIZED[overview.autoscaler]}"
    rows = [
        (
            _ROLES[role.role],
            f"{len(role.machines)} × {role.machine_type}",
            _range(role.machines[0].name, role.machines[-1].name),
            _range(str(role.machines[0].address), str(role.machines[-1].address)),
            _survives(role),
        )
        for role in control.roles
    ]
    if control.learner is not None:
        learner = control.learner
        rows.append(("etcd's learner", f"1 × {control.learner_type}", learner.name, str(learner.address), "-"))
    yield from table(("ROLE", "MACHINES", "NAMES", "ADDRESSES", "SURVIVES"), rows)
    if everything:
        every = [machine for role in control.roles for machine in role.machines]
        every += [control.learner] if control.learner else []
        machines = [(machine.name, str(machine.address), machine.zone or "-") for machine in every]
        yield ""
        yield from table(("MACHINE", "ADDRESS", "ZONE"), machines)


def _range(first: str, last: str) -> str:
    """Return a range from one text to another, with their common part only once: 10.0.1.10..14."""
    if first == last:
        return first
    for mark in ".-":
        start, separator, end = last.rpartition(mark)
        if separator and first.startswith(start + mark):
            return f"{first}..{end}"
    return f"{first}..{last}"


def _survives(role: ControlRole) -> str:
    return f"the loss of {role.survives}" if role.survives else "not the loss of one"


def _pools(overview: Overview, *, everything: bool) -> Iterator[str]:
    if not overview.pools:
        return
    rows = list(chain.from_iterable(_of_site(overview, site.name, everything=everything) for site in overview.sites))
    yield from table(("POOL", "SITE", "MACHINE TYPE", "NODES", "GPUS", "FALLBACKS"), rows)
    for pool in overview.pools:
        if len(pool.groups) > 1:
            groups = ", ".join(f"{group.name} ({group.max:,})" for group in pool.groups)
            yield from wrapped(f"{pool.name} takes {len(pool.groups)} scale sets: {groups}", indent=INDENT)


def _of_site(overview: Overview, site: str, *, everything: bool) -> Iterator[tuple[str, ...]]:
    pools = [pool for pool in overview.pools if pool.site == site]
    shown = folded(pools, None if everything else LISTED)
    for pool in shown:
        gpus = f"{pool.gpus.count} {pool.gpus.model}".rstrip() if pool.gpus_each else "-"
        machine_type = ", ".join(filter(None, (pool.machine_type, "spot" if pool.spot else pool.reserved)))
        nodes = f"{pool.nodes}, {pool.spare} spare" if pool.spare else str(pool.nodes)
        yield pool.name, site, machine_type, nodes, gpus, ", ".join(pool.fallbacks) or "-"
    yield from _rest(pools[len(shown) :], site)


def _rest(hidden: Sequence[PoolOverview], site: str) -> Iterator[tuple[str, ...]]:
    """Yield a row for the pools that are not shown."""
    if hidden:
        nodes, gpus = total(pool.nodes for pool in hidden), by_model(pool.gpus for pool in hidden)
        count = str(total(each.count for each in gpus)) if gpus else "-"
        yield f"… {len(hidden)} more", site, "(--all lists them)", str(nodes), count, ""


def _hosts(overview: Overview) -> Iterator[str]:
    rows = [
        (
            onprem.site,
            f"{onprem.hosts:,} of {onprem.room:,}",
            "-" if onprem.first is None or onprem.last is None else _range(str(onprem.first), str(onprem.last)),
            ", ".join(map(str, onprem.gpus)) or "-",
            ", ".join(
                f"{gateway.name} {gateway.address} (public {gateway.public_address})" for gateway in onprem.gateways
            ),
        )
        for onprem in overview.hosts
    ]
    if rows:
        yield from table(("SITE", "HOSTS", "ADDRESSES", "GPUS", "GATEWAYS"), rows)


def _addresses(overview: Overview, *, everything: bool) -> Iterator[str]:
    rows = [(site.name, str(site.block), str(site.infra), str(site.nodes), str(site.pods)) for site in overview.sites]
    shared = {"services": overview.services, "operators": overview.operators, "laptops": overview.laptops}
    rows += [(name, str(range_), "", "", "") for name, range_ in shared.items()]
    yield from table((f"OF {overview.supernet}", "RANGE", "INFRASTRUCTURE", "NODES", "PODS"), rows)
    yield f"{INDENT}kubernetes service {overview.kubernetes_service}, DNS service {overview.dns_service}"
    yield ""
    room = [(site.name, f"{site.most_nodes:,}", _known(site.room), _known(site.room_left)) for site in overview.sites]
    yield from table(("SITE", "NODES AT MOST", "ROOM FOR", "LEFT"), room, right=(1, 2, 3))
    yield ""
    parts = list(overview.sites[0].subnets)
    subnets = [(site.name, *(str(site.subnets[part]) for part in parts)) for site in overview.sites]
    yield from table(("SUBNETS", *(part.upper() for part in parts)), subnets)
    if everything:
        yield ""
        zones = [
            (site.name, zone.zone, str(zone.nodes), str(zone.pods)) for site in overview.sites for zone in site.zones
        ]
        yield from table(("SITE", "ZONE", "NODES", "PODS"), zones)


def _known(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _links(overview: Overview, *, everything: bool) -> Iterator[str]:
    if not overview.links:
        return
    meanings = {
        LinkKind.BACKBONE: "peering inside one cloud",
        LinkKind.IPSEC: "tunnels between the sites' gateways, over the internet",
        LinkKind.EXISTING: "your own circuits: Longhaul makes nothing",
    }
    count = Counter(link.kind for link in overview.links)
    rows = [(NAMES[kind], str(count[kind]), what) for kind, what in meanings.items() if count[kind]]
    yield from table(("KIND", "PAIRS", "WHAT"), rows)
    yield f"{INDENT}largest packet of a pod: {overview.pod_mtu:,} bytes"
    limited = [link for link in overview.links if link.kind is not LinkKind.BACKBONE or link.wanted_mbit]
    shown = folded(limited, None if everything else LISTED)
    if shown:
        yield ""
        head = ("THROUGHPUT BETWEEN", "WANTED", "AT MOST", "PACKETS/S", "BECAUSE OF")
        yield from table(head, [_throughput(link) for link in shown], right=(3,))
    if hidden := len(limited) - len(shown):
        yield f"{INDENT}{counted(hidden, 'more link')} (--all lists them)"


def _throughput(link: LinkView) -> tuple[str, ...]:
    """Return the row of a link: what it is to carry, and what it can."""
    wanted = throughput(link.wanted_mbit) if link.wanted_mbit else "-"
    pair, limit = f"{link.first} {link.second}", link.limit
    if limit is None:
        known = "no limit of its own" if link.kind is LinkKind.BACKBONE else "nothing is published or declared"
        return pair, wanted, "?", "-", known
    return pair, wanted, throughput(limit.mbit), f"{limit.packets:,}" if limit.packets else "-", limit.of


def _names(overview: Overview, *, everything: bool) -> Iterator[str]:
    rows: list[tuple[str, str, str]] = []
    for site in overview.sites:
        cloud_names = [name for name in overview.names if name.site == site.name]
        pools = list(dict.fromkeys(cloud_name.pool for cloud_name in cloud_names if cloud_name.pool))
        shown = ["", *folded(pools, None if everything else LISTED)]
        rows += [
            (cloud_name.site, _what(cloud_name), cloud_name.name)
            for cloud_name in cloud_names
            if cloud_name.pool in shown
        ]
        if hidden := len(pools) - len(shown) + 1:
            rows.append((site.name, f"of {counted(hidden, 'more pool')}", "(--all lists them)"))
    if rows:
        yield from table(("SITE", "WHAT", "NAME"), rows)


def _what(named: CloudName) -> str:
    what = f"{named.what} of {named.pool}" if named.pool else named.what
    return f"{what}, there already" if named.existing else what
