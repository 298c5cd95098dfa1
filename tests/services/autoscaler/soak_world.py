"""A world for the autoscaler's service: a cluster and clouds in memory, processes that are killed and lead in turn, and
what must hold at every pass. All of it follows from a seed."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clouds.aws import live_groups as aws
from clouds.aws.live_groups import AwsGroup
from clouds.azure import groups as azure_groups
from clouds.azure import live_groups as azure
from clouds.azure.live_groups import AzureGroup
from clouds.azure.scale_set_observer import SetList
from clouds.base.live_groups import LiveGroup
from clouds.base.place import Place
from components.model.prices.book import PriceBook
from contract.annotations import KEEP, SCALE_IN
from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.connection import ApiError
from contract.kubernetes.readiness import is_ready
from contract.labels import TEAM_LABEL
from services.autoscaler import group_reader, group_writer
from services.autoscaler.cluster_state import NAME, REQUESTS, ListedObjects, is_pending, list_all
from services.autoscaler.decision_log import DecisionLog
from services.autoscaler.leadership import LeadershipLostError
from services.autoscaler.metrics import METRICS
from services.autoscaler.repeated_lines import RepeatedLines
from services.autoscaler.request_pauses import GroupPauses
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.scaling_pass import PassResult, PassRunner
from services.metrics import ServiceMetrics
from tests.services.autoscaler.memory_api import MemoryApi, MemoryServer, Object, ProcessKilled, ProcessLife
from tests.services.autoscaler.memory_clouds import (
    AwsStandIn,
    AzureStandIn,
    CloudGroup,
    CloudMachine,
    GroupWatcher,
)
from tests.services.autoscaler.soak_cluster import SoakCluster
from tests.services.autoscaler.soak_pods import TEAM, MachineFate, fate_words, is_daemon, is_over, is_work
from tests.services.autoscaler.soak_setup import InlineExecutor, cloud_groups, environment

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SET = 3
"""Number of machines in a scale set, so that a pool has several."""
LAST = 150
"""Number of events that are told of a world that failed."""
PATIENCE = timedelta(minutes=14)
"""Time for which a node that was fit for pods is waited for."""
VAIN = 5
"""Largest number of times that the end of a machine is refused."""
VISIBLE = timedelta(minutes=5)
"""Time after which the service knows a size that somebody has set."""
TALK = (Verb.TELL, Verb.HOLD, Verb.GRANT)
"""Verbs that change no machine."""


class FaultError(AssertionError):
    """Something that must never happen has happened."""


class SoakWorld(GroupWatcher):
    """The world."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seed, self.chance = seed, random.Random(seed)
        self.now, self.ahead = START, timedelta()
        self.events: deque[str] = deque(maxlen=LAST)
        self.faulty: dict[str, MachineFate] = {}
        """Fates of all new machines of a pool, for now."""
        self.slow_share = 0.0
        self.outdated = False
        """True when the next pass sees the cluster as it was at the last one."""
        self.passes_run = self.kills = 0
        self.made_count: dict[str, int] = {}
        """Number of machines that a pool's groups have made."""
        self.grown: dict[str, int] = {}
        """Growth of groups in the present pass."""
        self.acted: list[tuple[datetime, str]] = []
        """Everything that the autoscaler did."""
        self.talk: list[ScalingAction] = []
        """Messages of the last pass."""
        self._patch(monkeypatch)
        self.environment = environment(self.chance)
        self.server = MemoryServer(lambda: self.now + self.ahead)
        self.cluster = SoakCluster(self.environment, self.server, self.chance, self.now)
        self.groups = self.cluster.groups = cloud_groups(self.environment, self, self.chance)
        self.server.evicted = self._evicted
        for namespace, labels in ((TEAM, {TEAM_LABEL: TEAM}), ("kube-system", {}), ("agents", {TEAM_LABEL: "agents"})):
            self.server.put(f"/api/v1/namespaces/{namespace}", {"metadata": {"name": namespace, "labels": labels}})
        self._set_by_hand = START
        self.jumped = START - timedelta(days=1)
        """Time of the last jump of the clock."""
        self._fit: dict[str, datetime] = {}
        """Times at which nodes were last fit for pods."""
        self._in_vain: dict[str, int] = {}
        """Numbers of refused ends, by group and machine."""
        self._old: ListedObjects | None = None
        self._leads_left: int | None = None
        self._instance = 0
        self._begin()

    # The service's processes

    def _patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def seconds() -> float:
            return (self.now - START).total_seconds() + 1e6

        for owner in (group_reader.GroupReader, GroupPauses, RepeatedLines):
            monkeypatch.setitem(owner.__init__.__kwdefaults__, "clock", seconds)
        for module in (group_reader, group_writer):
            monkeypatch.setattr(module, "ThreadPoolExecutor", InlineExecutor)
        monkeypatch.setattr(InlineExecutor, "slow", lambda: self.chance.random() < self.slow_share)
        monkeypatch.setattr(InlineExecutor, "late", [])
        monkeypatch.setattr(azure_groups, "LARGEST_PLACEMENT_GROUP", SET)
        self._seconds = seconds

        def of_aws(place: Place[Any], name: str) -> dict[str, LiveGroup]:
            region = place.site.region
            groups = {group.name: group for group in self.groups.values() if group.region == region}
            client = AwsStandIn(groups, self.life, lambda: self.now)
            return {
                group.name: AwsGroup(group.name, region=region, client=client, clock=lambda: self.now)
                for group in groups.values()
                if group.pool == name
            }

        def of_azure(_place: Place[Any], name: str) -> dict[str, LiveGroup]:
            return {
                group.name: AzureGroup(
                    group.name, resource_group="/rg", session=self._arm, clock=seconds, sets=self._sets
                )
                for group in self.groups.values()
                if group.pool == name
            }

        monkeypatch.setattr(aws, "live_groups", of_aws)
        monkeypatch.setattr(azure, "live_groups", of_azure)

    def _begin(self) -> None:
        """Begin a process."""
        self.life = ProcessLife()
        self._arm = AzureStandIn(
            {group.name: group for group in self.groups.values() if group.cloud == "azure"}, self.life, lambda: self.now
        )
        self._sets = SetList("/rg", session=self._arm, clock=self._seconds)
        api = MemoryApi(self.server, self.life)

        def read(memory: DecisionMemory, _now: datetime) -> ListedObjects:
            listed = list_all(api, memory)
            if self.outdated and self._old is not None:
                listed, self.outdated = replace(self._old, memory=memory), False
            self._old = listed
            return listed

        self.passes = PassRunner(
            self.environment,
            api,
            PriceBook(),
            read=read,
            leads=self._leads,
            identity=f"{NAME}/{self._instance}",
            decision_log=DecisionLog(self._line, as_json=False, now=api.now),
            metrics=ServiceMetrics(METRICS),
            act=True,
        )

    def _leads(self) -> bool:
        if self._leads_left is not None:
            self._leads_left -= 1
        return self._leads_left is None or self._leads_left >= 0

    def _line(self, line: str) -> None:
        if not line.startswith((*TALK, "not seen")):
            self.note(f"  {line}")

    def lead_next(self, checks: int) -> None:
        """Have another process lead after some number of this one's looks at that."""
        self._leads_left = checks

    def _restart(self, *, other: bool) -> None:
        self.note("another process leads" if other else "the process was killed")
        self.passes.close()
        InlineExecutor.late.clear()
        self.kills += 1
        self._instance += other
        self._leads_left = None
        self._begin()

    # Time

    def note(self, event: str) -> None:
        """Keep an event for the report of a failure."""
        self.events.append(f"{self.now - START} {event}")

    def step(self, seconds: float) -> None:
        """Let time pass, and the service make a pass."""
        self.now += timedelta(seconds=seconds)
        for group in self.groups.values():
            group.work(self.now)
        self.cluster.step(self.now)
        for node in self.cluster.nodes():
            if is_ready(node) and not self._is_unfit(node):
                self._fit[node["metadata"]["name"]] = self.now
        late, InlineExecutor.late[:] = list(InlineExecutor.late), []
        self.grown.clear()
        self.demand = self._demand()
        for run in late:
            run()
        looks = not (late or self.outdated)
        self._pass()
        self._settle_requests(looks=looks)

    def _pass(self) -> None:
        self.passes_run += 1
        try:
            passed = self.passes.run(limit_s=0.0)
        except ApiError as error:
            self.note(f"no pass: {error}")
            passed = None
        except LeadershipLostError:
            self._restart(other=True)
            return
        except ProcessKilled:
            self._restart(other=False)
            return
        if self.life.dead:
            self._restart(other=False)
        if passed is not None:
            self.talk = [action for action in passed.evaluation.decision.actions if action.verb in TALK]
            self._check_told(passed)
            self.acted += [
                (self.now, f"{action.verb} {action.target}")
                for action in passed.evaluation.decision.actions
                if action.verb not in TALK
            ]

    # What must hold

    def fault(self, message: str) -> None:
        """Fail."""
        raise FaultError(message)

    def _demand(self) -> int:
        """Return the number of pods that want a node, and of members that are no pods yet."""
        absent = sum(job.count for job in self.cluster.jobs.values() if job.awaits_grant)
        return len([pod for pod in self.cluster.waiting() if not is_daemon(pod)]) + absent

    def total(self, pool: str) -> int:
        """Return the number of machines for which a pool was asked."""
        return sum(group.wanted for group in self.groups.values() if group.pool == pool)

    def made(self, group: CloudGroup, machine: CloudMachine) -> None:
        self.made_count[group.pool] = self.made_count.get(group.pool, 0) + 1
        fate = self.faulty.get(group.pool) or self.fate()
        self.cluster.fates[machine.node] = fate
        self.cluster.where[machine.node] = (group, machine)
        self.note(f"{group.name} makes {machine.node}: {fate_words(fate)}")

    def fate(self) -> MachineFate:
        """Return what becomes of a healthy machine."""
        register = timedelta(seconds=self.chance.choice((40, 90, 180, 300)))
        ready = register + timedelta(seconds=self.chance.choice((10, 30, 60)))
        return MachineFate(
            registers=register,
            ready=ready,
            devices=ready + timedelta(seconds=self.chance.choice((0, 10, 60))),
            preflight=ready + timedelta(seconds=self.chance.choice((20, 60, 120))),
        )

    def ended(self, group: CloudGroup, machine: CloudMachine) -> None:
        self.cluster.where.pop(machine.node, None)
        self.note(f"{group.name} ends {machine.node}")

    def has_work(self, machine: CloudMachine) -> bool:
        return any(map(is_work, self.cluster.on(machine.node)))

    def resized(self, group: CloudGroup, count: int) -> None:
        self.note(f"the autoscaler sets {group.name} from {group.wanted} to {count}")
        if count < group.wanted:
            there = len(group.counted)
            if count < there:
                self.fault(f"{group.name} is set to {count} with {there} machines: its cloud would choose")
            return
        self.grown[group.name] = self.grown.get(group.name, 0) + count - group.wanted
        pool = self.environment.pools[group.pool]
        failed, never = (
            len(group.counted) - len(group.standing),
            sum(len(other.counted) - len(other.standing) for other in self.groups.values()),
        )
        after = self.total(group.pool) - group.wanted + count
        if count - failed > group.max or after - never > pool.max:
            self.fault(f"{group.name} is set to {count}, {after} in its pool, and at most {pool.max} may be")
        if self.environment.max_nodes is not None and self.now - self._set_by_hand > VISIBLE:
            every = sum(other.wanted for other in self.groups.values()) - group.wanted + count - never
            if every > self.environment.max_nodes:
                self.fault(f"{every} machines are asked for, and at most {self.environment.max_nodes} may be")
        least = sum(max(self._min(name), pool.spare) for name, pool in self.environment.pools.items())
        if sum(self.grown.values()) > self.demand + least:
            self.fault(f"{self.grown} for {self.demand} pods")
        fresh = sum(self._is_coming(other) for other in group.standing) + count - len(group.counted)
        if fresh > self.demand + max(self._min(group.pool), pool.spare):
            self.fault(f"{fresh} machines of {group.name} are coming for {self.demand} pods")

    def refused_end(self, group: CloudGroup, machines: Sequence[str]) -> None:
        for name in machines:
            key = f"{group.name}/{name}"
            self._in_vain[key] = self._in_vain.get(key, 0) + 1
            if self._in_vain[key] > VAIN:
                self.fault(f"the end of {key} is refused, and asked for again and again")

    def set_by_hand(self) -> None:
        """Note that somebody has set a size, which a request that is under way cannot know."""
        self._set_by_hand = self.now

    def _is_coming(self, machine: CloudMachine) -> bool:
        late = self.now - machine.made > timedelta(minutes=14)
        return not late and self.cluster.node_path(machine.node) not in self.server.objects

    def _min(self, pool: str) -> int:
        by_hand = sum(group.least for group in self.groups.values() if group.pool == pool)
        return max(self.environment.pools[pool].min, by_hand)

    def asked_to_end(self, group: CloudGroup, machines: Sequence[CloudMachine]) -> None:
        for machine in machines:
            node = self.server.objects.get(self.cluster.node_path(machine.node))
            pods = self.cluster.on(machine.node)
            self.note(f"the autoscaler ends {machine.node} of {group.name}")
            if any(map(is_work, pods)):
                self.fault(f"{machine.node} is ended with work on it")
            if node is None:
                continue
            annotations = node["metadata"].get("annotations") or {}
            cordoned = node["spec"].get("unschedulable")
            if annotations.get(KEEP) or (cordoned and SCALE_IN not in annotations):
                self.fault(f"{machine.node} is ended, and somebody keeps it")
            if is_ready(node) and [pod for pod in pods if not is_daemon(pod)]:
                self.fault(f"{machine.node} is ended with pods on it")
            short = self.now - self._fit.get(machine.node, START - PATIENCE) < PATIENCE < self.now - self.jumped
            if short and SCALE_IN not in annotations:
                self.fault(f"{machine.node} is ended, and was fit for pods a moment ago")
            useful = is_ready(node) and not self._is_unfit(node)
            pool = self.environment.pools[group.pool]
            if useful and machine.ending is None and self.total(group.pool) - 1 < pool.min:
                self.fault(f"{machine.node} is ended, and {group.pool} has no more than its minimum")

    def _is_unfit(self, node: Object) -> bool:
        taints = node["spec"].get("taints") or ()
        return any(taint["key"].startswith(("longhaul.dev/", "node.kubernetes.io/")) for taint in taints)

    def _evicted(self, pod: Object) -> None:
        self.note(f"{pod['metadata']['name']} is evicted")
        if is_work(pod):
            self.fault(f"{pod['metadata']['name']} is evicted, which is work")
        self.cluster.delete_pod(pod)

    def _check_told(self, passed: PassResult) -> None:
        """Every pod that waits has a place, or somebody is told why not."""
        decision = passed.evaluation.decision
        known = {name for placed in decision.placed for name in placed.pods}
        for action in decision.actions:
            if action.verb is Verb.TELL:
                known |= {*action.pods, action.target}
        for pod in filter(is_pending, passed.evaluation.listed.pods):
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            if name not in known:
                self.fault(f"{name} waits, and nobody is told why")

    def _settle_requests(self, *, looks: bool) -> None:
        """Make the pods of requests that were granted; ``looks`` is true for a look whether there is room for all of
        them."""
        for item in self.server.kind(REQUESTS):
            job = self.cluster.jobs.get(item["metadata"]["name"])
            conditions = (item.get("status") or {}).get("conditions") or ()
            granted = any(state["type"] == "Provisioned" and state["status"] == "True" for state in conditions)
            if job and job.awaits_grant and granted:
                self.note(f"{job.name} is granted")
                if looks:
                    self._check_grant(job.count, job.spec)
                job.awaits_grant = False

    def _check_grant(self, count: int, spec: Object) -> None:
        pod = {"metadata": {"name": "member", "labels": {}}, "spec": spec, "status": {}}
        room = 0
        for node in self.cluster.nodes():
            on: list[Object] = []
            while room + len(on) < count and self.cluster.fits(pod, node, besides=on):
                on.append(pod)
            room += len(on)
        if room < count:
            self.fault(f"a gang of {count} is granted with room for {room}")

    def takers(self, pod: Object, count: int = 1) -> list[str]:
        """Return the pools whose new machines take so many equal pods, as far as they and all limits allow."""
        takers = []
        every = sum(group.wanted for group in self.groups.values())
        for name, pool in self.environment.pools.items():
            node = self.cluster.new_node(name)
            on: list[Object] = []
            while len(on) < count and self.cluster.fits(pod, node, besides=on):
                on.append(pod)
            left = pool.max - self.total(name)
            if self.environment.max_nodes is not None:
                left = min(left, self.environment.max_nodes - every)
            if on and left * len(on) >= count and name not in self.faulty:
                takers.append(name)
        return takers

    def unserved(self) -> Iterable[str]:
        """Yield a sentence for each pod, and each gang, that waits although a pool can take it."""
        gangs: dict[str, list[Object]] = {}
        for pod in self.cluster.waiting():
            if not is_daemon(pod) and not is_over(pod):
                job = self.cluster.jobs[pod["metadata"]["labels"]["job"]]
                gangs.setdefault(job.name if job.gang else pod["metadata"]["name"], []).append(pod)
        for name, pods in gangs.items():
            takers = self.takers(pods[0], len(pods))
            if takers:
                yield f"{name} waits although {' and '.join(takers)} can take it"
        for job in self.cluster.jobs.values():
            if job.awaits_grant:
                pod = {"metadata": {"name": job.name, "labels": {}}, "spec": job.spec, "status": {}}
                takers = self.takers(pod, job.count)
                if takers:
                    yield f"request {job.name} waits although {' and '.join(takers)} can take it"

    def report(self) -> str:
        """Return the last events, and the state of everything."""
        lines = [f"seed {self.seed}", *self.events]
        lines += [f"  {action.verb} {action.target}: {action.message}" for action in self.talk]
        for group in self.groups.values():
            lines.append(f"{group.name}: wanted {group.wanted} of {group.max}, {[m.node for m in group.counted]}")
        for node in self.cluster.nodes():
            name = node["metadata"]["name"]
            pods = [pod["metadata"]["name"] for pod in self.cluster.on(name) if not is_daemon(pod)]
            taints = [taint["key"] for taint in node["spec"].get("taints") or ()]
            cordon = "cordoned" if node["spec"].get("unschedulable") else ""
            lines.append(f"{name}: ready {is_ready(node)} {cordon} {taints} {pods}")
        lines += [f"waits: {pod['metadata']['name']}" for pod in self.cluster.waiting()]
        return "\n".join(lines)
