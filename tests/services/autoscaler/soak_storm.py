"""Events in a world: demand that comes and goes, clouds and machines that fail, people who interfere. Nothing of
it is the autoscaler's fault, and all of it ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from contract.annotations import KEEP
from contract.kubernetes.readiness import is_ready
from contract.object_names import GANGS
from services.autoscaler.cluster_state import POD_GROUPS, REQUESTS, TEMPLATES
from tests.services.autoscaler.memory_api import Object
from tests.services.autoscaler.memory_clouds import CloudTrouble
from tests.services.autoscaler.soak_pods import NVIDIA, TEAM, Job, budget_path, namespaced, pod_spec
from tests.services.autoscaler.soak_world import SoakWorld

EVERYTHING = {"operator": "Exists"}
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
MOST_JOBS = 6
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
UNFIT = {"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}
FOREIGN = {"key": "agent.example.com/absent", "value": "", "effect": "NoSchedule"}


class SoakStorm:
    """Random events in a world."""

    def __init__(self, world: SoakWorld) -> None:
        self.world, self.cluster, self.chance = world, world.cluster, world.chance
        self._number = 0
        self._later: list[tuple[Any, Callable[[], None]]] = []
        self._events: list[tuple[int, Callable[[], None]]] = [
            (20, self.add_job),
            (8, self.add_gang),
            (6, self.add_request),
            (16, self.remove_job),
            (6, self.refuse),
            (6, self.err),
            (5, self.list_short),
            (5, self.list_stale),
            (4, self.jump),
            (8, self.kill),
            (4, self.change_leader),
            (5, self.fail_requests),
            (4, self.answer_slowly),
            (3, self.see_old),
            (12, self.interfere),
            (6, self.spoil),
            (5, self.silence),
            (4, self.interrupt),
            (4, self.add_daemon),
            (4, self.remove_daemon),
            (4, self.cordon),
            (4, self.taint),
            (4, self.unfit),
            (3, self.keep),
            (4, self.set_size),
            (3, self.set_least),
            (5, self.add_budget),
            (2, self.delete_node),
        ]

    def step(self, seconds: float, *, share: float) -> None:
        """Let time pass, with so many events in a step on average."""
        due = [entry for entry in self._later if entry[0] <= self.world.now]
        self._later = [entry for entry in self._later if entry[0] > self.world.now]
        for _, event in due:
            event()
        while self.chance.random() < share:
            share /= 2
            weights, events = zip(*self._events, strict=True)
            self.chance.choices(events, weights)[0]()
        self.world.step(seconds)

    def calm(self) -> None:
        """End everything that is wrong."""
        world = self.world
        for _, event in self._later:
            event()
        self._later.clear()
        for group in world.groups.values():
            group.trouble = CloudTrouble()
            group.least = world.environment.pools[group.pool].min if group.cloud == "aws" else 0
        world.faulty.clear()
        world.server.failing.clear()
        world.server.before_writes.clear()
        world.slow_share, world.outdated = 0.0, False
        for name, (_, machine) in self.cluster.where.items():
            fate = self.cluster.fates[name]
            fate.silent, fate.taint_goes, fate.preflight = None, timedelta(), fate.preflight
            if fate.interrupted is not None and fate.interrupted > world.now - machine.made:
                fate.interrupted = None
        self.cluster.silenced.clear()
        for node in self.cluster.nodes():
            self._lift(node["metadata"]["name"])
        for job in self.cluster.jobs.values():
            job.lasts = None
        self.cluster.last()
        world.note("everything is calm")

    # Demand

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}{self._number}"

    def add_job(self, *, count: int = 0, spec: Object | None = None) -> None:
        """Make some pods."""
        if len(self.cluster.jobs) > MOST_JOBS:
            self.remove_job()
            return
        name = self._name("job")
        job = Job(name, spec or pod_spec(self.chance), count=count or self.chance.choice((1, 1, 2, 3, 6)))
        job.service = self.chance.random() < 0.45
        if not job.service and self.chance.random() < 0.6:
            job.lasts = self.chance.choice((5 * MINUTE, 20 * MINUTE, 2 * HOUR))
        if self.chance.random() < 0.1:
            job.labels = {"app": name}
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": name}}}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            job.spec = {**job.spec, "affinity": {"podAntiAffinity": required}}
        self.cluster.jobs[name] = job
        requests = job.spec["containers"][0]["resources"]["requests"]
        self.world.note(f"{name}: {job.count} pods of {requests}, service {job.service}, lasts {job.lasts}")

    def _gang_spec(self) -> Object:
        spec = pod_spec(self.chance)
        while "affinity" in spec:
            spec = pod_spec(self.chance)
        return spec

    def add_gang(self) -> None:
        """Make a gang of pods."""
        if len(self.cluster.jobs) > MOST_JOBS:
            self.remove_job()
        name, count = self._name("gang"), self.chance.randint(2, 5)
        spec = {"minMember": count}
        self.world.server.put(
            namespaced(POD_GROUPS, name), {"metadata": {"name": name, "namespace": TEAM}, "spec": spec}
        )
        self.cluster.jobs[name] = Job(name, self._gang_spec(), count=count, gang=count)
        self.world.note(f"{name}: {count} members")

    def add_request(self) -> None:
        """Make a request for a gang's room."""
        if len(self.cluster.jobs) > MOST_JOBS:
            self.remove_job()
        name, count, spec = self._name("request"), self.chance.randint(2, 5), self._gang_spec()
        spec.pop("priority")
        template = {"metadata": {"labels": {}}, "spec": spec}
        metadata = {"name": name, "namespace": TEAM}
        self.world.server.put(namespaced(TEMPLATES, name), {"metadata": metadata, "template": template})
        asks = {
            "provisioningClassName": GANGS,
            "podSets": [{"count": count, "podTemplateRef": {"name": name}}],
            "parameters": {"within": "site"} if self.chance.random() < 0.3 else {},
        }
        self.world.server.put(namespaced(REQUESTS, name), {"metadata": metadata, "spec": asks, "status": {}})
        job = self.cluster.jobs[name] = Job(name, spec, count=count, annotations={CONSUMES: name})
        job.awaits_grant = True
        self.world.note(f"{name}: {count} members of {spec['containers'][0]['resources']['requests']}, {asks}")

    def remove_job(self, name: str = "") -> None:
        """Delete a job, a gang or a request."""
        if not self.cluster.jobs:
            return
        name = name or self.chance.choice([*self.cluster.jobs])
        self.cluster.remove_job(name)
        for kind in (POD_GROUPS, REQUESTS, TEMPLATES):
            self.world.server.drop(namespaced(kind, name))
        self.world.note(f"{name} is deleted")

    # Clouds

    def _trouble(self, minutes: float) -> CloudTrouble:
        """Return the trouble of a group, which ends after some time."""
        group = self.chance.choice([*self.world.groups.values()])
        trouble = group.trouble

        def end() -> None:
            if group.trouble is trouble:
                group.trouble = CloudTrouble()
                self.world.note(f"{group.name} is well again")

        self._in(minutes, end)
        self.world.note(f"trouble of {group.name}")
        return trouble

    def _in(self, minutes: float, event: Callable[[], None]) -> None:
        self._later.append((self.world.now + minutes * MINUTE, event))

    def refuse(self) -> None:
        """Have a cloud refuse machines."""
        self._trouble(self.chance.choice((5, 30, 120))).refuses = self.chance.choice(("capacity", "quota"))

    def err(self) -> None:
        """Have a cloud answer with errors."""
        trouble = self._trouble(self.chance.choice((1, 5, 20)))
        trouble.errors = tuple(self.chance.sample(("throttle", "busy", "down", "refused"), 2))
        trouble.share = self.chance.choice((0.2, 0.5, 1.0))

    def list_short(self) -> None:
        """Have a cloud's lists lack machines, for less time than makes a missing machine one that has ended."""
        self._trouble(self.chance.choice((0.5, 2, 8))).short = self.chance.choice((1, 1, 2, 5))

    def list_stale(self) -> None:
        """Have a cloud tell a former size."""
        self._trouble(self.chance.choice((0.5, 2))).stale = True

    def set_size(self) -> None:
        """Have somebody set a size at a cloud."""
        group = self.chance.choice([*self.world.groups.values()])
        count = max(group.least, min(group.max, group.wanted + self.chance.choice((-1, 1, 1, 2))))
        self.world.note(f"somebody sets {group.name} from {group.wanted} to {count}")
        group.resize(count, by_hand=True)
        self.world.set_by_hand()

    def set_least(self) -> None:
        """Have somebody set a minimum at a cloud."""
        group = self.chance.choice([*self.world.groups.values()])
        if group.cloud == "aws":
            group.least = min(group.max, self.chance.choice((1, 2)))
            group.wanted = max(group.wanted, group.least)
            self.world.set_by_hand()
            self.world.note(f"somebody sets the minimum of {group.name} to {group.least}")

    # The service

    def jump(self) -> None:
        """Let the API servers' clock jump, unless a list is short: how long it is short is told by that clock."""
        if any(group.trouble.short for group in self.world.groups.values()):
            return
        self.world.ahead = self.chance.choice((timedelta(), 10 * MINUTE, HOUR, 3 * HOUR, -10 * MINUTE))
        self.world.jumped = self.world.now
        self.world.note(f"the clock is {self.world.ahead} ahead")

    def kill(self) -> None:
        """Kill the process after some writes."""
        self.world.life.left = self.chance.randint(1, 8)

    def change_leader(self) -> None:
        """Have another process lead soon."""
        self.world.lead_next(self.chance.randint(0, 12))

    def fail_requests(self) -> None:
        """Have some requests to the API fail."""
        for _ in range(self.chance.randint(1, 4)):
            self.world.server.failing.append((self.chance.randint(0, 60), self.chance.random() < 0.5))

    def answer_slowly(self) -> None:
        """Have clouds answer late."""
        self.world.slow_share = self.chance.choice((0.1, 0.5))

        def end() -> None:
            self.world.slow_share = 0.0

        self._in(self.chance.choice((1, 5)), end)

    def see_old(self) -> None:
        """Have the next pass see the cluster as it was."""
        self.world.outdated = True

    def interfere(self) -> None:
        """Have somebody put work on a node, or keep it, between a decision and what it leads to."""
        self.world.server.before_writes.append(self.chance.choice((self.keep, self._place)))

    def _place(self) -> None:
        node = self.chance.choice(self.cluster.nodes() or [None])
        if node:
            name = self._name("placed")
            spec = {"containers": [{"name": "main", "resources": {}}], "nodeName": node["metadata"]["name"]}
            self.cluster.jobs[name] = Job(name, spec, count=0)
            self.cluster.make_pod(self.cluster.jobs[name], phase="Running")
            self.world.note(f"{name} is placed on {spec['nodeName']}")

    # Machines and nodes

    def spoil(self, pool: str = "", minutes: float = 0.0) -> None:
        """Let all new machines of a pool be of no use."""
        pool = pool or self.chance.choice([*self.world.environment.pools])
        fate = self.world.fate()
        match self.chance.randint(0, 5):
            case 0:
                fate.registers = None
            case 1:
                fate.ready = None
            case 2:
                fate.preflight = None
            case 3:
                fate.gpus_less = 1
            case 4:
                fate.taint = FOREIGN
            case 5:
                fate.devices = None
        self.world.faulty[pool] = fate
        self.world.note(f"machines of {pool} are spoiled")

        def end() -> None:
            if self.world.faulty.get(pool) is fate:
                del self.world.faulty[pool]

        self._in(minutes or self.chance.choice((10, 60, 240)), end)

    def _machine(self) -> str:
        return self.chance.choice([*self.cluster.where]) if self.cluster.where else ""

    def _age(self, name: str) -> timedelta:
        return self.world.now - self.cluster.where[name][1].made

    def silence(self) -> None:
        """Let a node be silent for a while."""
        name = self._machine()
        # A node that was never ready, and is silent, looks as if it had been ready.
        if name and self.cluster.fates[name].ready is not None:
            lasts = self.chance.choice((2 * MINUTE, 20 * MINUTE, 3 * HOUR))
            self.cluster.fates[name].silent = (self._age(name), self._age(name) + lasts)
            self.world.note(f"{name} is silent for {lasts}")

    def interrupt(self) -> None:
        """Let a cloud take a machine back."""
        name = self._machine()
        if name:
            self.cluster.fates[name].interrupted = self._age(name)
            self.world.note(f"{name} is taken back")

    def _node(self) -> Object | None:
        nodes = self.cluster.nodes()
        return self.chance.choice(nodes) if nodes else None

    def _lift(self, name: str) -> None:
        """Take away what people have done to a node."""
        path = self.cluster.node_path(name)
        node = self.world.server.objects.get(path)
        if node is None:
            return
        ours = "longhaul.dev/scale-in-since" in (node["metadata"].get("annotations") or {})
        changes: Object = {"metadata": {"annotations": {KEEP: None}}}
        taints = [taint for taint in node["spec"].get("taints") or () if taint not in (FOREIGN, UNFIT)]
        changes["spec"] = {"taints": taints, **({} if ours else {"unschedulable": None})}
        self.world.server.change(path, changes)

    def cordon(self) -> None:
        """Have somebody cordon a node, or take a cordon away."""
        node = self._node()
        if node:
            name, cordoned = node["metadata"]["name"], node["spec"].get("unschedulable")
            self.world.server.change(self.cluster.node_path(name), {"spec": {"unschedulable": not cordoned or None}})
            self.world.note(f"somebody {'uncordons' if cordoned else 'cordons'} {name}")
            self._in(self.chance.choice((3, 30, 120)), lambda: self._lift(name))

    def taint(self) -> None:
        """Have somebody taint a node."""
        node = self._node()
        if node:
            name = node["metadata"]["name"]
            taints = [*(node["spec"].get("taints") or ()), FOREIGN]
            self.world.server.change(self.cluster.node_path(name), {"spec": {"taints": taints}})
            self.world.note(f"somebody taints {name}")
            self._in(self.chance.choice((3, 30)), lambda: self._lift(name))

    def unfit(self) -> None:
        """Have a controller find a node unfit for pods for a while."""
        node = self._node()
        if node:
            name = node["metadata"]["name"]
            taints = [*(node["spec"].get("taints") or ()), UNFIT]
            self.world.server.change(self.cluster.node_path(name), {"spec": {"taints": taints}})
            self.world.note(f"{name} is unfit")
            self._in(self.chance.choice((3, 10)), lambda: self._lift(name))

    def keep(self) -> None:
        """Have somebody keep a node."""
        node = self._node()
        if node:
            name = node["metadata"]["name"]
            self.world.server.change(self.cluster.node_path(name), {"metadata": {"annotations": {KEEP: "true"}}})
            self.world.note(f"somebody keeps {name}")
            self._in(self.chance.choice((10, 60)), lambda: self._lift(name))

    def delete_node(self) -> None:
        """Have somebody delete a Node; its kubelet registers it again after some time."""
        node = self._node()
        if node and is_ready(node):
            name = node["metadata"]["name"]
            self.world.server.drop(self.cluster.node_path(name))
            for pod in self.cluster.on(name):
                self.cluster.forget_pod(pod)
            self.world.note(f"somebody deletes Node {name}")
            if name in self.cluster.where:
                later = self._age(name) + self.chance.choice((MINUTE, 10 * MINUTE))
                self.cluster.fates[name].registers = later

    # Daemon sets and budgets

    def add_daemon(self) -> None:
        """Make a daemon set."""
        name = f"agent{self.chance.randint(1, 3)}"
        container: Object = {"name": "main", "resources": {"requests": {"cpu": self.chance.choice(("50m", "1"))}}}
        if self.chance.random() < 0.4:
            container["ports"] = [{"hostPort": 9100, "containerPort": 9100, "protocol": "TCP"}]
        spec: Object = {"containers": [container]}
        match self.chance.randint(0, 3):
            case 0:
                spec["tolerations"] = [EVERYTHING]
            case 1:
                spec["tolerations"] = [NVIDIA]
            case 2:
                spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
        self.cluster.set_daemon(self.chance.choice(("kube-system", "agents")), name, spec)
        self.world.note(f"daemon set {name}: {spec}")

    def remove_daemon(self) -> None:
        """Delete a daemon set."""
        name = f"agent{self.chance.randint(1, 3)}"
        for namespace in ("kube-system", "agents"):
            self.cluster.drop_daemon(namespace, name)

    def add_budget(self) -> None:
        """Make a disruption budget for the pods of a service."""
        services = [job.name for job in self.cluster.jobs.values() if job.service]
        if services:
            job, name = self.chance.choice(services), self._name("budget")
            spec = {"selector": {"matchLabels": {"job": job}}, "minAvailable": self.chance.choice((0, 1, 2))}
            self.world.server.put(
                budget_path(name), {"metadata": {"name": name, "namespace": TEAM, "generation": 1}, "spec": spec}
            )
            self.world.note(f"{name} for {job}")
            self._in(self.chance.choice((10, 60)), lambda: self.world.server.drop(budget_path(name)))
