"""A cluster to act on: a real API server, the lab's AWS and Azure with a group each, and a test that does the work of
kubelets and of the scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clouds.aws import live_groups as aws
from clouds.aws.live_groups import AwsGroup
from clouds.azure import live_groups as azure
from clouds.azure.live_groups import AzureGroup
from clouds.base.live_groups import GroupObservation, GroupState, Life, LiveGroup, LiveMachine
from clouds.base.place import Place
from clouds.base.pool_section import Taint
from components.model import Environment
from components.model.autoscaler import rights
from components.model.prices.book import PriceBook
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.paths import NODES
from longhaul.cli.examples import example
from services.autoscaler import group_writer
from services.autoscaler.cluster_state import NAME, ListedObjects, list_all
from services.autoscaler.decision_log import DecisionLog
from services.autoscaler.metrics import METRICS
from services.autoscaler.scaling_actions import Verb
from services.autoscaler.scaling_pass import PassResult, PassRunner
from services.metrics import ServiceMetrics
from tests.lab.cloud import sets
from tests.lab.cloud.aws.site import REGIONS, Site, client
from tests.lab.cloud.conftest import GROUP, Live
from tests.lab.cloud.operator import Operator
from tests.support.api_server import ApiServer, eventually

TEAM = "team"
PODS = f"/api/v1/namespaces/{TEAM}/pods"
REQUESTS = f"/apis/autoscaling.x-k8s.io/v1/namespaces/{TEAM}/provisioningrequests"
KIND, ZONE = "m6id.xlarge", "us-east-1a"
"""Machine type that the lab's group on AWS launches, and its zone."""
GROUPS = {"h100": "prod-h100", "h100-azure": "prod-h100-azure"}
STARTUP_TAINT = {"key": "agent.example.com/starting", "effect": "NoSchedule"}
"""Taint of the nodes on AWS until an agent takes it off; a test does that as they join."""
HAS = {"cpu": "192", "memory": "2000Gi", "pods": "16", "nvidia.com/gpu": "8"}
EIGHT = {"requests": {"nvidia.com/gpu": "8"}, "limits": {"nvidia.com/gpu": "8"}}
SPEC = {
    "containers": [{"name": "main", "image": "example.com/none", "resources": EIGHT}],
    "tolerations": [{"operator": "Exists"}],
    "nodeSelector": {"gpu": "h100"},
    "terminationGracePeriodSeconds": 0,
}
SCHEDULER = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
}
ROUNDS = 40
QUIET = 2
"""Number of passes without an action after which nothing more is expected."""
SAID = (Verb.TELL, Verb.HOLD)


class Killed(BaseException):
    """The process is killed."""


@dataclass
class Fuse:
    """Kills the process after some number of writes: each has its effect, and the process does not learn of the last
    one."""

    left: int | None = None
    writes: list[str] = field(default_factory=list)
    dead: bool = False

    def check(self) -> None:
        """Do nothing more in a process that was killed."""
        if self.dead:
            raise Killed

    def wrote(self, what: str) -> None:
        """Count a write that has happened."""
        self.writes.append(what)
        if self.left is not None:
            self.left -= 1
            self.dead = self.left <= 0
        self.check()


class Clocked(Api):
    """An API whose clock can be set forward, in a process that may be killed."""

    fuse = Fuse()
    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead

    def send(self, method: str, path: str, **more: Any) -> Any:
        self.fuse.check()
        answer = super().send(method, path, **more)
        if method != "GET":
            self.fuse.wrote(f"{method} {path}")
        return answer


class Wired:
    """A group in the cloud that notes what is asked of it, in a process that may be killed."""

    in_place = False

    def __init__(self, world: World, name: str, group: LiveGroup) -> None:
        self._world, self._name, self._group = world, name, group
        self.ends_at_once, self.apart_s, self.grows_apart_s = group.ends_at_once, group.apart_s, group.grows_apart_s

    def _asked(self) -> LiveGroup:
        self._world.fuse.check()
        self._world.trouble.get(self._name, lambda: None)()
        return self._group

    def _wrote(self, what: str) -> None:
        self._world.calls.append(f"{self._name} {what}")
        self._world.fuse.wrote(f"{self._name} {what}")

    def look(self) -> GroupState:
        return self._asked().look()

    def observe(self, nodes: frozenset[str]) -> GroupObservation:
        return self._asked().observe(nodes)

    def size(self) -> int:
        return self._asked().size()

    def resize(self, count: int) -> None:
        self._asked().resize(count)
        self._wrote(f"size {count}")

    def end(self, machines: Sequence[str], *, replaced: bool = False) -> None:
        self._asked().end(machines, replaced=replaced)
        self._wrote(f"end {' '.join(machines)}")


class World:
    """The cluster, its clouds, and what has happened."""

    def __init__(self, server: ApiServer, live: Live, site: Site) -> None:
        self.server, self.live, self.site = server, live, site
        self.admin = server.client(timeout_s=30.0)
        self.environment = environment()
        self.user = self._user()
        self.calls: list[str] = []
        """Writes that were asked of the clouds' groups."""
        self.trouble: dict[str, Callable[[], None]] = {}
        """Things that happen before a question about a group is answered, by pool."""
        self.fuse = Fuse()
        self.ahead = timedelta()
        self.lacking: set[str] = set()
        """Pools whose nodes have 7 of their 8 GPUs."""
        self.binds = True
        """False while the real scheduler binds pods."""
        self.lines: list[str] = []
        self.metrics = ServiceMetrics(METRICS)
        self.real: dict[str, LiveGroup] = {
            "h100": AwsGroup(GROUPS["h100"], region=REGIONS[0], client=client),
            "h100-azure": AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live)),
        }

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the program find the groups of this world."""

        def of_pool(_place: Place[Any], name: str) -> dict[str, Wired]:
            return {GROUPS[name]: Wired(self, name, self.real[name])}

        for cloud in (aws, azure):
            monkeypatch.setattr(cloud, "live_groups", of_pool)
        # On a slow machine the last checks of a few nodes would need two calls.
        monkeypatch.setattr(group_writer, "CHECKS_S", 60.0)

    def api(self, *, timeout_s: float = 30.0) -> Clocked:
        """Return the API as the autoscaler's own user, in a new process."""
        api = Clocked(f"https://127.0.0.1:{self.server.port}", self.user, timeout_s=timeout_s)
        api.fuse, api.ahead = self.fuse, self.ahead
        return api

    @contextmanager
    def process(
        self, *, leads: Callable[[], bool] = lambda: True, old: ListedObjects | None = None
    ) -> Iterator[PassRunner]:
        """Start a process that makes passes; one that sees what is ``old`` of the cluster, if that is given."""
        api = self.api()
        passes = PassRunner(
            self.environment,
            api,
            PriceBook(),
            read=lambda memory, _now: replace(old, memory=memory) if old else list_all(api, memory),
            leads=leads,
            identity=f"{NAME}/test",
            decision_log=DecisionLog(self.lines.append, as_json=False, now=api.now),
            metrics=self.metrics,
            act=True,
        )
        try:
            yield passes
        finally:
            passes.close()

    def once(self, passes: PassRunner) -> PassResult:
        """Make a pass that asks every cloud anew."""
        for name in passes.reader.groups:
            passes.reader.forget(name)
        return passes.run(limit_s=10.0)

    def settle(self, passes: PassRunner, *, quiet: int = QUIET) -> None:
        """Make passes, and do kubelets' and the scheduler's work, until nothing is to be done any more."""
        still = 0
        for _ in range(ROUNDS):
            passed = self.once(passes)
            moved = self.follow()
            acted = any(action.verb not in SAID for action in passed.evaluation.decision.actions)
            still = 0 if acted or moved else still + 1
            if still == quiet:
                return
        raise AssertionError("no end to it:\n" + "\n".join(self.lines[-20:]))

    def follow(self) -> bool:
        """Make nodes of machines, take away those of machines that are gone, and bind pods. Return whether anything was
        to be done."""
        nodes = {item["metadata"]["name"]: item for item in self.admin.items(NODES)}
        there = {one.node: pool for pool, group in self.real.items() for one in _standing(group)}
        for name, pool in there.items():
            if name not in nodes:
                self.join(name, pool)
        gone = [item for name, item in nodes.items() if name not in there]
        for item in gone:
            self.admin.delete(NODES + path_of(item["metadata"]["name"]), uid=item["metadata"]["uid"])
        return bool(gone) | any(name not in nodes for name in there) | self.bind()

    def bind(self) -> bool:
        """Bind each waiting pod to a node that is free, unless the real scheduler does."""
        pods = list(self.admin.items(PODS)) if self.binds else []
        taken = {pod["spec"].get("nodeName") for pod in pods}
        free = [
            item["metadata"]["name"]
            for item in self.admin.items(NODES)
            if not item["spec"].get("unschedulable") and item["metadata"]["name"] not in taken
            if item["metadata"]["labels"]["longhaul.dev/pool"] not in self.lacking
        ]
        waiting = [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]
        for pod, node in zip(waiting, free, strict=False):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
            self.admin.post(f"{PODS}/{pod}/binding", body)
        return bool(waiting and free)

    @contextmanager
    def scheduler(self) -> Iterator[None]:
        """Have the real scheduler bind pods."""
        path = self.server.folder / "scheduler.json"
        path.write_text(json.dumps({**SCHEDULER, "clientConnection": {"kubeconfig": str(self.server.kubeconfig)}}))
        self.binds = False
        with self.server.scheduler(path):
            yield
        self.binds = True

    def join(self, name: str, pool: str, *, ready: str = "True") -> None:
        """Make a node that is ready, or none that ever was."""
        labels = {"longhaul.dev/pool": pool, "gpu": "h100", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
        self.admin.post(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
        self.health(name, ready)
        # The controllers would take away the taint of a new node; they are not tested here.
        self.admin.patch(NODES + path_of(name), {"spec": {"taints": None}})

    def health(self, name: str, ready: str) -> None:
        """Have a node report that it is ready, or have it go silent a while after it was made."""
        metadata = self.admin.get(NODES + path_of(name))["metadata"]
        made = metadata["creationTimestamp"]
        has = {**HAS, "nvidia.com/gpu": "7" if metadata["labels"]["longhaul.dev/pool"] in self.lacking else "8"}
        at = datetime.fromisoformat(made) + (timedelta() if ready == "True" else timedelta(seconds=30))
        moment = at.isoformat(timespec="seconds").replace("+00:00", "Z")
        condition = {"type": "Ready", "status": ready, "reason": "Test", "message": "a test says so"}
        condition |= {"lastHeartbeatTime": moment, "lastTransitionTime": moment}
        status = {"conditions": [condition], "allocatable": has, "capacity": has}
        self.admin.patch(f"{NODES}{path_of(name)}/status", {"status": status})

    def pods(self, count: int, *, first: int = 0) -> None:
        """Make pods that want a node each."""
        for number in range(first, first + count):
            self.pod(f"train-{number}", SPEC)

    def pod(self, name: str, spec: dict[str, Any], **metadata: Any) -> None:
        """Make a pod."""
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}
        self.admin.post(PODS, body)

    def end_pods(self, *numbers: int) -> None:
        """Delete pods, or all of them."""
        names = {f"train-{number}" for number in numbers}
        for pod in self.admin.items(PODS):
            if not names or pod["metadata"]["name"] in names:
                self.admin.delete(f"{PODS}/{pod['metadata']['name']}", uid=pod["metadata"]["uid"], grace_s=0)

    def limit(self, count: int | None) -> None:
        """Have AWS launch so many more machines, and refuse what is asked beyond; None for as many as are asked."""

        async def press() -> None:
            self.live.cloud.aws.set_capacity(KIND, ZONE, count)

        self.live.call(press())

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the groups."""
        return {pool: group.size() for pool, group in self.real.items()}

    def reset(self) -> None:
        """Return to an empty cluster with groups of no machine."""
        self.fuse, self.ahead, self.trouble, self.lacking, self.binds = Fuse(), timedelta(), {}, set(), True
        self.end_pods()
        self.limit(None)
        for group in self.real.values():
            if group.size():
                group.resize(0)
        eventually(lambda: not any(group.look().machines for group in self.real.values()), what="no machine is left")
        self.follow()
        for path in (
            "/api/v1/namespaces/kube-system/configmaps/longhaul-autoscaler",
            *(f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/longhaul-roll-{pool}" for pool in GROUPS),
        ):
            item = self.admin.find(path)
            if item:
                self.admin.delete(path, uid=item["metadata"]["uid"])
        self.calls.clear()
        self.lines.clear()
        self.metrics = ServiceMetrics(METRICS)

    def _user(self) -> dict[str, str]:
        """Return the identity of a user with the rights that the autoscaler names, and no others."""
        self._grant("ClusterRole", rights.everywhere(acts=True), namespace="")
        self._grant("Role", rights.in_kube_system(self.environment.pools, acts=True), namespace="kube-system")
        pem = self.server.pem(NAME).read_text(encoding="ascii")
        authority = (self.server.folder / "ca.crt").read_text(encoding="ascii")
        return {"certificate": pem, "key": "", "issuer": authority}

    def _grant(self, kind: str, rules: Sequence[rights.Rule], *, namespace: str) -> None:
        names = {"api_groups": "apiGroups", "resource_names": "resourceNames"}
        written = [{names.get(key, key): value for key, value in rule.items()} for rule in rules]
        metadata = {"name": NAME, **({"namespace": namespace} if namespace else {})}
        group = "rbac.authorization.k8s.io"
        role = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "rules": written}
        binding = {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": kind, "name": NAME},
            "subjects": [{"kind": "User", "name": NAME, "apiGroup": group}],
        }
        for item in (role, binding):
            self.server.kubectl("apply", "-f", "-", stdin=json.dumps(item))


def environment(most: int = 4) -> Environment:
    """Return an environment with one pool in each cloud, the one on Azure the other's fallback."""
    whole = example("prod")
    changes = {
        "h100": {
            "fallbacks": ("h100-azure",),
            "max": most,
            "taints": (),
            "startup_taints": (Taint.model_validate(STARTUP_TAINT),),
        },
        "h100-azure": {"max": 4, "taints": ()},
    }
    pools = {name: whole.pools[name].model_copy(update=change) for name, change in changes.items()}
    return whole.model_copy(update={"pools": pools})


def _standing(group: LiveGroup) -> list[LiveMachine]:
    """Return the machines that are there and were made."""
    never = {one.machine for one in group.refusals()}
    return [one for one in group.look().machines if one.life is not Life.LEAVING and one.id not in never]


@contextmanager
def clouds(folder: Path, running: Callable[..., Any]) -> Iterator[tuple[Live, Site]]:
    """Run the lab's clouds, with an empty group in each."""
    with running(folder, regions=REGIONS) as live:
        site = Site(live, subnet="127.9.64.0/20")
        site.pool(0, name=GROUPS["h100"])
        sets.build(live, 0)
        yield live, site
