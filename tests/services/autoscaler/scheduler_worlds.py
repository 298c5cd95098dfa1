"""Random clusters for the comparison with the scheduler: nodes, running pods, and pods that wait, each with a few of
the features that a scheduler's filters know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = dict[str, Any]

ZONES = ("a", "b", "c")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SPACES = ("red", "blue")
"""Namespaces of pods."""
APPS = ("web", "train", "agent")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass
class World:
    """Objects of one cluster."""

    nodes: list[Json] = field(default_factory=list)
    running: list[Json] = field(default_factory=list)
    """Pods on nodes."""
    waiting: list[Json] = field(default_factory=list)
    features: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the features of each waiting pod, by its name."""


def world(random: Random, *, nodes: int = 12, running: int = 24, waiting: int = 40) -> World:
    """Return a random cluster."""
    made = World(nodes=[_node(random, f"node-{number}") for number in range(nodes)])
    for number in range(running):
        body, _ = _pod(random, f"running-{number}", most=2, features=RUNNING)
        body["spec"]["nodeName"] = f"node-{random.randrange(nodes)}"
        made.running.append(body)
    for number in range(waiting):
        body, features = _pod(random, f"waiting-{number}", most=3, features=WAITING)
        made.waiting.append(body)
        made.features[body["metadata"]["name"]] = features
    return made


def _node(random: Random, name: str) -> Json:
    labels = {HOST: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": random.choice(("amd64", "arm64"))}
    if random.random() < 0.9:
        labels[ZONE] = random.choice(ZONES)
    if random.random() < 0.7:
        labels["size"] = random.choice(("1", "5", "12", "1_000", "large"))
    if random.random() < 0.2:
        labels["dedicated"] = ""
    allocatable = {
        "cpu": random.choice(("2", "3900m", "8")),
        "memory": random.choice(("4Gi", "8000000k", "16Gi")),
        "ephemeral-storage": random.choice(("0", "100Gi")),
        "pods": random.choice(("3", "10", "110")),
    }
    if random.random() < 0.4:
        allocatable["nvidia.com/gpu"] = random.choice(("0", "1", "7", "8"))
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
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def _pod(random: Random, name: str, *, most: int, features: dict[str, Feature]) -> tuple[Json, tuple[str, ...]]:
    """Return a pod with up to ``most`` features, and their names."""
    labels = {"app": random.choice(APPS), **({"team": random.choice(SPACES)} if random.random() < 0.5 else {})}
    container: Json = {"name": "main", "image": "example.com/none", "resources": {"requests": {"cpu": "100m"}}}
    spec: Json = {"containers": [container], "terminationGracePeriodSeconds": 0}
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": random.choice(SPACES), "labels": labels},
        "spec": spec,
    }
    chosen = random.sample(sorted(features), random.randint(0, most))
    for feature in chosen:
        features[feature](random, spec)
    return body, tuple(chosen)


Feature = Callable[[Random, Json], None]
"""Gives a pod's spec a feature."""


def _requests(random: Random, spec: Json) -> None:
    asked = {"cpu": random.choice(("500m", "1500m", "3", "7")), "memory": random.choice(("1Gi", "3500M", "128974848"))}
    spec["containers"][0]["resources"] = {"requests": asked}


def _limits_only(random: Random, spec: Json) -> None:
    spec["containers"][0]["resources"] = {"limits": {"cpu": random.choice(("1", "2500m")), "memory": "2Gi"}}


def _gpus(random: Random, spec: Json) -> None:
    count = random.choice(("1", "7", "8"))
    spec["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": count, "cpu": "1"}}


def _storage(random: Random, spec: Json) -> None:
    size = random.choice(("1Gi", "60Gi"))
    spec["containers"][0]["resources"] = {"requests": {"cpu": "100m", "ephemeral-storage": size}}


def _initialization(random: Random, spec: Json) -> None:
    step = {"name": "step", "image": "example.com/none", "resources": {"requests": {"cpu": random.choice(("1", "3"))}}}
    spec.setdefault("initContainers", []).append(step)


def _sidecar(random: Random, spec: Json) -> None:
    sidecar = {
        "name": "sidecar",
        "image": "example.com/none",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": random.choice(("400m", "2"))}},
    }
    if random.random() < 0.5:
        sidecar["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
    spec.setdefault("initContainers", []).insert(0, sidecar)


def _initialization_port(_random: Random, spec: Json) -> None:
    step = {"name": "bound", "image": "example.com/none", "ports": [{"containerPort": 8080, "hostPort": 8080}]}
    spec.setdefault("initContainers", []).append(step)


def _pod_request(random: Random, spec: Json) -> None:
    spec["resources"] = {"requests": {"cpu": random.choice(("8", "3500m"))}, "limits": {"cpu": "9"}}


def _port(random: Random, spec: Json) -> None:
    port: Json = {"containerPort": 80, "hostPort": 8080, "protocol": random.choice(("TCP", "UDP"))}
    if random.random() < 0.4:
        port["hostIP"] = random.choice(("127.0.0.1", "0.0.0.0", "10.0.0.1"))
    spec["containers"][0]["ports"] = [port]


def _host_network(_random: Random, spec: Json) -> None:
    spec["hostNetwork"] = True
    spec["containers"][0]["ports"] = [{"containerPort": 8080}]


def _selector(random: Random, spec: Json) -> None:
    wanted = random.choice(
        (
            {"kubernetes.io/arch": "arm64"},
            {"kubernetes.io/os": "linux"},
            {ZONE: random.choice(ZONES)},
            {HOST: f"node-{random.randrange(12)}"},
            {"dedicated": ""},
        )
    )
    spec["nodeSelector"] = wanted


def _node_affinity(random: Random, spec: Json) -> None:
    expressions = [
        {"key": ZONE, "operator": "In", "values": ["a", "b"]},
        {"key": ZONE, "operator": "NotIn", "values": ["a"]},
        {"key": "size", "operator": "Exists"},
        {"key": "dedicated", "operator": "DoesNotExist"},
        {"key": "size", "operator": "Gt", "values": ["4"]},
        {"key": "size", "operator": "Lt", "values": ["6"]},
    ]
    fields = [
        {"key": "metadata.name", "operator": "In", "values": [f"node-{random.randrange(12)}"]},
        {"key": "metadata.name", "operator": "NotIn", "values": [f"node-{random.randrange(12)}"]},
    ]
    terms = []
    for _ in range(random.randint(1, 2)):
        term: Json = {"matchExpressions": random.sample(expressions, random.randint(1, 2))}
        if random.random() < 0.3:
            term["matchFields"] = [random.choice(fields)]
        terms.append(term)
    _affinity(spec)["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": terms}}


def _tolerations(random: Random, spec: Json) -> None:
    known = [
        {"key": "gpu", "operator": "Exists"},
        {"key": "gpu", "operator": "Equal", "value": "h100", "effect": "NoSchedule"},
        {"key": "gpu", "value": "a100"},
        {"key": "evict", "operator": "Exists", "effect": "NoExecute"},
        {"key": "evict", "operator": "Exists", "effect": "NoSchedule"},
        {"operator": "Exists"},
    ]
    spec["tolerations"] = random.sample(known, random.randint(1, 3))


def _other_pods(random: Random) -> Json:
    term: Json = {
        "topologyKey": HOST,
        "labelSelector": random.choice(
            (
                {"matchLabels": {"app": random.choice(APPS)}},
                {"matchExpressions": [{"key": "team", "operator": random.choice(("Exists", "DoesNotExist"))}]},
                {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [random.choice(APPS)]}]},
            )
        ),
    }
    spaces = random.random()
    if spaces < 0.3:
        term["namespaces"] = random.sample(SPACES, random.randint(1, 2))
    elif spaces < 0.5:
        term["namespaceSelector"] = {}
    return term


def _apart_by_host(random: Random, spec: Json) -> None:
    _affinity(spec).setdefault("podAntiAffinity", {})[REQUIRED] = [_other_pods(random)]


def _apart_by_zone(random: Random, spec: Json) -> None:
    _affinity(spec).setdefault("podAntiAffinity", {})[REQUIRED] = [_other_pods(random) | {"topologyKey": ZONE}]


def _apart_from_labelled_spaces(random: Random, spec: Json) -> None:
    chosen = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": random.choice(SPACES)}}}
    term = {key: value for key, value in _other_pods(random).items() if key != "namespaces"} | chosen
    _affinity(spec).setdefault("podAntiAffinity", {})[REQUIRED] = [term]


def _near(random: Random, spec: Json) -> None:
    _affinity(spec)["podAffinity"] = {REQUIRED: [_other_pods(random) | {"topologyKey": random.choice((HOST, ZONE))}]}


def _spread(random: Random, spec: Json, key: str) -> None:
    constraint: Json = {
        "maxSkew": random.choice((1, 1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": random.choice(APPS)}},
    }
    if random.random() < 0.3:
        constraint["nodeTaintsPolicy"] = "Honor"
    if random.random() < 0.2:
        constraint["nodeAffinityPolicy"] = "Ignore"
    if random.random() < 0.3:
        constraint["minDomains"] = random.choice((2, 20))
    if random.random() < 0.2:
        constraint["matchLabelKeys"] = ["team"]
    spec["topologySpreadConstraints"] = [constraint]


def _spread_by_host(random: Random, spec: Json) -> None:
    _spread(random, spec, HOST)


def _spread_by_zone(random: Random, spec: Json) -> None:
    _spread(random, spec, ZONE)


def _affinity(spec: Json) -> Json:
    affinity: Json = spec.setdefault("affinity", {})
    return affinity


WAITING: dict[str, Feature] = {
    "requests": _requests,
    "limits only": _limits_only,
    "GPUs": _gpus,
    "local storage": _storage,
    "init container": _initialization,
    "sidecar": _sidecar,
    "port of an init container": _initialization_port,
    "request of the pod": _pod_request,
    "port of the node": _port,
    "host network": _host_network,
    "node selector": _selector,
    "node affinity": _node_affinity,
    "tolerations": _tolerations,
    "apart by host": _apart_by_host,
    "apart by zone": _apart_by_zone,
    "apart from labelled namespaces": _apart_from_labelled_spaces,
    "near other pods": _near,
    "spread by host": _spread_by_host,
    "spread by zone": _spread_by_zone,
}
"""Features of waiting pods."""
RUNNING: dict[str, Feature] = WAITING
"""Features of running pods that matter to others."""
