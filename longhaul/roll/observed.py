"""A pool during a roll: its group's machines, each with its Node, the pods on it, and the records of earlier steps. A
roll's whole state is in the cloud and the cluster, so another run can continue it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from clouds.base.live_groups import GroupState, Life, LiveMachine, Rolled
from contract.annotations import ROLL, ROLL_SINCE, ROLL_STAGE
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.drain import DrainPod, pods_on
from contract.kubernetes.paths import NODES
from contract.kubernetes.readiness import ready_condition
from contract.kubernetes.times import parse_time
from contract.taints import CORDON, STARTING

ANNOTATIONS = (ROLL, ROLL_SINCE, ROLL_STAGE)

REPLACING = "replacing"
"""Stage that is recorded before the cloud is asked, so that a begun replacement is always recorded."""
REBUILDING = "rebuilding"
"""Stage that is recorded after the cloud accepted the second step. When that step ends, the Node is obsolete."""

AT_ONCE = 16
"""Number of nodes whose pods are listed at the same time."""


@dataclass(frozen=True, kw_only=True)
class ObservedMachine:
    """One machine of the pool."""

    machine: LiveMachine
    node: Object | None = None
    pods: tuple[DrainPod, ...] = ()
    """Pods on its Node; listed only for old machines."""
    taints: frozenset[tuple[str, str]] = frozenset()
    """Key and effect of the taints that the pool's nodes always have."""

    @property
    def name(self) -> str:
        """Return the machine's name for people."""
        return self.machine.node

    @property
    def cordoned(self) -> bool:
        """Return whether it takes no further pods, no matter who cordoned it."""
        return bool(self.node and self.node.get("spec", {}).get("unschedulable"))

    @property
    def is_cordoned_by_roll(self) -> bool:
        """Return whether a roll has cordoned it."""
        return bool(self._note(ROLL))

    @property
    def cordoned_at(self) -> datetime | None:
        """Return the time at which a roll cordoned it."""
        return parse_time(self._note(ROLL_SINCE))

    @property
    def stage(self) -> str:
        """Return the stage of its replacement; empty before it was begun."""
        return self._note(ROLL_STAGE)

    @property
    def pods_with_work(self) -> tuple[DrainPod, ...]:
        """Return the pods that would lose work if they were ended."""
        return tuple(pod for pod in self.pods if pod.work)

    @property
    def pods_to_move(self) -> tuple[DrainPod, ...]:
        """Return the pods that would have to leave."""
        return tuple(pod for pod in self.pods if not pod.stays)

    @property
    def unready_reason(self) -> str:
        """Return why it takes no pods of the pool, apart from its cordon; empty when it does."""
        if self.node is None:
            return "it has not joined"
        ready = ready_condition(self.node)
        if not ready.is_true:
            return ready.message or "it has never been ready"
        present = self.node.get("spec", {}).get("taints") or ()
        kept = {
            taint["key"]
            for taint in present
            if taint["key"].startswith(STARTING)
            and (taint["key"], taint["effect"]) not in self.taints
            and taint["key"] != CORDON
        }
        return f"it is tainted: {', '.join(sorted(kept))}" if kept else ""

    def _note(self, key: str) -> str:
        annotations = self.node["metadata"].get("annotations") or {} if self.node else {}
        return str(annotations.get(key, ""))


@dataclass(frozen=True, kw_only=True)
class View:
    """The whole pool at one moment."""

    group: GroupState
    in_place: bool
    now: datetime
    """Time by the API servers' clock."""
    machines: tuple[ObservedMachine, ...]


def observe(cloud: Rolled, api: Api, *, pool_label: str, taints: Iterable[tuple[str, str]]) -> View:
    """Ask the cloud for its machines, and the cluster for the pool's Nodes and the pods on old machines."""
    group = cloud.look()
    nodes = {item["metadata"]["name"]: item for item in api.items(NODES, labelSelector=pool_label)}
    usual = frozenset(taints)
    with ThreadPoolExecutor(max_workers=AT_ONCE) as threads:
        machines = list(threads.map(lambda machine: _observe_machine(api, machine, nodes, usual), group.machines))
    return View(group=group, in_place=cloud.in_place, now=api.now(), machines=tuple(machines))


def _observe_machine(
    api: Api, machine: LiveMachine, nodes: Mapping[str, Object], taints: frozenset[tuple[str, str]]
) -> ObservedMachine:
    node = nodes.get(machine.node)
    old = not machine.current and machine.life is not Life.LEAVING
    if node is None and machine.life is not Life.LEAVING:
        # The label may be missing although work is there: a Node that is not in the list is read by name.
        node = api.find(NODES + path_of(machine.node))
    asked: Sequence[DrainPod] = pods_on(api, machine.node) if old and node is not None else ()
    return ObservedMachine(machine=machine, node=node, pods=tuple(asked), taints=taints)
