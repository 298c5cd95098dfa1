"""Labels and taints of Nodes that have just registered. Before any pod runs on a Node, its labels and taints are
corrected by the site's list and the environment's document.

A kubelet chooses the labels of its own Node when it registers, so a compromised kubelet could choose another pool's
labels. The API servers mark every Node that a node registers with a taint, which the node may not change, and with a
label, by which this controller finds the Node (components/objects/node_labels.py). This controller corrects the Node
and removes the taint and the label. From then on, the API servers do not let the node change its labels.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from clouds.base.machine_lists import ListedMachine
from contract.documents.node_controller import NodeEnvironment
from contract.documents.pools import taints_document
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.events import Events
from contract.kubernetes.paths import NODES
from contract.labels import (
    GPU_LABEL,
    GROUP_LABEL,
    HOSTNAME_LABEL,
    HOSTS_POOL_LABEL,
    IMAGE_LABEL,
    INTERRUPTED,
    MACHINE_LABELS,
    NVIDIA,
    UNCHECKED,
    ZONE_LABEL,
)
from contract.object_names import LOOKED_AT, LOOKED_AT_KEY, LOOKED_AT_YES, SYSTEM_CONFIGMAPS
from contract.taints import PREFLIGHT, PREFLIGHT_TAINT
from services.metrics import ServiceMetrics
from services.node_controller.inventory import Inventory
from services.node_controller.metrics import LABELS_CORRECTED
from services.node_controller.node_work import NodeWork, WatchedNodes

log = logging.getLogger(__name__)

SELECTOR = UNCHECKED
ABLE = f"{SYSTEM_CONFIGMAPS}/{LOOKED_AT}"

OWN = frozenset((*MACHINE_LABELS, IMAGE_LABEL, INTERRUPTED))
"""Labels that only the machine itself knows, so that its own value counts."""
NAMED = 5
"""Largest number of corrected labels in an Event."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Labels and taints that a Node must have."""

    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...] = ()
    """Taints that the Node must have. It may also have others."""


def truth(environment: NodeEnvironment, machine: ListedMachine) -> Truth | None:
    """Return the required labels and taints of a machine's Node. Return None if the document lacks the machine's pool
    or host, or if the list lacks the machine's zone."""
    declared: Mapping[str, str] = {}
    taints: tuple[Mapping[str, str], ...] = ()
    if machine.pool == HOSTS_POOL_LABEL:
        host = environment.hosts.get(machine.name)
        declared = host.labels if host else {}
    else:
        pool = environment.pools.get(machine.pool)
        declared, taints = (pool.labels, tuple(taints_document(pool.taints))) if pool else ({}, ())
    if not declared or not machine.zone:
        return None
    group = {GROUP_LABEL: machine.group} if machine.group else {}
    gpus = (PREFLIGHT,) if GPU_LABEL in declared else ()
    labels = {**declared, **group, ZONE_LABEL: machine.zone, HOSTNAME_LABEL: machine.name}
    return Truth(labels=labels, taints=(*taints, *gpus))


class Known:
    """Required labels and taints of every Node, by an environment and its sites' lists."""

    def __init__(self, environment: NodeEnvironment, inventories: Iterable[Inventory]) -> None:
        self._environment, self._inventories = environment, tuple(inventories)

    def __call__(self, name: str) -> Truth | None:
        """Return the required labels and taints of a Node; None while they are not known. If no list has the machine,
        have the clouds asked about it."""
        for inventory in self._inventories:
            machine = inventory.machine(name)
            if machine is not None:
                return truth(self._environment, machine)
        for inventory in self._inventories:
            inventory.want(name)
        return None


def kept(node: Object) -> Object:
    """Return the parts of a Node that are kept in memory."""
    metadata = node["metadata"]
    return {
        "metadata": {
            "name": metadata["name"],
            "resourceVersion": metadata["resourceVersion"],
            "labels": metadata.get("labels") or {},
        },
        "spec": {"taints": node.get("spec", {}).get("taints") or []},
    }


def corrections(labels: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str | None]:
    """Return the labels to set. The value None marks a label to remove. A node's own labels about its GPUs stay if the
    node must have GPUs."""
    there = {key: value for key, value in labels.items() if not _is_stale_label(key, right) and key != UNCHECKED}
    wrong = {key: right.get(key) for key in there if there[key] != right.get(key)}
    return {**wrong, **{key: value for key, value in right.items() if key not in labels}}


def corrected(taints: Iterable[Object], right: Truth) -> list[Object]:
    """Return the Node's taints without the mark, and with the required taints. The taint of GPUs is removed from a node
    without GPUs, because nothing else would remove it. It may come from a label that the Node claimed."""
    gone = {UNCHECKED} if GPU_LABEL in right.labels else {UNCHECKED, PREFLIGHT_TAINT}
    ours = {(taint["key"], taint["effect"]) for taint in right.taints}
    # One with the same key and effect may have another pool's value.
    stay = [taint for taint in taints if taint.get("key") not in gone and _place(taint) not in ours]
    return [*stay, *(dict(taint) for taint in right.taints)]


def _place(taint: Object) -> tuple[str | None, str | None]:
    return taint.get("key"), taint.get("effect")


def _is_stale_label(key: str, right: Mapping[str, str]) -> bool:
    return key not in right and (key in OWN or (GPU_LABEL in right and key.startswith(NVIDIA)))


class NewNodes(NodeWork):
    """Work on Nodes that have just registered."""

    def __init__(
        self,
        api: Api,
        nodes: WatchedNodes,
        *,
        known: Callable[[str], Truth | None],
        events: Events,
        metrics: ServiceMetrics,
    ) -> None:
        super().__init__(nodes)
        self._api, self._known, self._events, self._metrics = api, known, events, metrics
        self._announced = False

    def announce(self) -> None:
        """Announce that new Nodes are checked, once. Raise ``ApiError`` if that fails, so that the caller tries
        again."""
        if not self._announced:
            self._api.patch(ABLE, {"data": {LOOKED_AT_KEY: LOOKED_AT_YES}})
            self._announced = True

    def look(self) -> bool:
        """Work on the Nodes whose required labels are known. Return whether a change failed, or other Nodes are
        left."""
        failed = super().look()
        return failed or any(self._known(name) is None for name in self.nodes.by_name())

    def due(self, node: Object) -> bool:
        """Return whether the Node's required labels and taints are known."""
        return self._known(node["metadata"]["name"]) is not None

    def change(self, node: Object) -> None:
        """Correct the Node's labels and taints, and remove the mark."""
        metadata, right = node["metadata"], self._known(node["metadata"]["name"])
        if right is None:
            raise ApiError("its machine is in no list any more")
        wrong = corrections(metadata["labels"], right.labels)
        taints = corrected(node["spec"]["taints"], right)
        # Sent with the version that was read, because others write to the same list of taints.
        changed = {
            "metadata": {"resourceVersion": metadata["resourceVersion"], "labels": {**wrong, UNCHECKED: None}},
            "spec": {"taints": taints},
        }
        self._api.patch(NODES + path_of(metadata["name"]), changed)
        if wrong:
            self._metrics.count(LABELS_CORRECTED)
            self._say(metadata, wrong)

    def _say(self, metadata: Object, wrong: Mapping[str, str | None]) -> None:
        changes = [f"{key} was {metadata['labels'].get(key)!r}, is {wrong[key]!r}" for key in sorted(wrong)[:NAMED]]
        more = f"; and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": metadata["name"], "uid": metadata["name"]}}
        message = f"it registered with labels that its site's list does not confirm: {'; '.join(changes)}{more}"
        self._events.say(about, reason="NodeLabelsCorrected", message=message, warning=True)
