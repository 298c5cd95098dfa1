"""The decision for a whole environment, with its input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from components.model.nodes.labels import on_nodes
from contract.documents.autoscaler_memory import machine_key
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_snapshot import ClusterSnapshot, Gang
from services.autoscaler.cluster_state import ListedObjects, cluster_state, list_all
from services.autoscaler.group_reader import GroupAnswer, GroupReader
from services.autoscaler.scaling_decision import decide
from services.autoscaler.scaling_pools import (
    autoscaler_settings,
    machine_facts,
    pool_taints,
    scaling_pools,
    startup_taints,
)
from services.autoscaler.shared_limits import shared_limits
from services.autoscaler.time_limits import ScalingLimits

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.prices.book import PriceBook
    from contract.kubernetes.api import Api
    from services.autoscaler.pod_objects import Object
    from services.autoscaler.scaling_actions import ScalingDecision

GroupAnswers = Mapping[str, Sequence[GroupAnswer]]
"""Clouds' answers about groups, by pool."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A decision, with its input."""

    decision: ScalingDecision
    listed: ListedObjects
    asked: GroupAnswers
    now: datetime
    gangs: tuple[Gang, ...] = ()
    machines: frozenset[str] = frozenset()
    """Machines that are nodes, by :func:`~contract.documents.autoscaler_memory.machine_key`."""

    @cached_property
    def nodes(self) -> dict[str, Object]:
        """Return the listed nodes by name."""
        return {item["metadata"]["name"]: item for item in self.listed.nodes}

    @property
    def unread_groups(self) -> tuple[str, ...]:
        """Return the groups that could not be read, with the reason."""
        return tuple(
            f"{group.declared.name}: {group.error}" for groups in self.asked.values() for group in groups if group.error
        )


def evaluate_cluster(environment: Environment, api: Api, prices: PriceBook) -> Evaluation:
    """Read cluster and clouds, and decide, without changing anything. Raise ``ApiError`` when the API refuses or does
    not answer. A cloud that does not answer causes no error (:attr:`Evaluation.unread_groups`)."""
    listed = list_all(api)
    reader = GroupReader(environment)
    try:
        asked = reader.read(node_names(listed))
    finally:
        reader.close()
    return evaluate(environment, listed, asked, prices, api.now())


def evaluate(
    environment: Environment,
    listed: ListedObjects,
    asked: GroupAnswers,
    prices: PriceBook,
    now: datetime,
    *,
    closed: Mapping[str, Obstacle] | None = None,
    settings: ScalingLimits | None = None,
    former_nodes: frozenset[str] = frozenset(),
) -> Evaluation:
    """Return the decision. ``closed`` holds the reasons why pools must be left alone; pools that are being rolled are
    left alone as well. ``former_nodes`` are the machines that were nodes in the previous pass."""
    cluster = cluster_state(
        listed,
        machines=machine_facts(asked),
        taints=pool_taints(environment),
        startup=startup_taints(environment),
        now=now,
    )
    roll = Obstacle(WaitReason.POOL_ROLLING, "it is being rolled")
    rolled = {name: roll for name in environment.pools if on_nodes(name) in listed.rolled}
    known = scaling_pools(environment, asked, cluster.nodes, prices=prices, closed={**(closed or {}), **rolled})
    snapshot = ClusterSnapshot(
        pods=cluster.pods,
        nodes=cluster.nodes,
        gangs=cluster.gangs,
        daemons=cluster.daemons,
        limits=tuple(shared_limits(environment, known, cluster.nodes, sizes=listed.memory.sizes)),
        former_nodes=former_nodes,
        settings=settings or autoscaler_settings(environment),
        scheduling=listed.scheduling,
    )
    return Evaluation(
        decision=decide(snapshot, known, listed.memory, now),
        listed=listed,
        asked=asked,
        now=now,
        gangs=cluster.gangs,
        machines=frozenset(machine_key(node.group, node.machine) for node in cluster.nodes if node.machine),
    )


def node_names(listed: ListedObjects) -> frozenset[str]:
    """Return the names of all nodes."""
    return frozenset(item["metadata"]["name"] for item in listed.nodes)
