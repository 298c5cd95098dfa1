"""Nodes on which pods make way for others: the autoscaler and the pinned kube-scheduler agree on who else may be there,
in random clusters."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from contract.kubernetes.paths import PODS
from services.autoscaler.cluster_state import cluster_state, list_all
from tests.services.autoscaler.pod_features import Json
from tests.services.autoscaler.scheduled_cluster import build, clear, delete, watched
from tests.services.autoscaler.scheduler_oracle import guided_scheduler, message_of, name_of, preempt, schedulable_nodes
from tests.services.autoscaler.scheduler_worlds import World, chosen_seeds, few_features, world
from tests.services.autoscaler.test_scheduler_agreement import accepting_nodes, differing_nodes
from tests.support.api_server import ApiServer, eventually

MANY = 40
"""Number of clusters in the drill. None is in the suite, because the wait for a nominated pod does not always end: a
pod that the scheduler refuses before it asks the extender is never offered a node."""


@pytest.mark.drill
@pytest.mark.parametrize("seed", chosen_seeds(0, MANY))
def test_nodes_on_which_pods_make_way_are_promised_in_many_clusters(scheduled: ApiServer, seed: int) -> None:
    assert disagreements(scheduled, seed) == []


def crowded_world(random: Random, among: frozenset[str]) -> World:
    """Return a random cluster with little room, where some of the waiting pods have a higher priority than others. The
    scheduler binds pods here, and would wait for volumes that nobody makes."""
    made = world(random, nodes=8, running=20, waiting=20, among=among)
    for node in made.nodes:
        node["status"]["allocatable"] |= {"cpu": random.choice(("1", "3900m")), "pods": random.choice(("2", "2", "3"))}
    for pod in made.running:
        pod["spec"]["terminationGracePeriodSeconds"] = 600
    for pod in made.waiting:
        if random.random() < 0.3:
            pod["spec"]["priorityClassName"] = "rank-0"
    return made


def disagreements(server: ApiServer, seed: int) -> list[str]:
    """Return the pods for which the autoscaler and the scheduler name different nodes while some make way, and those
    for which others make way in vain."""
    api = server.client(timeout_s=30.0)
    made = crowded_world(Random(seed), few_features(seed) - {"claim"})
    clear(api)
    build(api, made)
    preempt(server, api)
    state = cluster_state(watched(list_all(api)), machines={}, taints={}, now=api.now())
    nominated = {pod.id: pod.nominated for pod in state.pods if pod.nominated}
    expected = schedulable_nodes(server, api, preempting=True)
    actual = accepting_nodes(state)
    others = {name: nodes for name, nodes in actual.items() if name not in nominated}
    lines = differing_nodes(made, state, expected, others)
    leaving = [item for item in api.items(PODS) if "deletionTimestamp" in item["metadata"]]
    for item in leaving:
        delete(api, PODS, item)
    with guided_scheduler(server, lambda pod, _: frozenset({nominated.get(pod, "")})) as offered:
        eventually(lambda: all(_is_tried(item, nominated, offered) for item in api.items(PODS)), what="each is tried")
        for name, node in sorted(nominated.items()):
            if node not in offered.get(name, ()):
                text = next(message_of(item) for item in api.items(PODS) if name_of(item) == name)
                lines.append(f"{name}: nothing makes it fit on {node}, and it waits for that: {text}")
    print(f"seed {seed}: {sorted(few_features(seed))}: {len(leaving)} pods make way for {len(nominated)}")
    print(f"{len(actual)} pods wait", *lines, sep="\n")
    return lines


def _is_tried(item: Json, nominated: Mapping[str, str], offered: Mapping[str, frozenset[str]]) -> bool:
    name = name_of(item)
    return name not in nominated or name in offered or bool(item["spec"].get("nodeName"))
