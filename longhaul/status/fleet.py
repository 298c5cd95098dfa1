"""Judges links, nodes and add-ons. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clouds.base.findings import Severity
from clouds.base.tunnels import TunnelView
from components.model import plan
from components.model.links import LinkKind, links, tunnels
from components.model.nodes import HOSTS, host_nodes
from longhaul.status.observed import AddonView, NodeView, Observed

if TYPE_CHECKING:
    from components.model import Environment

DNS = "coredns"
"""Name of the add-on that every name look-up on the cluster needs."""


class Verdict(StrEnum):
    """Verdict on a part of the environment."""

    OK = "ok"
    UNHEALTHY = "unhealthy"
    DEGRADED = "degraded"
    """Works, with fewer members, tunnels, nodes or servers than it should have."""
    DOWN = "down"
    MISSING = "missing"
    """In the environment's file, but not in the cloud or the cluster."""
    UNEXPECTED = "unexpected"
    """In the cloud, but not in the environment's file."""
    UNKNOWN = "unknown"
    """Cannot be seen from here; this alone is no fault."""

    @property
    def severity(self) -> Severity:
        """Return the severity of the verdict."""
        return _SEVERITIES.get(self, Severity.PROBLEM)


_SEVERITIES = {
    Verdict.OK: Severity.OK,
    Verdict.UNKNOWN: Severity.UNKNOWN,
    Verdict.DEGRADED: Severity.WARNING,
    Verdict.UNEXPECTED: Severity.WARNING,
}
"""Severities of verdicts that are no problem."""


@dataclass(frozen=True, kw_only=True)
class LinkStatus:
    """The tunnels between two sites."""

    name: str
    verdict: Verdict
    reason: str
    up: int = 0
    tunnels: int = 0
    """Number of tunnels at the end that sees the smallest share of them up."""
    since: str = ""
    """Time since which all tunnels that are up have been up, RFC 3339."""
    bytes_in: int | None = None
    bytes_out: int | None = None


@dataclass(frozen=True, kw_only=True)
class NodeStatus:
    """One node."""

    name: str
    site: str
    pool: str
    verdict: Verdict
    reason: str
    created: str = ""
    version: str = ""


@dataclass(frozen=True, kw_only=True)
class PoolStatus:
    """The nodes of one pool, or all hosts."""

    name: str
    verdict: Verdict
    reason: str
    ready: int
    least: int
    """Number of nodes that the pool must have."""


@dataclass(frozen=True, kw_only=True)
class AddonStatus:
    """One add-on."""

    name: str
    verdict: Verdict
    reason: str
    ready: int = 0
    wanted: int = 0


def judge_links(environment: Environment, observed: Observed) -> tuple[LinkStatus, ...]:
    """Judge every link that consists of tunnels."""
    by_link: defaultdict[str, defaultdict[str, list[TunnelView]]] = defaultdict(lambda: defaultdict(list))
    for view in observed.tunnels:
        by_link[view.link][view.site].append(view)
    planned = {link.name: tunnels(environment, link) for link in links(environment) if link.kind is LinkKind.IPSEC}
    return tuple(_link(name, most, list(by_link[name].values()), observed) for name, most in planned.items())


def _link(name: str, most: int, ends: Sequence[Sequence[TunnelView]], observed: Observed) -> LinkStatus:
    """Judge a link of ``most`` tunnels. An end may show more: AWS makes two for each connection, also where the other
    end holds one."""
    if not ends:
        reason = "; ".join(observed.blind.values()) or "no cloud has it, and racks are not asked"
        return LinkStatus(name=name, verdict=Verdict.UNKNOWN, reason=reason)
    worst = min(ends, key=lambda end: sum(view.up for view in end) / min(len(end), most))
    wanted = min(len(worst), most)
    up = min(sum(view.up for view in worst), wanted)
    counted = next((end for end in ends if all(view.bytes_in is not None for view in end)), ())
    if up == wanted:
        verdict, reason = Verdict.OK, "all tunnels are up"
    else:
        verdict = Verdict.DEGRADED if up else Verdict.DOWN
        reason = "; ".join(f"{view.name}: {view.reason}" for view in worst if not view.up)
    return LinkStatus(
        name=name,
        verdict=verdict,
        reason=reason,
        up=up,
        tunnels=wanted,
        since=max((view.since for end in ends for view in end if view.up), default=""),
        bytes_in=sum(view.bytes_in or 0 for view in counted) if counted else None,
        bytes_out=sum(view.bytes_out or 0 for view in counted) if counted else None,
    )


def judge_nodes(environment: Environment, observed: Observed) -> tuple[NodeStatus, ...]:
    """Judge every node, and every bare-metal host that is no node. Return nothing when the API did not answer."""
    if observed.cluster.error:
        return ()
    there = {view.name for view in observed.cluster.nodes}
    missing = [host for host in host_nodes(environment, plan(environment)).values() if host.node_name not in there]
    reason = "it is in the hosts file, but no node: `longhaul up --only hosts` sets it up"
    return (
        *(_node(view) for view in observed.cluster.nodes),
        *(
            NodeStatus(
                name=host.node_name,
                site=host.place.site,
                pool=HOSTS,
                verdict=Verdict.MISSING,
                reason=reason,
            )
            for host in missing
        ),
    )


def _node(view: NodeView) -> NodeStatus:
    return NodeStatus(
        name=view.name,
        site=view.site,
        pool=view.pool,
        verdict=Verdict.OK if view.ready and not view.gpus else Verdict.UNHEALTHY,
        reason="; ".join(filter(None, (view.reason, view.gpus))) or "ready",
        created=view.created,
        version=view.version,
    )


def judge_pools(environment: Environment, observed: Observed) -> tuple[PoolStatus, ...]:
    """Judge every pool, and all hosts as one."""
    least = {name: pool.min for name, pool in environment.pools.items()}
    if environment.hosts:
        least[HOSTS] = len(environment.hosts)
    return tuple(_pool(name, least[name], observed) for name in least)


def _pool(name: str, least: int, observed: Observed) -> PoolStatus:
    if observed.cluster.error:
        return PoolStatus(name=name, verdict=Verdict.UNKNOWN, reason=observed.cluster.error, ready=0, least=least)
    mine = [view for view in observed.cluster.nodes if view.pool == name]
    ready = sum(view.ready for view in mine)
    verdict = Verdict.OK if ready >= least else Verdict.DEGRADED if ready else Verdict.DOWN
    reason = f"{ready} of {len(mine)} nodes ready, {least} at least"
    return PoolStatus(name=name, verdict=verdict, reason=reason, ready=ready, least=least)


def judge_addons(environment: Environment, observed: Observed) -> tuple[AddonStatus, ...]:
    """Judge every add-on, and DNS in any case."""
    if observed.cluster.error:
        return (AddonStatus(name=DNS, verdict=Verdict.UNKNOWN, reason=observed.cluster.error),)
    nodes = any(view.ready for view in observed.cluster.nodes) or any(
        pool.least for pool in judge_pools(environment, observed)
    )
    found = tuple(_addon(view, nodes=nodes) for view in observed.cluster.addons)
    if any(one.name == DNS for one in found):
        return found
    reason = "the cluster has none: `longhaul up --only objects` makes it"
    return (*found, AddonStatus(name=DNS, verdict=Verdict.MISSING, reason=reason))


def _addon(view: AddonView, *, nodes: bool) -> AddonStatus:
    reason = f"{view.ready} of {view.wanted} ready"
    if view.ready >= view.wanted:
        verdict = Verdict.OK
    elif not nodes:
        verdict, reason = Verdict.UNKNOWN, f"{reason}: there is no node to run on"
    else:
        verdict = Verdict.DEGRADED if view.ready else Verdict.DOWN
    return AddonStatus(name=view.name, verdict=verdict, reason=reason, ready=view.ready, wanted=view.wanted)
