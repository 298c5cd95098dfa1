"""The decision: the input is a cluster and its pools at one moment, the output is actions with reasons. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from clouds.base.phrases import counted
from contract.documents.autoscaler_memory import DecisionMemory
from contract.reasons.autoscaler import GrowthReason
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    ClusterSnapshot,
    CordonOrigin,
    Gang,
    NodeHealth,
    PendingPod,
    ScalingPool,
)
from services.autoscaler.coming_room_messages import coming, ending, grants, unreadable, waits
from services.autoscaler.free_capacity import NodeRoom
from services.autoscaler.machine_offers import Market
from services.autoscaler.new_nodes import NewNodeContents
from services.autoscaler.node_rooms import node_rooms
from services.autoscaler.placement import Placer
from services.autoscaler.pod_demand import Demand, GangDemand, gang_demands, group_pods, names_text, shapes_of
from services.autoscaler.pod_shapes import AntiAffinity, PodShape
from services.autoscaler.pool_assessment import PoolAssessment, assess_pools
from services.autoscaler.purchase_review import remember_purchases, review_purchases
from services.autoscaler.scale_in import ScaleIn
from services.autoscaler.scaling_actions import ORDER, ScalingAction, ScalingDecision, Verb
from services.autoscaler.shortage_reasons import ShortageReasons
from services.autoscaler.spare_nodes import reserve_spares
from services.autoscaler.unfit_times import dated_nodes

NAMED = 3
"""Largest number of gangs that the message about a group's growth names."""


def decide(
    snapshot: ClusterSnapshot, pools: Iterable[ScalingPool], memory: DecisionMemory, now: datetime
) -> ScalingDecision:
    """Return the actions to take now, their reasons, and the new memory. The result depends only on the arguments. The
    order of their items has no effect, except for daemon sets' pods."""
    nodes = sorted(snapshot.nodes, key=lambda node: node.name)
    pools = tuple(pools)
    nodes = list(dated_nodes(_without_ended(nodes, pools), memory.unfit, now))
    groups = assess_pools(pools, nodes, memory, now, settings=snapshot.settings, former_nodes=snapshot.former_nodes)
    alone = [pod for pod in snapshot.pods if not pod.gang]
    shapes = [*shapes_of(snapshot.pods, snapshot.gangs), *_moving(nodes)]
    within = {gang.within for gang in snapshot.gangs if gang.within}
    apart = {
        *_apart(nodes),
        *(term for daemon in snapshot.daemons for term in (*daemon.shape.apart, *daemon.shape.wide)),
    }
    ledger = CapacityLedger(shapes, apart=apart, closed=closed_domains(nodes), keys=within)
    review = review_purchases(replace(snapshot, nodes=tuple(nodes)), groups.pools, memory.purchases, memory.idle, now)
    groups.skip_unfit(now, snapshot.settings)
    contents = NewNodeContents(ledger, snapshot.daemons, after=now - snapshot.settings.registration_time)
    rooms = node_rooms(nodes, groups.pools, ledger, contents, review, now)
    joining = snapshot.settings.joining
    market = Market(
        ledger,
        groups.pools,
        limits=snapshot.limits,
        joining=joining,
        contents=contents,
        closed=review.closed,
        trials=review.trials,
    )
    market.request_minimum()
    placer = Placer(ledger, market, joining=joining)
    _seat_nominated(snapshot.pods, rooms, ledger)
    waiting = [pod for pod in alone if pod.nominated not in rooms]
    gangs = _gangs(snapshot, rooms, ledger)
    _place(placer, group_pods(waiting, ledger), gangs, nodes)
    reserve_spares(groups.pools, ledger, market)
    scale_in = ScaleIn(groups.pools, rooms, ledger=ledger, placer=placer, settings=snapshot.settings, now=now)
    scale_in.run(nodes, memory.idle)
    actions = [
        *groups.actions,
        *_growth(market),
        *scale_in.actions,
        *grants(placer),
        *coming(placer, groups, now),
        *ending(placer),
        *map(ShortageReasons(ledger, market).action, placer.short),
        *unreadable(snapshot.gangs, gangs),
    ]
    return ScalingDecision(
        actions=tuple(sorted(actions, key=lambda action: (ORDER[action.verb], action.target, action.message))),
        memory=DecisionMemory(
            asked={**groups.asked, **_asked(market, groups, now)},
            sizes=_sizes(market, groups),
            lost=groups.lost,
            backoff=groups.backoff,
            idle=scale_in.idle,
            learned=groups.learned,
            unfit={node.name: node.since for node in nodes if node.health is NodeHealth.STARTING and node.since},
            joining=groups.joining,
            unlisted=groups.unlisted,
            purchases=remember_purchases(review, market, now),
        ),
        placed=tuple(sorted(placer.placed, key=lambda placement: (placement.node, placement.gang, placement.pods))),
        kept=scale_in.kept,
        waits=waits(snapshot.pods, actions, placer),
    )


def _without_ended(nodes: Iterable[ClusterNode], pools: Iterable[ScalingPool]) -> Iterator[ClusterNode]:
    """Yield the nodes. A node that the autoscaler cordoned and that no group lists any more is marked as ending: its
    machine was ended, and the node controller has not deleted the Node yet."""
    listed = {pool.name for pool in pools if pool.groups and not any(group.error for group in pool.groups)}
    for node in nodes:
        gone = node.cordon is CordonOrigin.OURS and not node.machine and node.pool in listed
        yield replace(node, health=NodeHealth.ENDING) if gone else node


def _moving(nodes: Iterable[ClusterNode]) -> Iterator[PodShape]:
    """Yield the shapes of pods that may have to move, each object once."""
    shapes = {id(pod.shape): pod.shape for node in nodes if not node.work for pod in node.moving}
    yield from shapes.values()


def _apart(nodes: Iterable[ClusterNode]) -> set[AntiAffinity]:
    return {term for node in nodes if node.apart for term in node.apart}


def closed_domains(nodes: Iterable[ClusterNode]) -> dict[AntiAffinity, set[str]]:
    """Return the running pods' anti-affinities by domains larger than a host, with the values of the domain's label on
    the nodes where these pods run (kubernetes 1.36, ``interpodaffinity``, ``satisfyExistingPodsAntiAffinity``)."""
    closed: dict[AntiAffinity, set[str]] = {}
    for node in nodes:
        for term in node.wide:
            closed.setdefault(term, set()).update(value for key, value in node.kind.labels if key == term.key)
    return closed


def _seat_nominated(pods: Iterable[PendingPod], rooms: Mapping[str, NodeRoom], ledger: CapacityLedger) -> None:
    """Count pods on the nodes where the scheduler is making room for them; the pods that they displace have not left
    yet."""
    for pod in pods:
        if pod.nominated in rooms:
            ledger.reserve(rooms[pod.nominated], ledger.needs.of(pod.shape, (pod.namespace, pod.labels)), 1)


def _gangs(snapshot: ClusterSnapshot, rooms: Mapping[str, NodeRoom], ledger: CapacityLedger) -> list[GangDemand]:
    """Return the demand of gangs. Members for which the scheduler is making room count as if they ran there."""
    waiting: dict[str, list[PendingPod]] = {}
    seated: dict[str, list[PendingPod]] = {}
    for pod in snapshot.pods:
        if pod.gang:
            (seated if pod.nominated in rooms else waiting).setdefault(pod.gang, []).append(pod)
    gangs = {gang.name: gang for gang in snapshot.gangs}
    for name, pods in seated.items():
        gang = gangs.get(name, Gang(name=name))
        on = tuple(sorted((*gang.on, *(pod.nominated for pod in pods))))
        gangs[name] = replace(gang, on=on, runs=(*gang.runs, *(pod.shape for pod in pods)))
    return gang_demands(gangs.values(), waiting, ledger)


def _place(
    placer: Placer, singles: Sequence[Demand], gangs: Sequence[GangDemand], nodes: Iterable[ClusterNode]
) -> None:
    """Place all demand: higher priority first; within a priority, gangs first, since they are harder to place."""
    labels = {node.name: dict(node.kind.labels) for node in nodes} if any(demand.gang.on for demand in gangs) else {}
    work: list[Demand | GangDemand] = [*gangs, *singles]
    for demand in sorted(work, key=lambda demand: (-demand.priority, isinstance(demand, Demand))):
        if isinstance(demand, Demand):
            placer.single(demand)
        else:
            placer.gang(demand, _where(demand.gang, labels))


def _where(gang: Gang, labels: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Return the values of a gang's label on the nodes where it runs."""
    return {labels[name][gang.within] for name in gang.on if gang.within in labels.get(name, {})}


def _growth(market: Market) -> Iterator[ScalingAction]:
    """Yield one action for each growing group."""
    for offer in market.offers:
        if offer.bought:
            size = offer.group.present
            yield ScalingAction(
                verb=Verb.GROW,
                target=offer.group.name,
                pool=offer.pool.name,
                was=size,
                size=size + offer.bought,
                reason=min((reason for reason, _, _ in offer.orders), key=[*GrowthReason].index),
                message=f"for {_buyers(offer.orders)}",
            )


def _buyers(orders: Iterable[tuple[GrowthReason, str, tuple[str, ...]]]) -> str:
    """Return text that names the pods and gangs for which machines are requested, gangs first."""
    buyers: dict[str, list[str]] = {}
    for _, buyer, pods in orders:
        buyers.setdefault(buyer, []).extend(pods)
    alone = buyers.pop("", [])
    parts = [f"{buyer}, {counted(len(pods), 'member')}" if pods else buyer for buyer, pods in buyers.items()]
    more = f"; {counted(len(parts) - NAMED, 'more gang')}" if len(parts) > NAMED else ""
    return (
        "; ".join(parts[:NAMED])
        + more
        + ("; " if parts and alone else "")
        + (names_text(tuple(alone)) if alone else "")
    )


def _asked(market: Market, groups: PoolAssessment, now: datetime) -> dict[str, datetime]:
    """Return the times since which growing groups have been asked for machines. A group that still lacks machines keeps
    its earlier time."""
    sizes = {}
    for offer in market.offers:
        if offer.bought:
            group = offer.group.group
            owes = group.wanted > group.machines and group.name in groups.asked
            sizes[group.name] = groups.asked[group.name] if owes else now
    return sizes


def _sizes(market: Market, groups: PoolAssessment) -> dict[str, int]:
    """Return the number of machines that each group has or is asked for. A size that is being lowered counts until the
    cloud reports the lower size, since the request may fail."""
    sizes = {
        group.name: max(group.present, group.group.wanted - len(group.group.refused))
        for pool in groups.pools.values()
        for group in pool.groups
    }
    for offer in market.offers:
        sizes[offer.group.name] += offer.bought
    return sizes
