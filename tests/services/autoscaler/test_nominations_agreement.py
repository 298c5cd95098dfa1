"""Nodes on which pods make way for others: the autoscaler and the pinned kube-scheduler agree on who else may be there,
in random clusters."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from contract.kubernetes.paths import PODS
from services.autoscaler.cluster_state import cluster_state, list_all
from tests.services.autoscaler.scheduled_cluster import build, clear, delete, make_pod, watched
from tests.services.autoscaler.scheduler_oracle import guided_scheduler, name_of, settled_pods, tried_pods
from tests.services.autoscaler.scheduler_worlds import World, chosen_seeds, few_features, world
from tests.services.autoscaler.test_scheduler_agreement import accepting_nodes, differing_nodes
from tests.support.api_server import ApiServer

SEEDS, MANY = (0, 234), 40
"""Seeds of the clusters in each run of the suite, in which pods make way, and number of clusters in the drill. Each run
differs: the scheduler chooses at random among equal nodes."""
ARRIVING = 20
"""Number of pods that arrive while others make way."""
ABOUT_OTHERS = frozenset(
    {
        "apart by host",
        "apart by zone",
        "apart from labelled namespaces",
        "near other pods",
        "spread by host",
        "spread by zone",
    }
)
"""Rules about other pods. No pod has them here, since the scheduler lets others spoil such a pod's nomination: while it
tries a pod without rules, it does not heed the nominated pod's, and it never heeds nominations for a zone's other nodes
(kubernetes 1.36, ``interpodaffinity``, ``PreFilter``, and ``RunFilterPluginsWithNominatedPods``)."""


@pytest.mark.engine
@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_on_which_pods_make_way_are_promised(scheduled: ApiServer, seed: int) -> None:
    assert disagreements(scheduled, seed) == []


@pytest.mark.drill
@pytest.mark.parametrize("seed", chosen_seeds(0, MANY))
def test_nodes_on_which_pods_make_way_are_promised_in_many_clusters(scheduled: ApiServer, seed: int) -> None:
    assert disagreements(scheduled, seed) == []


def crowded_world(random: Random, among: frozenset[str]) -> World:
    """Return a random cluster with little room. The first of its waiting pods arrive later; most of the others have a
    higher priority than all other pods."""
    made = world(random, nodes=8, running=20, waiting=ARRIVING + 10, among=among)
    for node in made.nodes:
        node["status"]["allocatable"] |= {"cpu": random.choice(("1", "3900m")), "pods": random.choice(("2", "3", "4"))}
    for pod in made.running:
        pod["spec"]["terminationGracePeriodSeconds"] = 600
    for pod in made.waiting[ARRIVING:]:
        if random.random() < 0.6:
            pod["spec"]["priorityClassName"] = "rank-0"
    # The scheduler nominates another node for a pod while pods leave the former one that it has not ended itself.
    made.ending.clear()
    return made


def disagreements(server: ApiServer, seed: int) -> list[str]:
    """Return the pods for which the autoscaler and the scheduler name different nodes while others make way, and those
    for which others make way in vain."""
    api = server.client(timeout_s=30.0)
    # The scheduler binds pods here, and would wait for volumes that nobody makes.
    features = few_features(seed) - ABOUT_OTHERS - {"claim"}
    made = crowded_world(Random(seed), features)
    arriving = {name_of(pod): pod for pod in made.waiting[:ARRIVING]}
    clear(api)
    build(api, replace(made, waiting=made.waiting[ARRIVING:]))
    nowhere = dict.fromkeys(arriving, frozenset[str]())
    with guided_scheduler(server, nowhere.get, preempting=True) as offered:
        settled_pods(api)
        for pod in arriving.values():
            make_pod(api, pod)
        messages = settled_pods(api)
    expected = {name: (offered.get(name, frozenset()), text) for name, text in messages.items()}
    state = cluster_state(watched(list_all(api)), machines={}, taints={}, now=api.now())
    nominated = {pod.id: pod.nominated for pod in state.pods if pod.nominated}
    actual = {name: nodes for name, nodes in accepting_nodes(state).items() if name not in nominated}
    lines = differing_nodes(made, state, expected, actual)
    leaving = [item for item in api.items(PODS) if "deletionTimestamp" in item["metadata"]]
    for item in leaving:
        delete(api, PODS, item)
    with guided_scheduler(server, lambda pod, _: frozenset({nominated.get(pod, "")})) as offered:
        messages = tried_pods(api)
    for name, node in sorted(nominated.items()):
        if node not in offered.get(name, ()):
            lines.append(f"{name}: nothing makes it fit on {node}, and it waits for that: {messages.get(name)}")
    print(f"seed {seed}: {sorted(features)}: {len(leaving)} pods make way for {len(nominated)}")
    fit = sum(bool(expected[name][0]) for name in arriving.keys() & expected.keys())
    print(f"{len(actual)} pods wait, {fit} that arrive fit", *lines, sep="\n")
    return lines
