"""Pools as declared, with the state of their groups as the clouds report it, and shared limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from clouds.base.live_groups import Life
from clouds.base.prices import MachineKey
from clouds.base.refusals import Cause, Refusal
from components.model.autoscaler.section import Autoscaler
from components.model.nodes.host_nodes import HOSTS
from components.model.pools.declared import declared_pool
from contract.documents.pools import DeclaredPool
from contract.kubernetes.times import parse_time
from contract.labels import GROUP_LABEL, HOSTS_POOL_LABEL
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    GroupFailure,
    LabelPairs,
    ScalingGroup,
    ScalingPool,
    UnjoinedMachine,
)
from services.autoscaler.declared_capacity import declared_capacity
from services.autoscaler.group_reader import GroupAnswer
from services.autoscaler.new_node_labels import new_node_labels, zone_variants
from services.autoscaler.node_objects import MachineFacts
from services.autoscaler.time_limits import ScalingLimits

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook


def machine_facts(asked: Mapping[str, Sequence[GroupAnswer]]) -> dict[str, MachineFacts]:
    """Return the groups' facts about machines, by node name."""
    return {
        machine.node: MachineFacts(
            group=group.declared.name,
            machine=machine.id,
            keep=machine.keep_reason,
            leaving=machine.life is Life.LEAVING,
            counted=machine.counted,
        )
        for groups in asked.values()
        for group in groups
        if group.group
        for machine in group.group.machines
    }


def scaling_pools(
    environment: Environment,
    asked: Mapping[str, Sequence[GroupAnswer]],
    nodes: Sequence[ClusterNode],
    *,
    prices: PriceBook,
    closed: Mapping[str, Obstacle],
) -> tuple[ScalingPool, ...]:
    """Return every pool, and the hosts as one pool. ``closed`` holds the reasons why pools must be left alone."""
    amounts = _prices(environment, prices)
    names = {node.name for node in nodes}
    labelled = _labelled(asked, nodes)
    typed = [name for name, pool in environment.pools.items() if pool.machine_type in environment.known_types]
    known = {name: declared_pool(environment, name) for name in typed}
    settings = environment.autoscaler or Autoscaler()
    scaled = [
        ScalingPool(
            name=name,
            site=declared.site,
            region=environment.sites[declared.site].region,
            groups=tuple(_group(group, names, labelled=group.declared.name in labelled) for group in asked[name]),
            labels=_labels(environment, name, known),
            variants=zone_variants(environment, name),
            taints=tuple((taint.key, taint.value, taint.effect) for taint in known[name].taints)
            if name in known
            else (),
            capacity=declared_capacity(environment, name) if name in known else {},
            machine_type=declared.machine_type,
            min=declared.min,
            max=declared.max,
            spare=declared.spare,
            priority=declared.priority,
            fallbacks=declared.fallbacks,
            price=amounts.get(name),
            spot=declared.spot,
            reserved=declared.reservation is not None,
            closed=closed.get(name) or (None if name in known else _unknown_type(declared.machine_type)),
            join=timedelta(minutes=declared.join_minutes or settings.join_minutes),
            idle=timedelta(minutes=declared.idle_minutes or settings.idle_minutes),
        )
        for name, declared in environment.pools.items()
    ]
    if environment.hosts:
        scaled.append(ScalingPool(name=HOSTS, site="", racks=True))
    return tuple(scaled)


def _labels(environment: Environment, name: str, known: Mapping[str, DeclaredPool]) -> LabelPairs:
    """Return the labels of a pool's new node."""
    return tuple(sorted({**new_node_labels(environment, name), **known[name].labels}.items())) if name in known else ()


def _unknown_type(machine_type: str) -> Obstacle:
    """Return why a pool of an unknown machine type is left alone while other pools go on."""
    return Obstacle(WaitReason.TYPE_UNKNOWN, f"its machine type {machine_type} is unknown to this autoscaler")


def _group(asked: GroupAnswer, nodes: set[str], *, labelled: bool) -> ScalingGroup:
    declared = asked.declared
    labels: LabelPairs = ((GROUP_LABEL, declared.name),) if labelled else ()
    if asked.group is None:
        return ScalingGroup(
            name=declared.name,
            wanted=0,
            machines=0,
            max=declared.max,
            min=declared.min,
            labels=labels,
            error=asked.error or "its cloud was not asked yet",
        )
    made = asked.made or {}
    there = [machine for machine in asked.group.machines if machine.life is not Life.LEAVING]
    refused = {refusal.machine for refusal in asked.refusals if refusal.machine} & {refusal.id for refusal in there}
    staying = [machine for machine in there if machine.counted and machine.id not in refused]
    return ScalingGroup(
        name=declared.name,
        wanted=asked.group.wanted,
        machines=len(staying),
        max=declared.max,
        min=max(declared.min, asked.group.least),
        min_by_hand=asked.group.least > declared.min,
        leaving=len(asked.group.machines) - len(there),
        unjoined=tuple(
            UnjoinedMachine(id=machine.id, made_at=parse_time(made.get(machine.id, "")))
            for machine in staying
            if machine.node not in nodes
        ),
        refused=tuple(sorted(refused)),
        failures=tuple(GroupFailure(at=refusal.at, obstacle=_obstacle(refusal)) for refusal in asked.refusals),
        labels=labels,
        error=asked.error,
    )


REASONS = {
    Cause.CAPACITY: WaitReason.OUT_OF_CAPACITY,
    Cause.QUOTA: WaitReason.QUOTA_EXCEEDED,
    Cause.SPOT: WaitReason.SPOT_UNAVAILABLE,
    Cause.ADDRESSES: WaitReason.OUT_OF_ADDRESSES,
    Cause.OTHER: WaitReason.REFUSED,
}
"""Reasons why pods wait, by the cause of a refusal."""


def _obstacle(refusal: Refusal) -> Obstacle:
    """Return the cause and the first sentence of the cloud's message: the rest is advice."""
    message = f"refused ({refusal.cause}): {refusal.words.partition('. ')[0].rstrip('.')}"
    return Obstacle(REASONS[refusal.cause], message)


def _labelled(asked: Mapping[str, Sequence[GroupAnswer]], nodes: Sequence[ClusterNode]) -> set[str]:
    """Return the groups whose nodes have a label with the group's name: groups of pools with several groups, and groups
    that such a label of a node names."""
    several = {group.declared.name for groups in asked.values() if len(groups) > 1 for group in groups}
    return several | {value for node in nodes for key, value in node.kind.labels if key == GROUP_LABEL}


def _prices(environment: Environment, book: PriceBook) -> dict[str, Decimal]:
    """Return the hourly price of each pool's machines; empty when the prices have several currencies, which cannot be
    compared."""
    by_pool = {}
    for name, pool in environment.pools.items():
        site = environment.sites[pool.site]
        key = MachineKey(cloud=site.kind, region=site.region, machine_type=pool.machine_type, spot=pool.spot)
        price, _ = book.applied(key)
        if price is not None:
            by_pool[name] = price
    if len({price.currency for price in by_pool.values()}) > 1:
        return {}
    return {name: price.hourly for name, price in by_pool.items()}


def autoscaler_settings(environment: Environment) -> ScalingLimits:
    """Return the environment's autoscaler settings that apply to all pools."""
    settings = environment.autoscaler or Autoscaler()
    return ScalingLimits(removable_share=settings.leaving_percent / 100, joining=settings.joining)


def startup_taints(environment: Environment) -> dict[str, frozenset[tuple[str, str]]]:
    """Return key and effect of the taints that a pool's nodes have until their agents run, by the pool's name on
    nodes."""
    return {
        name: frozenset((taint.key, taint.effect) for taint in pool.startup_taints)
        for name, pool in environment.pools.items()
    }


def pool_taints(environment: Environment) -> dict[str, frozenset[tuple[str, str]]]:
    """Return key and effect of the taints that a pool's nodes always have, by the pool's name on nodes."""
    by_pool = {
        name: frozenset((taint.key, taint.effect) for taint in pool.taints) for name, pool in environment.pools.items()
    }
    return {**by_pool, HOSTS_POOL_LABEL: frozenset()}
