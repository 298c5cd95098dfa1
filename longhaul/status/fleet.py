"""Judges links, nodes and add-ons. Pure. Pools and their machines are in ``pools.py``, gateways in ``gateways.py``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clouds.base.tunnels import TunnelView
from components.model import plan
from components.model.network.cluster_dns import deployment_name, site_servers, standing_nodes
from components.model.network.links import LinkKind, PlannedLink, links, tunnels
from components.model.nodes.host_nodes import HOSTS, host_nodes
from contract.object_names import COREDNS
from contract.reasons.status import StatusReason
from longhaul.cluster.nodes import NodeView
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.observed import AddonView, LateLease, Observed
from longhaul.status.ssh_probes import SshProbe
from longhaul.terminal.ages import age

if TYPE_CHECKING:
    from components.model import Environment

NO_DRIVER = "NvmlMissing"
"""Result of a machine's GPU test when it has no driver (docs/gpus.md)."""


@dataclass(frozen=True, kw_only=True)
class LinkStatus:
    """The tunnels between two sites."""

    name: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    up: int = 0
    tunnels: int = 0
    """Number of tunnels at the end with the smallest share of tunnels up."""
    since: str = ""
    """Time since which all working tunnels have been up without interruption, RFC 3339."""
    bytes_in: int | None = None
    """Number of bytes received by the end that counts them: a cloud's gateway, or else a rack's gateways. None when
    neither counts."""
    bytes_out: int | None = None


@dataclass(frozen=True, kw_only=True)
class NodeStatus:
    """One node."""

    name: str
    site: str
    pool: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    created: str = ""
    version: str = ""


@dataclass(frozen=True, kw_only=True)
class AddonStatus:
    """One add-on."""

    name: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    ready: int = 0
    wanted: int = 0


def judge_links(environment: Environment, observed: Observed) -> tuple[LinkStatus, ...]:
    """Judge every link that consists of tunnels."""
    by_link: defaultdict[str, defaultdict[str, list[TunnelView]]] = defaultdict(lambda: defaultdict(list))
    for view in observed.tunnels:
        by_link[view.link][view.site].append(view)
    tunnelled = [link for link in links(environment) if link.kind is LinkKind.IPSEC]
    judged = (
        _link(link.name, tunnels(environment, link), list(by_link[link.name].values()), observed) for link in tunnelled
    )
    return tuple(_counted(environment, link, status, observed) for link, status in zip(tunnelled, judged, strict=True))


def _counted(environment: Environment, link: PlannedLink, status: LinkStatus, observed: Observed) -> LinkStatus:
    """Add the counts of racks' gateways for a link whose clouds do not count."""
    counted = _carried(environment, link, observed.ssh_probes) if status.bytes_in is None else None
    return replace(status, bytes_in=counted[0], bytes_out=counted[1]) if counted else status


def _link(name: str, most: int, ends: Sequence[Sequence[TunnelView]], observed: Observed) -> LinkStatus:
    """Judge a link of ``most`` tunnels. An end may report more tunnels: AWS makes two tunnels for each connection, even
    when the other end has one."""
    if not ends:
        message = "; ".join(observed.blind.values()) or "no cloud has it, and racks are not asked"
        return LinkStatus(name=name, verdict=StatusVerdict.UNKNOWN, reason=StatusReason.NOT_OBSERVED, message=message)
    worst = min(ends, key=lambda end: sum(view.up for view in end) / min(len(end), most))
    wanted = min(len(worst), most)
    up = min(sum(view.up for view in worst), wanted)
    counted = next((end for end in ends if all(view.bytes_in is not None for view in end)), ())
    if up == wanted:
        verdict, message = StatusVerdict.OK, "all tunnels are up"
    else:
        verdict = StatusVerdict.DEGRADED if up else StatusVerdict.DOWN
        message = "; ".join(f"{view.name}: {view.reason}" for view in worst if not view.up)
    return LinkStatus(
        name=name,
        verdict=verdict,
        reason=StatusReason.READY if up == wanted else StatusReason.TUNNELS_DOWN,
        message=message,
        up=up,
        tunnels=wanted,
        since=max((view.since for end in ends for view in end if view.up), default=""),
        bytes_in=sum(view.bytes_in or 0 for view in counted) if counted else None,
        bytes_out=sum(view.bytes_out or 0 for view in counted) if counted else None,
    )


def judge_nodes(environment: Environment, observed: Observed, *, lab: bool = False) -> tuple[NodeStatus, ...]:
    """Judge every node, and every bare-metal host that is not a node. Return nothing when the API did not answer.
    ``lab`` means that machines have no GPUs."""
    if observed.cluster.error:
        return ()
    there = {view.name for view in observed.cluster.nodes}
    hosts = host_nodes(environment, plan(environment))
    expected = [hosts[host.name] for host in environment.hosts if not host.quarantined]
    missing = [host for host in expected if host.node_name not in there]
    quarantined = {entry.name for entry in observed.quarantine.unreleased}
    return (
        *(_node(view, observed, lab=lab) for view in observed.cluster.nodes),
        *(
            NodeStatus(
                name=host.node_name,
                site=host.place.site,
                pool=HOSTS,
                verdict=StatusVerdict.UNREACHABLE if _silent(host.node_name, observed) else StatusVerdict.MISSING,
                reason=_missing(host.node_name, quarantined, observed),
                message="; ".join([_MISSING[host.node_name in quarantined], *_ssh_messages(host.node_name, observed)]),
            )
            for host in missing
        ),
    )


_MISSING = {
    True: "it is in quarantine, and refused",
    False: "it is in the hosts file, but not a node",
}
"""Messages about hosts that are not nodes, by whether they are in quarantine."""


def _missing(host: str, quarantined: Collection[str], observed: Observed) -> StatusReason:
    """Return why a host is not a node."""
    if _silent(host, observed):
        return StatusReason.NO_ANSWER
    return StatusReason.QUARANTINED if host in quarantined else StatusReason.NOT_JOINED


def _node(view: NodeView, observed: Observed, *, lab: bool) -> NodeStatus:
    verdict, reason, messages = StatusVerdict.OK, view.reason, [view.message, view.gpus]
    silent, lease = _silent(view.name, observed), observed.cluster.late.get(view.name)
    expired, probe = lease is not None and lease.expired, observed.ssh_probes.get(view.name)
    # Services that fail count before the lease expires.
    troubled = lease is not None and probe is not None and bool(probe.troubles)
    if silent or expired or troubled or not view.ready:
        verdict = StatusVerdict.UNREACHABLE if silent else StatusVerdict.UNHEALTHY
        reason = StatusReason.KUBELET_SILENT if expired else StatusReason.NODE_NOT_READY
        reason = StatusReason.NO_ANSWER if silent else StatusReason.CHECKS_FAILED if troubled else reason
        messages += [_silence(lease), *_ssh_messages(view.name, observed), _strayed(view, observed)]
    elif view.gpus:
        # A machine without GPUs will never pass the test.
        absent = lab and view.gpus.startswith(f"{NO_DRIVER}:")
        verdict = StatusVerdict.UNKNOWN if absent else StatusVerdict.UNHEALTHY
        reason = StatusReason.NO_GPUS if absent else StatusReason.GPUS_HELD_BACK
        messages.append("the lab has no GPUs" if absent else "")
    elif reason is StatusReason.NODE_PRESSURE:
        verdict = StatusVerdict.DEGRADED
    return NodeStatus(
        name=view.name,
        site=view.site,
        pool=view.pool,
        verdict=verdict,
        reason=reason,
        message="; ".join(filter(None, messages)) or "ready",
        created=view.created,
        version=view.version,
    )


def _silence(lease: LateLease | None) -> str:
    """Return how long a kubelet has been silent; empty while its lease holds."""
    return f"its kubelet has been silent for {age(lease.age.total_seconds())}" if lease and lease.expired else ""


def _silent(name: str, observed: Observed) -> bool:
    """Return whether a host was asked over SSH, and did not answer."""
    knock = observed.ssh_probes.get(name)
    return knock is not None and knock.reached is False


def _ssh_messages(name: str, observed: Observed) -> tuple[str, ...]:
    """Return a host's problems reported over SSH, or why it reported nothing."""
    knock = observed.ssh_probes.get(name)
    if knock is None:
        return ()
    if knock.reached is False:
        return (f"it does not answer over SSH: {knock.reason}",)
    return knock.troubles or ((f"it was not asked for its services: {knock.reason}",) if knock.reason else ())


def _strayed(view: NodeView, observed: Observed) -> str:
    """Return a remark about a node whose machine has left its group; otherwise empty."""
    group = observed.groups.get(view.pool)
    if group is None or group.error or any(machine.node == view.name for machine in group.machines):
        return ""
    return "its machine is no longer in the pool's group: the node controller removes its Node"


def judge_addons(environment: Environment, observed: Observed) -> tuple[AddonStatus, ...]:
    """Judge every add-on, and DNS, anywhere and of each site, even when it is missing."""
    if observed.cluster.error:
        reason, message = StatusReason.NOT_OBSERVED, observed.cluster.error
        return (AddonStatus(name=COREDNS, verdict=StatusVerdict.UNKNOWN, reason=reason, message=message),)
    least = [pool.min for pool in environment.pools.values()]
    nodes = any(view.ready for view in observed.cluster.nodes) or any(least) or bool(environment.hosts)
    held_back = sum(bool(view.gpus) for view in observed.cluster.nodes)
    addons = tuple(_addon(view, nodes=nodes, held_back=held_back) for view in observed.cluster.addons)
    declared = (None, *site_servers(environment, standing_nodes(environment)))
    missing = [name for name in map(deployment_name, declared) if name not in {addon.name for addon in addons}]
    reason, message = StatusReason.NOT_DEPLOYED, "the cluster has none"
    return (
        *addons,
        *(AddonStatus(name=name, verdict=StatusVerdict.MISSING, reason=reason, message=message) for name in missing),
    )


def _addon(view: AddonView, *, nodes: bool, held_back: int) -> AddonStatus:
    """Judge one add-on. ``held_back`` is the number of nodes whose GPUs are not in service: an add-on for GPUs does not
    work there, and these nodes have their own verdicts."""
    message = f"{view.ready} of {view.wanted} ready"
    if view.ready >= view.wanted:
        verdict, reason = StatusVerdict.OK, StatusReason.READY
    elif not nodes:
        verdict, reason = StatusVerdict.UNKNOWN, StatusReason.NO_NODES
        message += ": there is no node to run on"
    elif view.on_gpus and view.wanted - view.ready <= held_back:
        verdict, reason = StatusVerdict.UNKNOWN, StatusReason.GPUS_HELD_BACK
        message += f": the GPUs of {held_back} nodes are not in service"
    else:
        verdict = StatusVerdict.DEGRADED if view.ready else StatusVerdict.DOWN
        reason = StatusReason.PODS_NOT_READY
    return AddonStatus(
        name=view.name, verdict=verdict, reason=reason, message=message, ready=view.ready, wanted=view.wanted
    )


def _carried(environment: Environment, link: PlannedLink, knocks: Mapping[str, SshProbe]) -> tuple[int, int] | None:
    """Return the bytes that the link's first on-premises site has received and sent; None when none of its gateways
    counted. A tunnel's count restarts with its keys, which are valid for less than an hour
    (``playbooks/roles/gateway``)."""
    for site, far in ((link.first, link.second), (link.second, link.first)):
        by_gateway = [
            [count for count in counts if count[0].startswith(f"{far}-{gateway.name}-")]
            for gateway in environment.sites[site].gateways
            if (knock := knocks.get(f"{environment.name}-{gateway.name}")) and (counts := knock.carried) is not None
        ]
        if by_gateway:
            traffic = [count for counts in by_gateway for count in counts]
            return sum(came for _, came, _ in traffic), sum(went for _, _, went in traffic)
    return None
