"""All parts of the node controller, which run while this machine leads."""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from contract.certificate_requests import PATH as REQUESTS
from contract.documents.node_controller import CONFIGMAP, KEY, NodeEnvironment, NodeEnvironmentError, of_text
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.events import Events
from contract.kubernetes.paths import NODES
from contract.kubernetes.watch import Watch
from contract.metrics import LabelValues
from contract.object_names import NODE_CONTROLLER_LEASE, SYSTEM_CONFIGMAPS, SYSTEM_NAMESPACE
from contract.quarantine_list import QuarantineList
from services.metrics import ServiceMetrics
from services.node_controller.gpus import SELECTOR as GPU_NODES
from services.node_controller.gpus import GpuNodes, kept
from services.node_controller.interruptions import SELECTOR as INTERRUPTED_NODES
from services.node_controller.interruptions import Interruptions
from services.node_controller.interruptions import kept as kept_of_interrupted
from services.node_controller.inventory import Inventory
from services.node_controller.judge import Judge
from services.node_controller.lifecycle import Lifecycle
from services.node_controller.metrics import GPU_NODES as NODES_BY_STATE
from services.node_controller.metrics import LEADER, LISTING_AGE, MACHINES
from services.node_controller.new_nodes import SELECTOR as NEW_NODES
from services.node_controller.new_nodes import Known, NewNodes, Truth
from services.node_controller.new_nodes import kept as kept_of_new
from services.node_controller.node_removal import Remover, registered_nodes
from services.node_controller.node_silence import NodeSilence
from services.node_controller.node_work import NodeWork
from services.node_controller.requests import Requests
from services.node_controller.reserved_names import ReservedNames

log = logging.getLogger(__name__)

PASS_S = 3.0
"""Seconds between two checks of the Nodes for removal."""

GATHER_S = 1.0
"""Shortest time in seconds between two passes over the nodes with GPUs, the interrupted nodes or the new nodes. Changes
of these nodes cause the passes."""


class Build(Protocol):
    """Maker of the inventories of an environment's sites."""

    def __call__(
        self, environment: NodeEnvironment, *, changed: Callable[[], None], stop: threading.Event
    ) -> dict[str, Inventory]:
        """Return the inventories by site. An inventory calls ``changed`` after each listing. ``stop`` is set when the
        inventories are no longer needed."""


def end() -> None:
    """End the process at once, because a restarted controller is better than an incomplete one."""
    os._exit(1)


class Controller:
    """The leader's work."""

    def __init__(
        self,
        api: Api,
        *,
        instance: str,
        metrics: ServiceMetrics,
        build: Build,
        fail: Callable[[], None] = end,
    ) -> None:
        self._api, self._build, self._fail, self._metrics = api, build, fail, metrics
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._events = Events(api, instance=instance, component=NODE_CONTROLLER_LEASE)
        self._nodes = self._watch(NODES, metadata_only=True)
        self._gpus_changed = threading.Event()
        self._gpu_nodes = self._watch(NODES, self._gpus_changed.set, labels=GPU_NODES, keep=kept)
        self._interruption_told = threading.Event()
        self._interrupted_nodes = self._watch(
            NODES, self._interruption_told.set, labels=INTERRUPTED_NODES, keep=kept_of_interrupted
        )
        self._registered = threading.Event()
        self._unchecked = self._watch(NODES, self._registered.set, labels=NEW_NODES, keep=kept_of_new)
        self._config = self._watch(SYSTEM_CONFIGMAPS, self._changed.set, fields=f"metadata.name={CONFIGMAP}")
        self._asked = self._watch(REQUESTS, self._look)
        self._silence = NodeSilence(api)
        self._names = ReservedNames(api, nodes=self._nodes)
        self._requests = Requests(api, self._asked, grants=self._names, events=self._events, metrics=metrics)
        self._lifecycle = Lifecycle(clock=time.monotonic)
        self._remover = Remover(api, events=self._events, metrics=metrics)
        self._gpus = GpuNodes(api, self._gpu_nodes, events=self._events, metrics=metrics)
        self._interruptions = Interruptions(api, self._interrupted_nodes, events=self._events, metrics=metrics)
        self._new_nodes = NewNodes(api, self._unchecked, known=self._truth, events=self._events, metrics=metrics)
        self._known: Known | None = None
        self._quarantined = QuarantineList()
        self._inventories: dict[str, Inventory] = {}
        self._unread: frozenset[str] = frozenset()
        self._judge: Judge | None = None
        self._text = ""
        self._retired = threading.Event()
        metrics.read_from(NODES_BY_STATE, self._gpus.by_state)
        metrics.read_from(MACHINES, lambda: {(site,): float(each.count()) for site, each in self._inventories.items()})
        metrics.read_from(LISTING_AGE, self._listing_ages)

    def start(self) -> None:
        """Start each part in its own thread."""
        self._metrics.set(LEADER, 1)
        for watch in self._watches():
            self._thread(watch.run, self._stop)
        self._thread(self._follow_environment)
        self._thread(self._serve)
        self._thread(self._look_after_nodes)
        self._thread(self._follow_nodes, self._gpu_nodes, self._gpus, self._gpus_changed)
        self._thread(self._follow_nodes, self._interrupted_nodes, self._interruptions, self._interruption_told)
        self._thread(self._follow_nodes, self._unchecked, self._new_nodes, self._registered)

    def _watch(self, path: str, changed: Callable[[], None] = lambda: None, **options: Any) -> Watch:
        """Return a watch that calls ``changed`` after each change."""
        tell = functools.partial(log.warning, "%s; trying again")
        return Watch(self._api, path, changed=lambda _before, _after: changed(), tell=tell, **options)

    def _watches(self) -> tuple[Watch, ...]:
        nodes = (self._nodes, self._gpu_nodes, self._interrupted_nodes, self._unchecked)
        return (*nodes, self._config, self._asked)

    def stop(self) -> None:
        """End all parts that can be ended at once. A request that waits for its answer ends with the process."""
        self._metrics.set(LEADER, 0)
        self._stop.set()
        self._changed.set()
        self._gpus_changed.set()
        self._interruption_told.set()
        self._registered.set()
        self._retire()
        self._requests.wake()
        self._api.hang_up()

    def _look(self) -> None:
        self._requests.wake()

    def _serve(self) -> None:
        """Work on certificate requests, once the earlier grants are known."""
        while not (self._asked.synced.wait(1) and self._nodes.synced.wait(1)):
            if self._stop.is_set():
                return
        self._names.recall(self._asked.objects())
        self._requests.run(self._stop, lambda: self._judge)

    def _follow_environment(self) -> None:
        while not self._stop.is_set():
            self._changed.wait()
            self._changed.clear()
            document = self._config.find(CONFIGMAP, namespace=SYSTEM_NAMESPACE)
            text = str((document or {}).get("data", {}).get(KEY, ""))
            if document is None or self._stop.is_set() or text == self._text:
                continue
            self._text = text
            about = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": document["metadata"]}
            try:
                environment = of_text(text)
            except NodeEnvironmentError as error:
                after = "; the previous environment stays in use" if self._judge else ""
                self._events.say(about, reason="EnvironmentInvalid", message=f"{error}{after}", warning=True)
                continue
            if environment.unread:
                sites = ", ".join(f"{name} ({kind})" for name, kind in environment.unread.items())
                message = f"this image does not support these kinds of sites, so nothing there is judged: {sites}"
                self._events.say(about, reason="SitesNotKnown", message=message, warning=True)
            self._adopt(environment)

    def _adopt(self, environment: NodeEnvironment) -> None:
        """Change to another environment, with new inventories."""
        self._retire()
        self._retired = threading.Event()
        built = self._build(environment, changed=self._look, stop=self._retired)
        log.info("environment %s: %s", environment.name, ", ".join(built) or "no site that can have nodes")
        for inventory in built.values():
            self._thread(inventory.run, self._retired)
        self._judge = Judge(
            environment,
            built.values(),
            nodes=self._silence,
            names=self._names,
            clock=time.monotonic,
            quarantined=self._quarantined,
        )
        self._known = Known(environment, built.values())
        self._inventories = built
        self._unread = frozenset(environment.unread)
        self._look()
        self._registered.set()

    def _truth(self, name: str) -> Truth | None:
        return self._known(name) if self._known else None

    def _announce(self) -> None:
        """Announce that new Nodes are checked, once an environment is known. If the announcement fails, lost Nodes are
        removed all the same."""
        if self._known is None:
            return
        try:
            self._new_nodes.announce()
        except ApiError as error:
            log.warning("new nodes are not marked: %s", error)

    def _listed(self, name: str) -> str:
        """Return the site whose inventory has the machine ``name``; empty if no inventory has it."""
        return next((site for site, listed in self._inventories.items() if listed.machine(name) is not None), "")

    def _retire(self) -> None:
        self._retired.set()
        for inventory in self._inventories.values():
            inventory.wake()

    def _look_after_nodes(self) -> None:
        reported: dict[str, str] = {}
        while not self._stop.wait(PASS_S):
            if not self._nodes.synced.is_set() or self._judge is None:
                continue
            self._announce()
            try:
                every = registered_nodes(self._nodes, listed=self._listed)
                judged = [node for node in every if node.site not in self._unread]
                verdict = self._lifecycle.look(judged, self._inventories, fresh=self._silence.fresh)
                for name, reason in verdict.lost.items():
                    self._remover.remove(name, reason)
            except ApiError as error:
                # The remaining Nodes follow with the next look.
                log.warning("nodes: %s", error)
                continue
            for site in verdict.suspects.keys() - reported.keys():
                metadata = {"name": CONFIGMAP, "namespace": SYSTEM_NAMESPACE}
                about = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                message = f"site {site}: {verdict.suspects[site]}; none of them is touched"
                self._events.say(about, reason="NodeRemovalHeld", message=message, warning=True)
            reported = dict(verdict.suspects)

    def _follow_nodes(self, nodes: Watch, work: NodeWork, changed: threading.Event) -> None:
        left = False
        while not self._stop.is_set():
            changed.wait(PASS_S if left else None)
            changed.clear()
            left = nodes.synced.is_set() and work.look()
            self._stop.wait(GATHER_S)

    def _listing_ages(self) -> dict[LabelValues, float]:
        now = time.monotonic()
        return {(site,): now - each.listed_at for site, each in self._inventories.items() if each.listings}

    def _thread(self, work: Callable[..., None], *arguments: object) -> None:
        """Start a thread whose failure ends the whole process."""

        def guarded() -> None:
            try:
                work(*arguments)
            except BaseException:
                log.exception("%s failed", work)
                self._fail()

        threading.Thread(target=guarded, daemon=True).start()
