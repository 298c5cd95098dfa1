"""Random pools, daemon sets and pods for the comparison of a pool's next machine with the node that it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from clouds.base.pool_section import Taint
from components.model import Environment
from components.model.nodes.labels import pool_labels
from contract.kubernetes.quantities import Resources
from longhaul.cli.examples import example
from services.autoscaler.pod_shapes import RESTARTS_ALL
from tests.services.autoscaler.pod_features import HOST, SPACES, ZONE, ZONES, Json
from tests.services.autoscaler.scheduled_cluster import RANKS
from tests.services.autoscaler.scheduler_worlds import World, random_pod, world

POOL = "cpu"
MACHINE_TYPES = ("m7i.xlarge", "m7i.4xlarge", "m6id.xlarge", "g5.xlarge")
"""Machine types of pools; the last has a GPU."""
ARCHITECTURE = "amd64"
ABSENT = frozenset(
    {
        "scheduling gate",
        "claim",
        "near other pods",
        "apart by zone",
        "apart from labelled namespaces",
        "spread by zone",
        "rare resources",
    }
)
"""Features that daemon sets do not have: nobody makes volumes here; whether a pod is there that must be near others, or
apart or spread by zone, and whether a node has what a device plugin brings, is unknown, so the autoscaler takes it to
be there. A selector of namespaces may keep a daemon set's pod off while it waits, although it would not once the pod
runs (github.com/kubernetes/kubernetes, issue 141526)."""


@dataclass
class NewNodeWorld:
    """A pool without machines, and what waits."""

    environment: Environment
    zones: tuple[str, ...]
    cluster: World
    """Nodes that take no pods, pods on them, and pods that wait."""
    daemon_sets: list[Json]
    limit_range: Json | None


def new_node_world(random: Random, among: frozenset[str]) -> NewNodeWorld:
    """Return a random pool and cluster, whose pods have features ``among`` these."""
    letters = random.choice((("a",), ("b",), ("a", "b"), ("a", "b", "c")))
    taints = [
        taint
        for taint in (
            Taint(key="gpu", value="h100", effect="NoSchedule"),
            Taint(key="evict", effect="NoExecute"),
            Taint(key="rather", effect="PreferNoSchedule"),
        )
        if random.random() < 0.15
    ]
    labels = {key: value for key, value in {"size": "5", "dedicated": ""}.items() if random.random() < 0.5}
    startup = [Taint(key="example.com/agent-not-ready", effect="NoSchedule")] if random.random() < 0.5 else []
    whole = example("prod")
    pool = whole.pools[POOL].model_copy(
        update={
            "machine_type": random.choice(MACHINE_TYPES),
            "zones": letters,
            "labels": labels,
            "taints": tuple(taints),
            "startup_taints": tuple(startup),
            "min": 0,
            "max": 3,
            "fallbacks": (),
            "spot": False,
        }
    )
    cluster = world(random, nodes=3, running=6, waiting=24, among=among)
    for node in cluster.nodes:
        node["spec"]["unschedulable"] = True
    return NewNodeWorld(
        environment=whole.model_copy(update={"pools": {POOL: pool}}),
        zones=tuple(zone for zone in ZONES if zone[-1] in letters),
        cluster=cluster,
        daemon_sets=[
            _daemon_set(random, f"daemon-{number}", among - ABSENT) for number in range(random.randint(0, RANKS))
        ],
        limit_range=_limit_range(random) if random.random() < 0.5 else None,
    )


def _daemon_set(random: Random, name: str, among: frozenset[str]) -> Json:
    body, _ = random_pod(random, name, most=2, among=among)
    metadata, spec = body["metadata"], body["spec"]
    labels = {**metadata["labels"], "daemon": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "spec": {
            "selector": {"matchLabels": {"daemon": name}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _limit_range(random: Random) -> Json:
    limit: Json = {"type": "Container", "defaultRequest": {"cpu": random.choice(("150m", "600m"))}}
    if random.random() < 0.5:
        limit |= {"default": {"cpu": "1", "memory": "1Gi"}}
    metadata = {"name": "defaults", "namespace": random.choice(SPACES)}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [limit]}}


def new_node(made: NewNodeWorld, zone: str, capacity: Resources) -> Json:
    """Return the node that a machine of the pool becomes in a zone, once its agents run. Its amounts are those that the
    autoscaler expects; the labels are those of its kubelet and of its pool."""
    pool = made.environment.pools[POOL]
    labels = {
        HOST: f"new-{zone}",
        "kubernetes.io/os": "linux",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": ARCHITECTURE,
        "beta.kubernetes.io/arch": ARCHITECTURE,
        ZONE: zone,
        **pool_labels(made.environment, POOL),
    }
    amounts = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in capacity.items()}
    taints = [taint.model_dump() for taint in pool.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"new-{zone}", "labels": labels},
        "spec": {"taints": [{key: value for key, value in taint.items() if value} for taint in taints]},
        "status": {"allocatable": amounts, "capacity": amounts, "declaredFeatures": [RESTARTS_ALL]},
    }


def daemon_pod(daemon_set: Json, node: str, rank: int) -> Json:
    """Return a daemon set's pod for a node, as its controller makes it (kubernetes 1.36, ``pkg/controller/daemon``)."""
    template, metadata = daemon_set["spec"]["template"], daemon_set["metadata"]
    spec = dict(template["spec"])
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = dict(spec.get("affinity") or {})
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = ((affinity.get("nodeAffinity") or {}).get(required) or {}).get("nodeSelectorTerms") or [{}]
    # The controller has looked at the template's own terms before.
    here = [{**term, "matchFields": [*term.get("matchFields", ()), *field["matchFields"]]} for term in terms]
    affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": here}}
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": metadata["name"], "uid": "x", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-{node}",
            "namespace": metadata["namespace"],
            "labels": template["metadata"]["labels"],
            "ownerReferences": [owner],
        },
        "spec": {**spec, "affinity": affinity, "priorityClassName": f"rank-{rank}"},
    }
