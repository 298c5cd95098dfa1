"""Machines' fates, and pods as those who make them want them, for worlds that the autoscaler lives in."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from contract.annotations import DISPOSABLE
from contract.kubernetes.api import path_of
from contract.kubernetes.paths import NAMESPACES
from contract.kubernetes.quantities import whole
from tests.services.autoscaler.memory_api import Object

GPU = "nvidia.com/gpu"
TEAM = "team"
NVIDIA = {"key": GPU, "operator": "Exists"}
SPOT = {"key": "longhaul.dev/spot", "operator": "Exists"}


@dataclass
class MachineFate:
    """Fate of a machine, by times after it was made; None for never."""

    registers: timedelta | None = timedelta(minutes=2)
    ready: timedelta | None = timedelta(minutes=2, seconds=30)
    devices: timedelta | None = timedelta(minutes=3)
    """Time from which its GPUs are known."""
    preflight: timedelta | None = timedelta(minutes=3)
    """Time at which the taint of its test goes."""
    gpus_less: int = 0
    taint: Object | None = None
    """A taint that an agent, or somebody, sets when it registers."""
    taint_goes: timedelta | None = None
    silent: tuple[timedelta, timedelta | None] | None = None
    """Times from which, and until which, it does not answer."""
    interrupted: timedelta | None = None
    """Time of the cloud's notice that it takes it back."""


@dataclass
class Job:
    """Pods that somebody wants. Each that is gone without having ended is made anew."""

    name: str
    spec: Object
    count: int = 1
    service: bool = False
    """True for pods that may be evicted."""
    lasts: timedelta | None = None
    """Time that a pod runs; None for as long as it is wanted."""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    gang: int = 0
    """Least number of members that start together; 0 for pods that start alone."""
    done: int = 0
    awaits_grant: bool = False
    """True while its pods must not be made yet: a request for their room is not granted."""


def path_of_pod(namespace: str, name: str) -> str:
    """Return the path of a pod."""
    return f"{NAMESPACES}{path_of(namespace)}/pods{path_of(name)}"


def requests_of(spec: Object) -> dict[str, int]:
    """Return the amounts that a pod asks for."""
    amounts = {"pods": 1}
    for container in spec["containers"]:
        for name, text in ((container.get("resources") or {}).get("requests") or {}).items():
            amounts[name] = amounts.get(name, 0) + whole(name, text)
    return amounts


def ports_of(spec: Object) -> set[int]:
    """Return the ports of the node that a pod takes."""
    return {port["hostPort"] for container in spec["containers"] for port in container.get("ports") or ()}


def is_over(pod: Object) -> bool:
    """Return whether a pod has ended."""
    return bool(pod["status"].get("phase") == "Succeeded")


def is_daemon(pod: Object) -> bool:
    """Return whether a pod belongs to a daemon set."""
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())


def is_work(pod: Object) -> bool:
    """Return whether something is lost when a pod ends before its own end."""
    disposable = (pod["metadata"].get("annotations") or {}).get(DISPOSABLE) == "true"
    leaving = "deletionTimestamp" in pod["metadata"]
    return not (is_over(pod) or is_daemon(pod) or disposable or leaving)


def budget_path(name: str) -> str:
    """Return the path of a disruption budget."""
    return f"/apis/policy/v1/namespaces/{TEAM}/poddisruptionbudgets{path_of(name)}"


def daemon_path(namespace: str, name: str) -> str:
    """Return the path of a daemon set."""
    return f"/apis/apps/v1/namespaces{path_of(namespace)}/daemonsets{path_of(name)}"


def keeps_apart(spec: Object) -> dict[str, Any]:
    """Return the labels of pods from which a pod keeps apart on a node."""
    terms = ((spec.get("affinity") or {}).get("podAntiAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or ()
    return next((term["labelSelector"]["matchLabels"] for term in terms), {})


def fate_words(fate: MachineFate) -> str:
    """Return what is special about a fate."""
    words = []
    words += [] if fate.registers else ["never registers"]
    words += [] if fate.ready else ["never ready"]
    words += [] if fate.preflight else ["its preflight never lifts"]
    words += [f"{fate.gpus_less} GPUs less"] if fate.gpus_less else []
    words += [f"taint {fate.taint['key']}"] if fate.taint else []
    return ", ".join(words) or "healthy"


def namespaced(path: str, name: str) -> str:
    """Return the path of a team's object, by its kind's path."""
    head, _, plural = path.rpartition("/")
    return f"{head}/namespaces/{TEAM}/{plural}{path_of(name)}"


def pod_spec(chance: random.Random) -> Object:
    """Return what a pod asks for."""
    kind = chance.choice(("cpu", "cpu", "whole", "gpu", "gpu", "eight", "eight", "a10g", "strange"))
    spec: Object = {}
    requests = {"cpu": chance.choice(("1", "3", "7"))}
    if kind == "whole":
        requests = {"cpu": chance.choice(("15", "15500m", "15800m"))}
    elif kind in ("gpu", "eight", "a10g"):
        requests[GPU] = "8" if kind == "eight" else chance.choice(("1", "2", "4"))
        spec["tolerations"] = [NVIDIA, *([SPOT] if chance.random() < 0.5 else [])]
        spec["nodeSelector"] = {"gpu": "a10g" if kind == "a10g" else "h100"}
    elif kind == "strange":
        match chance.randint(0, 3):
            case 0:
                spec["nodeSelector"] = {"no": "such-label"}
            case 1:
                requests[GPU] = "9"
                spec["tolerations"] = [NVIDIA]
            case 2:
                term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
                required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
                spec["affinity"] = {"podAffinity": required}
            case 3:
                requests["example.com/unknown"] = "1"
    container: Object = {"name": "main", "resources": {"requests": requests, "limits": requests}}
    if chance.random() < 0.1:
        container["ports"] = [{"hostPort": chance.choice((80, 9100)), "containerPort": 80, "protocol": "TCP"}]
    return {**spec, "containers": [container], "priority": chance.choice((0, 0, 0, 5, 10))}
