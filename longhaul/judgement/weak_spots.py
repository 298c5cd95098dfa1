"""Finds the risks in an environment's file, such as parts without a substitute when they fail.

A new risk needs a reviewer's care, or is refused when the cloud does not document that the setup works. A risk that
existed before the change is listed, and does not change the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clouds.base.findings import Severity
from clouds.base.machine_types import Rdma
from clouds.base.phrases import word_list
from clouds.base.resource_types import ResourceKind
from clouds.base.tunnels import Risk
from clouds.registry import cloud_of
from components.model import Environment
from components.model.network.links import LinkKind, links
from components.model.nodes.rdma import pool_rdma
from components.model.sites.places import place_of
from contract.reasons.plan import FileReason
from longhaul.judgement.case import Case
from longhaul.judgement.changes import Change, ResourceAction
from longhaul.judgement.distant_gpus import distant_gpus
from longhaul.judgement.finding import PlanFinding
from longhaul.judgement.properties import changes_only
from longhaul.judgement.resource_kinds import is_whole_network, kind_of

_MADE = (ResourceAction.MAKE, ResourceAction.ADOPT)
POOLS = "{pools}"
"""Place in the words of a pool's risk for the names of all pools that have it."""


def refused_risks(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each new risk that is refused."""
    risks = (risk for site, risk in _risks(case.after) if risk.refused and _new(case, site, risk))
    yield from _findings(risks, Severity.PROBLEM)


def new_risks(case: Case) -> Iterator[PlanFinding]:
    """Yield a finding for each new risk that is not refused."""
    risks = (risk for site, risk in _risks(case.after) if not risk.refused and _new(case, site, risk))
    yield from _findings(risks, Severity.WARNING)


def standing_risks(case: Case) -> tuple[PlanFinding, ...]:
    """Return the risks that existed before the change."""
    risks = (risk for site, risk in _risks(case.after) if not _new(case, site, risk))
    return tuple(_findings(risks, Severity.OK))


def new_sites(case: Case) -> set[str]:
    """Return the sites that this change makes. Nothing runs there yet that a new rule could cut off."""
    made = (change for change in case.changes if change.action is ResourceAction.MAKE)
    return {case.places.of(change).site for change in made if is_whole_network(change)}


def _risks(environment: Environment) -> Iterator[tuple[str, Risk]]:
    """Yield the risks of an environment, each with its site."""
    for name, site in environment.sites.items():
        joined = [
            link for link in links(environment) if name in (link.first, link.second) and link.kind is LinkKind.IPSEC
        ]
        others = [link.second if link.first == name else link.first for link in joined]
        if others:
            risks = cloud_of(site).tunnels.risks(
                place_of(environment, name), {other: environment.sites[other] for other in others}
            )
            yield from ((name, risk) for risk in risks)
        yield from ((name, risk) for risk in cloud_of(site).parts.risks(place_of(environment, name)))
        if site.region and len(site.zones) < 2:
            yield name, _one_zone(name, *site.zones)
        hosts = [host for host in environment.hosts if host.site == name]
        if hosts and site.depot is None:
            yield name, _no_dns_cache(name)
    yield from distant_gpus(environment)
    control = environment.control_plane
    if control.etcd.members == 1:
        yield control.site, _one_member()
    if control.api.servers == 1:
        yield control.site, _one_api_server()
    for name, pool in environment.pools.items():
        if environment.machine_type(pool.machine_type).gpus and not pool.spot and pool.reservation is None:
            yield pool.site, _unreserved(name)
        if pool_rdma(environment, name) is Rdma.EFA and environment.images.efa_device_plugin is None:
            yield pool.site, _no_device_plugin(name)


def _unreserved(pool: str) -> Risk:
    return Risk(
        reason=FileReason.GPUS_UNRESERVED,
        what=f"No capacity is reserved for the GPU machines of {POOLS}.",
        where=f"pools.{pool}.reservation",
        why="Clouds give GPU machines only while they have some; a pool that shrinks may not grow again.",
        do="Reserve capacity for the machines that you must have, if the cloud offers it for the type "
        "(docs/gpu-pools.md).",
        pool=pool,
    )


def _no_device_plugin(pool: str) -> Risk:
    return Risk(
        reason=FileReason.NO_DEVICE_PLUGIN,
        what=f"Pods get no Elastic Fabric Adapters of {POOLS}: no device plugin offers them.",
        where="images.efa_device_plugin",
        why="Without adapters, programs on several machines use TCP, at a tenth of the speed or less.",
        do="Name AWS's device plugin by its digest (docs/gpu-pods.md), or bring one of your own.",
        pool=pool,
    )


def _no_dns_cache(site: str) -> Risk:
    return Risk(
        reason=FileReason.NO_DNS_CACHE,
        what=f"The hosts of {site} get no DNS cache: their site has no depot.",
        where=f"sites.{site}.depot",
        why="CoreDNS' official releases have no checksum that was seen, and nothing is installed without one. Pods ask "
        "the cluster's servers: while the site's links are cut, the resolver waits five seconds for each name that "
        "goes to a server elsewhere.",
        do="A depot for the site, which has CoreDNS built from its pinned module (docs/dns.md, docs/depot.md).",
    )


def _one_zone(site: str, zone: str = "") -> Risk:
    return Risk(
        reason=FileReason.ONE_ZONE,
        what=f"All machines of {site} are in one zone, {zone}." if zone else f"The machines of {site} are in no zone.",
        where=f"sites.{site}.zones",
        why="When the cloud loses the zone, the site is down until it is back; a control plane loses its quorum.",
        do="Give a new site three zones where the region has them.",
    )


def _one_member() -> Risk:
    return Risk(
        reason=FileReason.ONE_MEMBER,
        what="The etcd cluster has one member.",
        where="control_plane.etcd.members",
        why="Its data is on a local disk, which is lost with the machine: then only a backup is left. Nothing can "
        "replace the machine without a restore.",
        do="Three members, or five; one is for trying, with `backups` at most.",
    )


def _one_api_server() -> Risk:
    return Risk(
        reason=FileReason.ONE_API_SERVER,
        what="There is one API server.",
        where="control_plane.api.servers",
        why="While its machine is replaced or fails, no node joins, no pod is scheduled, and nobody reaches the API.",
        do="Two servers, or more.",
    )


_OF_A_NEW_SITE = (FileReason.ONE_ZONE, FileReason.ONE_MEMBER, FileReason.ONE_API_SERVER)
"""Risks that a change introduces when it makes their site, where no earlier file shows it."""


def _new(case: Case, site: str, risk: Risk) -> bool:
    """Return whether the change introduces a risk. With an earlier file, compare the two files. Without an earlier
    file, look at the changes of the site's gateway, tunnels or network. For a refused risk the state decides, if there
    is one: it shows whether something is really made."""
    if case.base is not None:
        known = {(name, other.reason, other.pool) for name, other in _risks(case.base)}
        new = (site, risk.reason, risk.pool) not in known
        if not new or not risk.refused or case.stateless:
            return new
    if case.stateless:
        return True
    if risk.pool:
        return any(change.action in _MADE and case.places.of(change).part == risk.pool for change in case.changes)
    if risk.reason in _OF_A_NEW_SITE:
        return site in new_sites(case)
    if risk.reason is FileReason.ADDRESSES_BEYOND_QUOTA:
        made = (change for change in case.changes if change.action in _MADE)
        return any(kind_of(change) is ResourceKind.ADDRESS and case.places.of(change).site == site for change in made)
    return any(_concerns(case, change, site) and _makes(change, only=risk.refused) for change in case.changes)


def _concerns(case: Case, change: Change, site: str) -> bool:
    place = case.places.of(change)
    site_links = {link.name for link in links(case.after) if site in (link.first, link.second)}
    return place.site == site or place.part in site_links


def _makes(change: Change, *, only: bool) -> bool:
    """Return whether a gateway or a tunnel is made; without ``only``, also whether a gateway changes."""
    kind = kind_of(change)
    if change.action in _MADE:
        return kind in (ResourceKind.TUNNEL, ResourceKind.VPN_GATEWAY)
    changes = (
        kind is ResourceKind.VPN_GATEWAY and change.action is ResourceAction.CHANGE and not changes_only(change, "tags")
    )
    return changes and not only


def _findings(risks: Iterable[Risk], severity: Severity) -> Iterator[PlanFinding]:
    """Yield a finding for each risk, and one for all pools that have the same risk."""
    groups: dict[tuple[str, ...], list[Risk]] = {}
    for risk in risks:
        same = (risk.reason, risk.what, risk.why, risk.do) if risk.pool else (risk.reason, risk.what, risk.where)
        groups.setdefault(same, []).append(risk)
    for first, *others in groups.values():
        pools = [risk.pool for risk in (first, *others)]
        named = f"the pool {first.pool}" if not others else f"the pools {word_list(pools)}"
        yield PlanFinding(
            severity=severity,
            reason=first.reason,
            what=first.what.replace(POOLS, named),
            where=tuple(dict.fromkeys(risk.where for risk in (first, *others))),
            why=first.why,
            do=first.do,
        )
