"""A cluster in memory that lives: machines become nodes as their fates are, daemon sets, a scheduler, owners that make
their pods anew, and controllers that take away what is gone. It knows nothing of the autoscaler."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from components.model import Environment
from components.model.pools.declared import declared_pool
from contract.annotations import DISPOSABLE
from contract.kubernetes.api import path_of
from contract.kubernetes.paths import NODES, PODS
from contract.kubernetes.quantities import whole
from contract.kubernetes.readiness import is_ready
from contract.labels import GROUP_LABEL, HOSTNAME_LABEL, INTERRUPTED, ZONE_LABEL
from contract.taints import CORDON, INTERRUPTED_TAINT, PREFLIGHT
from services.autoscaler.cluster_state import BUDGETS, DAEMON_SETS
from services.autoscaler.declared_capacity import declared_capacity
from services.autoscaler.new_node_labels import new_node_labels
from tests.services.autoscaler.memory_api import MemoryServer, Object, condition, owners, tolerates
from tests.services.autoscaler.memory_clouds import CloudGroup, CloudMachine
from tests.services.autoscaler.soak_pods import (
    GPU,
    TEAM,
    Job,
    MachineFate,
    budget_path,
    daemon_path,
    is_daemon,
    is_over,
    keeps_apart,
    path_of_pod,
    ports_of,
    requests_of,
)

POD_GROUP = "scheduling.x-k8s.io/pod-group"
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
DAEMON_TOLERATES = [
    {"key": NOT_READY["key"], "operator": "Exists"},
    {"key": CORDON, "operator": "Exists"},
]
"""Tolerations that the controller of daemon sets adds."""
GRACE = timedelta(seconds=40)
"""Time after which the Node of a machine that is gone is deleted."""
NOTICE = timedelta(minutes=2)
"""Time between the notice that a cloud takes a machine back and its end."""


class SoakCluster:
    """The cluster. ``now`` is the clouds' time; that of the API servers may be ahead."""

    def __init__(self, environment: Environment, server: MemoryServer, chance: random.Random, now: datetime) -> None:
        self.environment, self.server, self._chance, self.now = environment, server, chance, now
        self.jobs: dict[str, Job] = {}
        self.fates: dict[str, MachineFate] = {}
        """Fates by the machines' node names."""
        self.where: dict[str, tuple[CloudGroup, CloudMachine]] = {}
        """Machines that exist, by node name."""
        self.capacity = {name: declared_capacity(environment, name) for name in environment.pools}
        self._labels = {name: declared_pool(environment, name).labels for name in environment.pools}
        self._numbers = itertools.count(1)
        self._gone: dict[str, datetime] = {}
        self._ends: dict[str, datetime] = {}
        """Times at which pods end by themselves, by path."""
        self._leaves: dict[str, datetime] = {}
        """Times at which pods that are being deleted are gone."""
        self.silenced: set[str] = set()
        """Nodes that answer no more, whatever their fate says."""
        self._daemons: dict[str, list[Object]] = {}
        """Pods of daemon sets on nodes that do not exist yet."""

    def pods(self) -> list[Object]:
        """Return all pods."""
        return self.server.kind(PODS)

    def nodes(self) -> list[Object]:
        """Return all nodes."""
        return self.server.kind(NODES)

    def on(self, node: str) -> list[Object]:
        """Return the pods on a node that have not ended."""
        return [pod for pod in self.pods() if pod["spec"].get("nodeName") == node and not is_over(pod)]

    def step(self, now: datetime) -> None:
        """Let time pass."""
        self.now = now
        self._remove_nodes()
        for name, (group, machine) in list(self.where.items()):
            self._run_machine(name, group, machine)
        self._end_pods()
        self._run_jobs()
        self._run_daemon_sets()
        self._schedule()
        self._settle_budgets()

    def node_path(self, name: str) -> str:
        """Return the path of a node."""
        return NODES + path_of(name)

    def delete_pod(self, pod: Object) -> None:
        """Begin to end a pod."""
        path = path_of_pod(pod["metadata"]["namespace"], pod["metadata"]["name"])
        if path in self.server.objects and path not in self._leaves:
            at = self.server.now().isoformat()
            self.server.change(path, {"metadata": {"deletionTimestamp": at}})
            self._leaves[path] = self.now + timedelta(seconds=self._chance.choice((0, 10, 30)))

    def remove_job(self, name: str) -> None:
        """Delete a job and its pods."""
        self.jobs.pop(name)
        for pod in self.pods():
            if (pod["metadata"].get("labels") or {}).get("job") == name:
                if pod["spec"].get("nodeName"):
                    self.delete_pod(pod)
                else:
                    self._drop(pod)

    def last(self) -> None:
        """Let no pod end by itself any more."""
        self._ends.clear()

    def forget_pod(self, pod: Object) -> None:
        """Remove a pod at once."""
        self._drop(pod)

    def _drop(self, pod: Object) -> None:
        path = path_of_pod(pod["metadata"]["namespace"], pod["metadata"]["name"])
        for times in (self._ends, self._leaves):
            times.pop(path, None)
        self.server.drop(path)

    def _remove_nodes(self) -> None:
        """Delete the Nodes of machines that are gone, with their pods."""
        for node in self.nodes():
            name = node["metadata"]["name"]
            if name in self.where:
                self._gone.pop(name, None)
            elif self.now - self._gone.setdefault(name, self.now) >= GRACE:
                self.server.drop(self.node_path(name))
                for pod in self.pods():
                    if pod["spec"].get("nodeName") == name:
                        self._drop(pod)

    def _run_machine(self, name: str, group: CloudGroup, machine: CloudMachine) -> None:
        fate, age = self.fates[name], self.now - machine.made
        path = self.node_path(name)
        node = self.server.objects.get(path)
        if node is None:
            if fate.registers is not None and age >= fate.registers and machine.ending is None:
                self._register(name, group, machine, fate)
            return
        silent = name in self.silenced or (
            fate.silent is not None and age >= fate.silent[0] and (fate.silent[1] is None or age < fate.silent[1])
        )
        ready = fate.ready is not None and age >= fate.ready and not silent
        status = "True" if ready else "Unknown" if silent else "False"
        before = next((entry for entry in node["status"]["conditions"]), {"status": ""})
        if before["status"] != status:
            self.server.change(path, {"status": {"conditions": [condition("Ready", status, self.server.now())]}})
        has = self._allocatable(group.pool, fate, age)
        if node["status"]["allocatable"] != has:
            self.server.change(path, {"status": {"allocatable": has}})
        taints = self._taints(node, fate, age, ready=ready)
        if (node["spec"].get("taints") or []) != taints:
            self.server.change(path, {"spec": {"taints": taints}})
        if fate.interrupted is not None and age >= fate.interrupted:
            for pod in self.on(name):
                if not is_daemon(pod):
                    self.delete_pod(pod)
            if age >= fate.interrupted + NOTICE and machine.ending is None:
                group.end(machine, self.now)

    def _register(self, name: str, group: CloudGroup, machine: CloudMachine, fate: MachineFate) -> None:
        several = sum(True for other in self.groups_of(group.pool)) > 1
        labels = {
            **self._labels[group.pool],
            **new_node_labels(self.environment, group.pool),
            ZONE_LABEL: machine.zone,
            HOSTNAME_LABEL: name,
            **({GROUP_LABEL: group.name} if several else {}),
        }
        taints = [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in declared_pool(self.environment, group.pool).taints
        ]
        taints += [NOT_READY, *([PREFLIGHT] if self.capacity[group.pool].get(GPU) else [])]
        taints += [fate.taint] if fate.taint else []
        self.server.put(
            self.node_path(name),
            {
                "metadata": {"name": name, "labels": labels, "annotations": {}},
                "spec": {"taints": taints},
                "status": {
                    "allocatable": self._allocatable(group.pool, fate, timedelta()),
                    "conditions": [condition("Ready", "False", self.server.now())],
                },
            },
        )

    def new_node(self, pool: str) -> Object:
        """Return a pool's new node once it is fit for pods, with its daemon sets' amounts taken away."""
        labels = {**self._labels[pool], **new_node_labels(self.environment, pool), HOSTNAME_LABEL: f"new-{pool}"}
        taints = [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in declared_pool(self.environment, pool).taints
        ]
        node: Object = {
            "metadata": {"name": f"new-{pool}", "labels": labels},
            "spec": {"taints": taints},
            "status": {
                "allocatable": self._allocatable(pool, MachineFate(), timedelta(hours=1)),
                "conditions": [condition("Ready", "True", self.now)],
            },
        }
        ports: list[Object] = []
        self._daemons.pop(f"new-{pool}", None)
        for item in self.server.kind(DAEMON_SETS):
            spec = item["spec"]["template"]["spec"]
            pod = {"metadata": {"name": "daemon", "labels": {}}, "spec": spec}
            if self.fits(pod, node, besides=ports):
                ports.append(pod)
        self._daemons[f"new-{pool}"] = ports
        return node

    def groups_of(self, pool: str) -> list[CloudGroup]:
        """Return the groups of a pool."""
        return [group for group in self.groups.values() if group.pool == pool]

    groups: dict[str, CloudGroup]

    def _allocatable(self, pool: str, fate: MachineFate, age: timedelta) -> dict[str, str]:
        has = dict(self.capacity[pool])
        has["memory"] = int(has["memory"] * 0.985)
        known = fate.devices is not None and age >= fate.devices
        has[GPU] = max(0, has[GPU] - fate.gpus_less) if known else 0
        return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in has.items()}

    def _taints(self, node: Object, fate: MachineFate, age: timedelta, *, ready: bool) -> list[Object]:
        taints = [taint for taint in node["spec"].get("taints") or () if taint["key"] != NOT_READY["key"]]
        taints += [] if ready else [NOT_READY]
        if fate.preflight is not None and age >= fate.preflight:
            taints = [taint for taint in taints if taint["key"] != PREFLIGHT["key"]]
        if fate.taint_goes is not None and age >= fate.taint_goes:
            taints = [taint for taint in taints if taint != fate.taint]
        if fate.interrupted is not None and age >= fate.interrupted and INTERRUPTED not in {t["key"] for t in taints}:
            taints = [*taints, INTERRUPTED_TAINT]
        return taints

    def _end_pods(self) -> None:
        for path, at in list(self._leaves.items()):
            pod = self.server.objects.get(path)
            if pod is None or at <= self.now:
                # A kubelet that does not answer ends nothing.
                node = self.server.objects.get(self.node_path(pod["spec"]["nodeName"])) if pod else None
                if pod is None or node is None or is_ready(node):
                    self._leaves.pop(path)
                    if pod is not None:
                        self._drop(pod)
        for path, at in list(self._ends.items()):
            if at <= self.now and path in self.server.objects:
                pod = self.server.change(path, {"status": {"phase": "Succeeded", "conditions": []}})
                self._ends.pop(path)
                job = self.jobs.get(pod["metadata"]["labels"]["job"])
                if job:
                    job.done += 1
                if not pod["metadata"]["labels"].get(POD_GROUP):
                    self._drop(pod)

    def _run_jobs(self) -> None:
        counts: dict[str, int] = {}
        for pod in self.pods():
            name = (pod["metadata"].get("labels") or {}).get("job", "")
            if not (is_over(pod) or "deletionTimestamp" in pod["metadata"]):
                counts[name] = counts.get(name, 0) + 1
        for job in self.jobs.values():
            for _ in range(0 if job.awaits_grant else job.count - job.done - counts.get(job.name, 0)):
                self.make_pod(job)

    def make_pod(self, job: Job, *, phase: str = "Pending") -> None:
        """Make a pod of a job."""
        name = f"{job.name}-{next(self._numbers)}"
        annotations = {**job.annotations, **({DISPOSABLE: "true"} if job.service else {})}
        labels = {"job": job.name, **job.labels, **({POD_GROUP: job.name} if job.gang else {})}
        metadata = {
            "name": name,
            "namespace": TEAM,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": owners("ReplicaSet" if job.service else "Job", job.name),
        }
        self.server.put(
            path_of_pod(TEAM, name),
            {"metadata": metadata, "spec": job.spec, "status": {"phase": phase}},
        )

    def _run_daemon_sets(self) -> None:
        pods = [pod for pod in self.pods() if is_daemon(pod)]
        sets = self.server.kind(DAEMON_SETS)
        known = {item["metadata"]["name"] for item in sets}
        for pod in pods:
            if pod["metadata"]["ownerReferences"][0]["name"] not in known:
                self._drop(pod)
        places = {(pod["metadata"]["ownerReferences"][0]["name"], pod["spec"].get("nodeName")) for pod in pods}
        for item in sets:
            name, namespace = item["metadata"]["name"], item["metadata"]["namespace"]
            template = item["spec"]["template"]
            spec = {**template["spec"]}
            spec["tolerations"] = [*(spec.get("tolerations") or ()), *DAEMON_TOLERATES]
            there = wanted = 0
            for node in self.nodes():
                on = node["metadata"]["name"]
                if not self._selected(spec, node) or not tolerates({"spec": spec}, node["spec"].get("taints") or ()):
                    continue
                wanted += 1
                if (name, on) not in places and self._has_room(spec, node):
                    pod_name = f"{name}-{next(self._numbers)}"
                    metadata = {
                        "name": pod_name,
                        "namespace": namespace,
                        "labels": {**template["metadata"]["labels"]},
                        "ownerReferences": owners("DaemonSet", name),
                    }
                    body = {"metadata": metadata, "spec": {**spec, "nodeName": on}, "status": {"phase": "Running"}}
                    self.server.put(path_of_pod(namespace, pod_name), body)
                there += 1
            status = {"currentNumberScheduled": there, "desiredNumberScheduled": wanted}
            if item.get("status") != status:
                self.server.change(daemon_path(namespace, name), {"status": status})

    def set_daemon(self, namespace: str, name: str, spec: Object) -> None:
        """Make a daemon set."""
        template = {"metadata": {"labels": {"daemon": name}}, "spec": spec}
        metadata = {"name": name, "namespace": namespace}
        self.server.put(daemon_path(namespace, name), {"metadata": metadata, "spec": {"template": template}})

    def drop_daemon(self, namespace: str, name: str) -> None:
        """Delete a daemon set."""
        self.server.drop(daemon_path(namespace, name))

    def _selected(self, spec: Object, node: Object) -> bool:
        labels = node["metadata"]["labels"]
        return all(labels.get(key) == value for key, value in (spec.get("nodeSelector") or {}).items())

    def _has_room(self, spec: Object, node: Object, *, besides: Sequence[Object] = ()) -> bool:
        name = node["metadata"]["name"]
        free = {key: whole(key, text) for key, text in node["status"]["allocatable"].items()}
        labels = keeps_apart(spec)
        for pod in (*self.on(name), *self._daemons.get(name, ()), *besides):
            for key, amount in requests_of(pod["spec"]).items():
                free[key] = free.get(key, 0) - amount
            if ports_of(spec) & ports_of(pod["spec"]):
                return False
            present = pod["metadata"].get("labels") or {}
            if labels and all(present.get(key) == value for key, value in labels.items()):
                return False
        return all(free.get(key, 0) >= amount for key, amount in requests_of(spec).items())

    def fits(self, pod: Object, node: Object, *, besides: Sequence[Object] = ()) -> bool:
        """Return whether the scheduler may place a pod on a node, beside some others."""
        spec = node["spec"]
        return (
            is_ready(node)
            and "podAffinity" not in (pod["spec"].get("affinity") or {})
            and not spec.get("unschedulable")
            and self._selected(pod["spec"], node)
            and tolerates(pod, spec.get("taints") or ())
            and self._has_room(pod["spec"], node, besides=besides)
        )

    def waiting(self) -> list[Object]:
        """Return the pods that wait for a node."""
        return [
            pod
            for pod in self.pods()
            if not pod["spec"].get("nodeName") and not is_over(pod) and "deletionTimestamp" not in pod["metadata"]
        ]

    def _schedule(self) -> None:
        waiting = sorted(self.waiting(), key=lambda pod: (-pod["spec"].get("priority", 0), pod["metadata"]["name"]))
        if not waiting:
            return
        groups: dict[str, list[Object]] = {}
        for pod in waiting:
            groups.setdefault(pod["metadata"]["labels"].get(POD_GROUP, ""), []).append(pod)
        for name, members in groups.items():
            if name:
                job = self.jobs.get(name)
                running = sum(pod["metadata"]["labels"].get(POD_GROUP) == name for pod in self.pods()) - len(members)
                seats = list(self._seats(members))
                if job and len(seats) + running >= job.gang:
                    for pod, node in seats:
                        self._bind(pod, node)
            else:
                for pod in members:
                    for seat in self._seats([pod]):
                        self._bind(*seat)

    def _seats(self, pods: Sequence[Object]) -> Iterator[tuple[Object, Object]]:
        """Yield pods with nodes that have room for all of them."""
        taken: dict[str, list[Object]] = {}
        for pod in pods:
            nodes = [
                node for node in self.nodes() if self.fits(pod, node, besides=taken.get(node["metadata"]["name"], ()))
            ]
            if nodes:
                # The default is the emptiest node, but other nodes are chosen, too.
                node = self._chance.choice(nodes)
                taken.setdefault(node["metadata"]["name"], []).append(pod)
                yield pod, node

    def _bind(self, pod: Object, node: Object) -> None:
        name = node["metadata"]["name"]
        path = path_of_pod(TEAM, pod["metadata"]["name"])
        ready = [condition("Ready", "True", self.server.now())]
        status = {"phase": "Running", "conditions": ready}
        self.server.change(path, {"spec": {"nodeName": name}, "status": status})
        if name in self.where:
            self.where[name][1].used = True
        job = self.jobs[pod["metadata"]["labels"]["job"]]
        if job.lasts is not None:
            self._ends[path] = self.now + job.lasts

    def _settle_budgets(self) -> None:
        for item in self.server.kind(BUDGETS):
            wanted = item["spec"]["selector"]["matchLabels"]
            pods = [
                pod
                for pod in self.pods()
                if all((pod["metadata"].get("labels") or {}).get(key) == value for key, value in wanted.items())
            ]
            healthy = sum(is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods)
            least = item["spec"]["minAvailable"]
            status = {
                "observedGeneration": 1,
                "currentHealthy": healthy,
                "desiredHealthy": least,
                "disruptionsAllowed": max(0, healthy - least),
            }
            if item.get("status") != status:
                self.server.change(budget_path(item["metadata"]["name"]), {"status": status})
