"""Observes the path between the control plane and a site of hosts: connections from an API server to a host's kubelet,
and two pods at the site. One pod tolerates an unreachable node for the usual time, the other for longer."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from components.model import plan
from components.model.nodes.host_nodes import host_nodes
from components.model.versions.section import pinned
from contract.labels import OUTLIVE_LABEL, SITE_LABEL
from contract.taints import CUT
from lab.drill import link_probe
from lab.drill.environment import DrillEnvironment
from lab.drill.members import await_effect
from lab.drill.observer import Figure, Observer, Observing
from lab.drill.pods import name_of, running
from lab.machine_commands import entering
from lab.state import LabError

KUBELET = 10250
"""Port of kubelets."""
BACK_S = 15.0
"""Time in seconds within which traffic should flow again once the path is restored."""
SILENT_S = 50.0
"""Age of a node's last heartbeat at which Kubernetes marks the node unreachable, and its pods' toleration times begin
(kubernetes 1.36, ``--node-monitor-grace-period``)."""
NAMESPACE = "default"
USUAL, LONGER = "longhaul-drill-usual", "longhaul-drill-longer"
"""Pods on the site: one with the usual toleration of an unreachable node, and one that outlives cuts."""


class LinkTraffic(Observer):
    """Observer of one host's site."""

    def __init__(
        self, moments: IO[str], stop: Callable[[], object], *, nodes: Sequence[str], lasts_s: float, within_s: float
    ) -> None:
        self._moments, self._stop, self._nodes = moments, stop, nodes
        self._lasts_s, self._within_s = lasts_s, within_s

    def figures(self, ended: float) -> tuple[Figure, ...]:
        """Return the longest time without a connection, and the time from the fault's end to the first connection."""
        self._stop()
        self._moments.seek(0)
        return figures(
            [float(line) for line in self._moments], ended=ended, lasts_s=self._lasts_s, within_s=self._within_s
        )

    def movable(self, pods: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """Return the pods at the site whose toleration is shorter than the cut."""
        return frozenset(
            name_of(pod)
            for pod in pods
            if pod["spec"].get("nodeName") in self._nodes and tolerated_s(pod) + SILENT_S < self._lasts_s
        )


def figures(moments: Sequence[float], *, ended: float, lasts_s: float, within_s: float) -> tuple[Figure, ...]:
    """Return the figures from a probe's moments. Raise ``LabError`` when no connection was made after the fault's
    end."""
    back = next((moment for moment in moments if moment > ended), None)
    if not moments or back is None:
        raise LabError("no connection to the site's host was made after the fault")
    longest = max((later - earlier for earlier, later in pairwise(moments)), default=0.0)
    silent = max(0.0, longest - link_probe.INTERVAL_S)
    return (
        Figure(what="link without traffic", seconds=silent, goal_s=lasts_s + within_s),
        Figure(what="traffic back after", seconds=back - ended, goal_s=within_s),
    )


def tolerated_s(pod: Mapping[str, Any]) -> float:
    """Return the seconds for which a pod tolerates an unreachable node; infinity without a limit."""
    tolerations = [
        toleration
        for toleration in pod["spec"].get("tolerations") or ()
        if toleration.get("key") in CUT or not toleration.get("key")
    ]
    limits = [toleration.get("tolerationSeconds") for toleration in tolerations]
    return min((float(limit) for limit in limits if limit is not None), default=float("inf") if tolerations else 0.0)


def link_traffic(*, lasts_s: float, within_s: float = BACK_S) -> Observing:
    """Return the observation of the first host's site during a fault of ``lasts_s`` seconds. Traffic should flow again
    within ``within_s`` seconds after the fault."""

    @contextmanager
    def observe(environment: DrillEnvironment) -> Iterator[Observer]:
        hosts = list(host_nodes(environment.environment, plan(environment.environment)).values())
        if not hosts:
            raise LabError(f"{environment.environment.name} has no host: this drill needs a site with one")
        site = hosts[0].place.site
        nodes = [host.node_name for host in hosts if host.place.site == site]
        with _pods(environment, site), tempfile.TemporaryFile("w+", encoding="utf-8") as moments:
            source = Path(link_probe.__file__).read_text(encoding="utf-8")
            words = ["python3", "-c", source, str(hosts[0].place.address), str(KUBELET)]
            machine = environment.machines("api")[0]
            with _probing(entering(environment.project.state, machine, words), moments) as stop:
                yield LinkTraffic(moments, stop, nodes=nodes, lasts_s=lasts_s, within_s=within_s)

    return observe


@contextmanager
def _probing(words: Sequence[str], moments: IO[str]) -> Iterator[Callable[[], object]]:
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=moments) as process:
        # It ends with its input, on whatever machine it runs.
        yield process.communicate


@contextmanager
def _pods(environment: DrillEnvironment, site: str) -> Iterator[None]:
    names = [f"{NAMESPACE}/{name}" for name in (USUAL, LONGER)]
    _remove(environment)
    try:
        body = {"apiVersion": "v1", "kind": "List", "items": [_pod(USUAL, site), _pod(LONGER, site, outlives=True)]}
        environment.kubectl("create", "-f", "-", given=json.dumps(body))
        await_effect(lambda: running(environment.pods()).keys() >= set(names), what="the drill's pods run", within_s=60)
        yield
    finally:
        _remove(environment)


def _remove(environment: DrillEnvironment) -> None:
    words = ("--namespace", NAMESPACE, "--ignore-not-found", "--grace-period=1", "--timeout=60s")
    environment.kubectl("delete", "pod", USUAL, LONGER, *words)


def _pod(name: str, site: str, *, outlives: bool = False) -> dict[str, Any]:
    labels = {OUTLIVE_LABEL: "true"} if outlives else {}
    container = {"name": "pause", "image": f"registry.k8s.io/pause:{pinned('pause')}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"nodeSelector": {SITE_LABEL: site}, "containers": [container]},
    }
