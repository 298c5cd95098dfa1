"""Features that pods of random clusters have: each gives a pod's spec something that a scheduler's filters know."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Json = dict[str, Any]

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SPACES = ("red", "blue")
"""Namespaces of pods."""
APPS = ("web", "train", "agent")
HEAVY = "heavy"
"""Runtime class with an overhead and a selector."""
CLAIMS = (
    "zonal", "labelled", "hosted", "anywhere", "provisioned", "zone-provisioned", "measured", "too-large", "static",
    "too-small", "single", "lost", "immediate", "former", "former-provisioned", "static-too", "static-again",
    "attributes", "absent",
)  # fmt: skip
"""Names of claims in each namespace; there is none of the last name."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

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
            {"size": "5"},
            {"beta.kubernetes.io/arch": "amd64"},
            {"beta.kubernetes.io/instance-type": "m7i.xlarge"},
            {"node.kubernetes.io/instance-type": "m7i.xlarge"},
        )
    )
    spec["nodeSelector"] = wanted


def _node_affinity(random: Random, spec: Json) -> None:
    expressions = [
        {"key": ZONE, "operator": "In", "values": [*ZONES[:2]]},
        {"key": ZONE, "operator": "NotIn", "values": [ZONES[0]]},
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
    if random.random() < 0.2:
        # All pods of the namespaces, or none.
        term["labelSelector"] = {} if random.random() < 0.5 else None
    elif random.random() < 0.2:
        term[random.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["team"]
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
    labels = random.choice(
        (
            {"matchLabels": {"kubernetes.io/metadata.name": random.choice(SPACES)}},
            {"matchExpressions": [{"key": "colour", "operator": "NotIn", "values": [random.choice(SPACES)]}]},
            {"matchLabels": {"colour": "green"}},
        )
    )
    chosen = {"namespaceSelector": labels}
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


def _claim(random: Random, spec: Json) -> None:
    names = random.sample(CLAIMS, random.choice((1, 1, 2, 3)))
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    spec.setdefault("volumes", []).extend(volumes)


def _volume_without_claim(random: Random, spec: Json) -> None:
    disk = {"volumeID": random.choice(("vol-1", "vol-2")), "fsType": "ext4"}
    spec.setdefault("volumes", []).append({"name": "disk", "awsElasticBlockStore": disk})


def _runtime(_random: Random, spec: Json) -> None:
    spec["runtimeClassName"] = HEAVY


def _gate(_random: Random, spec: Json) -> None:
    spec["schedulingGates"] = [{"name": "example.com/queue"}]


def _rare_resources(random: Random, spec: Json) -> None:
    asked = random.choice(({"example.com/tpu": "1"}, {"hugepages-2Mi": "64Mi"}, {"example.com/tpu": "0"}))
    spec["containers"][0]["resources"] = {"limits": {"cpu": "200m", "memory": "64Mi", **asked}}


def _nothing(_random: Random, spec: Json) -> None:
    spec["containers"][0].pop("resources", None)


def _restarted_together(_random: Random, spec: Json) -> None:
    on = {"operator": "In", "values": [42]}
    spec["containers"][0] |= {
        "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": on}],
    }


FEATURES: dict[str, Feature] = {
    "claim": _claim,
    "volume without a claim": _volume_without_claim,
    "runtime class": _runtime,
    "scheduling gate": _gate,
    "rare resources": _rare_resources,
    "no requests": _nothing,
    "restarted together": _restarted_together,
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
"""Features by name."""
