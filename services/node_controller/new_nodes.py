"""Labels and taints of Nodes that have just registered: before any pod comes, they are corrected to what the site's
list and the environment say.

A kubelet names the labels of its own Node when it registers, so a compromised kubelet could name another pool's labels.
The API servers mark every Node that a node registers with a taint, which a node may not change, and a label by which it
is found (components/objects/node_labels.py). This controller corrects the Node and takes both away. From then on the
API servers let no node change its labels.
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
from services.node_controller.node_work import Held, NodeWork

log = logging.getLogger(__name__)

SELECTOR = UNCHECKED
ABLE = f"{SYSTEM_CONFIGMAPS}/{LOOKED_AT}"

OWN = frozenset((*MACHINE_LABELS, IMAGE_LABEL, INTERRUPTED))
"""Labels that a machine alone knows: its own word counts."""
NAMED = 5
"""Number of corrected labels that an Event names."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Labels and taints that a Node must have."""

    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...] = ()
    """Taints that it must have; it may have others."""


def truth(environment: NodeEnvironment, machine: ListedMachine) -> Truth | None:
    """Return the labels and taints of a machine's Node; None while they are not known: the document lacks its pool or
    host, or the list does not say the zone yet."""
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
    """Truth of every Node, from an environment and its sites' lists."""

    def __init__(self, environment: NodeEnvironment, inventories: Iterable[Inventory]) -> None:
        self._environment, self._inventories = environment, tuple(inventories)

    def __call__(self, name: str) -> Truth | None:
        """Return the truth of a Node; None while it is not known. The cloud is asked about a machine that is in no
        list."""
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
    """Return the labels to set; None marks a label to remove. A node with GPUs describes them itself."""
    there = {key: value for key, value in labels.items() if not _is_stale_label(key, right) and key != UNCHECKED}
    wrong = {key: right.get(key) for key in there if there[key] != right.get(key)}
    return {**wrong, **{key: value for key, value in right.items() if key not in labels}}


def corrected(taints: Iterable[Object], right: Truth) -> list[Object]:
    """Return the Node's taints without the mark and with the required ones. The taint of GPUs is removed from a node
    without GPUs: it may come from the label that the Node claimed, and nothing else would lift it."""
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
    """Corrects the Nodes that have just registered, and opens them."""

    def __init__(
        self,
        api: Api,
        nodes: Held,
        *,
        known: Callable[[str], Truth | None],
        events: Events,
        metrics: ServiceMetrics,
    ) -> None:
        super().__init__(nodes)
        self._api, self._known, self._events, self._metrics = api, known, events, metrics
        self._announced = False

    def announce(self) -> None:
        """Announce, once, that new Nodes are checked. The caller handles ``ApiError`` and calls again."""
        if not self._announced:
            self._api.patch(ABLE, {"data": {LOOKED_AT_KEY: LOOKED_AT_YES}})
            self._announced = True

    def look(self) -> bool:
        """Open the Nodes whose truth is known; return True when others are left."""
        failed = super().look()
        return failed or any(self._known(name) is None for name in self.nodes.by_name())

    def due(self, node: Object) -> bool:
        """Return whether the Node's truth is known."""
        return self._known(node["metadata"]["name"]) is not None

    def change(self, node: Object) -> None:
        """Correct the Node, and open it."""
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
