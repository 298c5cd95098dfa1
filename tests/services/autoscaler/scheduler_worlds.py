"""Random clusters for the comparison with the scheduler: nodes, running pods, and pods that wait, each with a few of
the features that a scheduler's filters know."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from random import Random

from tests.services.autoscaler.pod_features import APPS, FEATURES, HOST, SPACES, ZONE, ZONES, Json
from tests.services.autoscaler.scheduler_storage import DRIVER, EBS, MEASURED

PARTS = 6
"""Number of worlds that have all features together."""


@dataclass
class World:
    """Objects of one cluster."""

    nodes: list[Json] = field(default_factory=list)
    running: list[Json] = field(default_factory=list)
    """Pods on nodes."""
    ending: list[Json] = field(default_factory=list)
    """Those of these pods that are being ended."""
    waiting: list[Json] = field(default_factory=list)
    csi_nodes: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the features of each waiting pod, by its name."""


def few_features(seed: int) -> frozenset[str]:
    """Return the features of a world: its pods have these alone, since a disagreement about a feature is hidden where
    another one keeps the pod away. Each ``PARTS`` worlds have all features, each time in other company."""
    names = sorted(FEATURES)
    Random(seed // PARTS).shuffle(names)
    return frozenset(names[seed % PARTS :: PARTS])


def chosen_seeds(first: int, end: int) -> list[int]:
    """Return the seeds of the drill: from ``first`` to before ``end``, or those that ``AGREEMENT`` names, such as
    ``17`` or ``100-160``."""
    begin, _, last = os.environ.get("AGREEMENT", f"{first}-{end - 1}").partition("-")
    return [*range(int(begin), int(last or begin) + 1)]


def world(
    random: Random,
    *,
    nodes: int = 12,
    running: int = 24,
    waiting: int = 40,
    among: frozenset[str] = frozenset(FEATURES),
) -> World:
    """Return a random cluster whose pods have features ``among`` these."""
    made = World(nodes=[_node(random, f"node-{number}") for number in range(nodes)])
    for number in range(running):
        body, _ = random_pod(random, f"running-{number}", most=2, among=among - {"scheduling gate"})
        body["spec"]["nodeName"] = f"node-{random.randrange(nodes)}"
        if random.random() < 0.3:
            body["status"] = _status(random, body["spec"])
        if random.random() < 0.1:
            made.ending.append(body)
        made.running.append(body)
    for number in range(waiting):
        body, features = random_pod(random, f"waiting-{number}", most=3, among=among)
        made.waiting.append(body)
        made.features[body["metadata"]["name"]] = features
    for number in range(nodes):
        drivers = [
            {
                "name": name,
                "nodeID": f"node-{number}",
                "topologyKeys": [],
                "allocatable": {"count": random.randint(1, 3)},
            }
            for name in random.sample((DRIVER, MEASURED, EBS), random.randint(0, 3))
        ]
        made.csi_nodes.append({"metadata": {"name": f"node-{number}"}, "spec": {"drivers": drivers}})
    for number in range(4):
        source = {"persistentVolumeName": f"{random.choice(SPACES)}-{random.choice(('zonal', 'labelled', 'anywhere'))}"}
        spec = {"attacher": DRIVER, "nodeName": f"node-{random.randrange(nodes)}", "source": source}
        made.attachments.append({"metadata": {"name": f"attachment-{number}"}, "spec": spec})
    return made


def competing_pods() -> World:
    """Return a cluster of two nodes, each full of volumes of one driver, and pods that share volumes or compete for
    them."""

    def pod(name: str, *claims: str, **spec: object) -> Json:
        volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
        container = {"name": "main", "image": "example.com/none"}
        about = {"name": name, "namespace": SPACES[0]}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": about,
            "spec": {"containers": [container], "volumes": volumes, **spec},
        }

    made = World()
    for number, (zone, claim) in enumerate(((ZONES[2], "anywhere"), (ZONES[0], "former"))):
        name = f"node-{number}"
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "20"}
        made.nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {HOST: name, ZONE: zone}},
                "spec": {"taints": []},
                "status": {"allocatable": amounts, "capacity": amounts},
            }
        )
        drivers = [
            {"name": driver, "nodeID": name, "topologyKeys": [], "allocatable": {"count": 1}}
            for driver in (DRIVER, EBS)
        ]
        made.csi_nodes.append({"metadata": {"name": name}, "spec": {"drivers": drivers}})
        made.running.append(pod(f"running-{number}", claim, nodeName=name))
    made.waiting = [
        pod("shares", "anywhere"),
        pod("shares-former", "former"),
        pod("another", "provisioned"),
        pod("another-former", "former-provisioned"),
        pod("static", "static"),
        pod("two-of-two", "static", "static-too"),
        pod("three-of-two", "static", "static-too", "static-again"),
        pod("attributes", "attributes"),
        pod("nowhere", "single", nodeSelector={"no": "where"}),
        pod("somewhere", "single"),
    ]
    made.features = {body["metadata"]["name"]: () for body in made.waiting}
    return made


def _status(random: Random, spec: Json) -> Json:
    """Return the status of a pod that has ended, or whose container is resized."""
    if random.random() < 0.3:
        return {"phase": random.choice(("Succeeded", "Failed"))}
    amounts = {"cpu": random.choice(("100m", "1", "2"))}
    report = {
        "name": spec["containers"][0]["name"],
        "ready": True,
        "restartCount": 0,
        "image": "example.com/none",
        "imageID": "",
        "resources": {"requests": amounts},
        **({"allocatedResources": {"cpu": random.choice(("100m", "2500m"))}} if random.random() < 0.5 else {}),
    }
    infeasible = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    conditions = [infeasible] if random.random() < 0.3 else []
    return {"phase": "Running", "containerStatuses": [report], "conditions": conditions}


def _node(random: Random, name: str) -> Json:
    labels = {HOST: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": random.choice(("amd64", "arm64"))}
    if random.random() < 0.9:
        labels[ZONE] = random.choice(ZONES)
    if random.random() < 0.7:
        labels["size"] = random.choice(("1", "5", "12", "1_000", "large"))
    if random.random() < 0.2:
        labels["dedicated"] = ""
    if random.random() < 0.1:
        labels[HOST] = f"{name}.example.com"
    allocatable = {
        "cpu": random.choice(("2", "3900m", "8")),
        "memory": random.choice(("4Gi", "8000000k", "16Gi")),
        "ephemeral-storage": random.choice(("0", "100Gi")),
        "pods": random.choice(("3", "10", "110")),
    }
    if random.random() < 0.4:
        allocatable["nvidia.com/gpu"] = random.choice(("0", "1", "7", "8"))
    if random.random() < 0.3:
        allocatable["hugepages-2Mi"] = random.choice(("0", "64Mi"))
    taints = [
        taint
        for taint in (
            {"key": "gpu", "value": "h100", "effect": "NoSchedule"},
            {"key": "evict", "effect": "NoExecute"},
            {"key": "rather", "effect": "PreferNoSchedule"},
        )
        if random.random() < 0.2
    ]
    spec = {"taints": taints, **({"unschedulable": True} if random.random() < 0.1 else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "declaredFeatures": ["RestartAllContainersOnContainerExits"] if random.random() < 0.5 else [],
        },
    }


def random_pod(random: Random, name: str, *, most: int, among: frozenset[str]) -> tuple[Json, tuple[str, ...]]:
    """Return a pod with up to ``most`` features among these, and their names."""
    labels = {"app": random.choice(APPS), **({"team": random.choice(SPACES)} if random.random() < 0.5 else {})}
    container: Json = {"name": "main", "image": "example.com/none", "resources": {"requests": {"cpu": "100m"}}}
    spec: Json = {"containers": [container], "terminationGracePeriodSeconds": 0}
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": random.choice(SPACES), "labels": labels},
        "spec": spec,
    }
    chosen = random.sample(sorted(among), random.randint(0, min(most, len(among))))
    for feature in chosen:
        FEATURES[feature](random, spec)
    return body, tuple(chosen)
