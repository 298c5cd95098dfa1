"""Drains and rolls with a real API server: its versions, evictions, disruption budgets, leases and watches. Machines
and their kubelets are stand-ins."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from clouds.base.live_groups import GroupState, Life, LiveMachine
from contract.annotations import CHECKPOINT
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.drain import cordon, evict_all, pods_on
from contract.kubernetes.lease import LEASES
from lab import tools
from longhaul.cluster.api_access import kubeconfig
from longhaul.cluster.locks import pool_lock
from longhaul.roll.events import Event, RollEventKind
from longhaul.roll.loop import Roll, RollSettings
from longhaul.terminal.exits import CommandError
from tests.support.api_server import ApiServer, api_server, eventually

pytestmark = pytest.mark.engine

TOOLS = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]
TEAM = "team"


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    binaries = tools.ensure(TOOLS, log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    folder = tmp_path_factory.mktemp("cluster")
    with api_server(folder, tools=binaries, services=IPv4Network("10.79.0.0/17")) as server:
        server.start_controllers()
        server.open_namespace(TEAM)
        yield server


@pytest.fixture(name="api")
def _api(server: ApiServer) -> Iterator[Api]:
    api = _client(server)
    yield api
    server.kubectl("delete", "pods,poddisruptionbudgets", "--all", f"--namespace={TEAM}", "--force", "--grace-period=0")
    server.kubectl("delete", "nodes", "--all")


def _client(server: ApiServer) -> Api:
    user = json.loads(server.kubeconfig.read_text())["users"][0]["user"]
    pem = (server.folder / user["client-certificate"]).read_text()
    issuer = (server.folder / "ca.crt").read_text()
    identity = {"certificate": pem, "key": "", "issuer": issuer}
    url = f"https://127.0.0.1:{server.port}"
    return Api.of(kubeconfig(name="test", server=url, server_name=None, identity=identity))


def node(api: Api, name: str) -> None:
    """Make a node that is ready, as its kubelet would report it."""
    metadata = {"name": name, "labels": {"longhaul.dev/pool": "cpu"}}
    api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "posts ready status"}
    moment = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    condition = {**ready, "lastHeartbeatTime": moment, "lastTransitionTime": moment}
    api.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [condition]}})
    # The controllers would remove this taint from a ready node; they are not tested here.
    api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


def pod(api: Api, name: str, on: str, **labels: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": TEAM, "labels": labels},
        "spec": {
            "nodeName": on,
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "main", "image": "none"}],
        },
    }
    api.post(f"/api/v1/namespaces/{TEAM}/pods", body)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    # A budget does not count a pod that never ran.
    api.patch(f"/api/v1/namespaces/{TEAM}/pods/{name}/status", {"status": status})


@contextmanager
def kubelets(api: Api) -> Iterator[None]:
    """Delete pods that are being evicted, as the kubelet of their node would."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.1):
            for item in api.items("/api/v1/pods"):
                metadata = item["metadata"]
                if "deletionTimestamp" in metadata:
                    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
                    api.send("DELETE", path, body={"gracePeriodSeconds": 0, "kind": "DeleteOptions"})

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


def test_a_node_is_drained(api: Api) -> None:
    node(api, "a")
    pod(api, "one", "a")
    pod(api, "two", "a")
    assert cordon(api, api.get("/api/v1/nodes/a"), annotations={"why": "test"})
    with kubelets(api):
        eventually(lambda: not evict_all(api, pods_on(api, "a")), what="an empty node")
    assert pods_on(api, "a") == []


def test_a_disruption_budget_holds_a_drain_back(api: Api) -> None:
    node(api, "a")
    pod(api, "held", "a", app="held")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "held"}}}
    budgets = f"/apis/policy/v1/namespaces/{TEAM}/poddisruptionbudgets"
    api.post(
        budgets, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "held"}, "spec": spec}
    )
    (refusal,) = evict_all(api, pods_on(api, "a")).values()
    assert "disruption budget" in refusal
    assert [found.leaving for found in pods_on(api, "a")] == [False]


def test_a_cordon_of_what_was_changed_meanwhile_is_refused(api: Api) -> None:
    node(api, "a")
    seen = api.get("/api/v1/nodes/a")
    api.patch("/api/v1/nodes/a", {"spec": {"unschedulable": True}})
    assert cordon(api, seen, annotations={"why": "roll"}) is False
    assert "why" not in api.get("/api/v1/nodes/a")["metadata"].get("annotations", {})


def test_only_the_node_that_was_meant_is_deleted(api: Api) -> None:
    node(api, "a")
    api.delete("/api/v1/nodes/a", uid="another")
    assert api.find("/api/v1/nodes/a") is not None
    api.delete("/api/v1/nodes/a", uid=api.get("/api/v1/nodes/a")["metadata"]["uid"])
    assert api.find("/api/v1/nodes/a") is None


def test_lists_come_page_by_page(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contract.kubernetes.api.PAGE", 2)
    for name in "abcde":
        node(api, name)
    assert [item["metadata"]["name"] for item in api.items("/api/v1/nodes")] == list("abcde")


def test_a_refusal_says_what_the_api_says(api: Api) -> None:
    with pytest.raises(ApiError, match='nodes "nobody" not found') as refused:
        api.get("/api/v1/nodes/nobody")
    assert (refused.value.status, refused.value.passing) == (404, False)


def test_no_answer_is_passing(server: ApiServer) -> None:
    api = _client(server)
    api.access = replace(api.access, port=1)
    with pytest.raises(ApiError, match="does not answer") as silent:
        api.get("/api/v1/nodes")
    assert silent.value.passing


def test_a_pool_is_rolled_by_one_at_a_time(api: Api) -> None:
    with pool_lock(api, "cpu") as held:
        assert held()
        with pytest.raises(CommandError, match=r"pool cpu is being rolled by .*, process \d+:"), pool_lock(api, "cpu"):
            pass
        with pool_lock(api, "gpu"):
            pass
    with pool_lock(api, "cpu") as again:
        assert again()
    assert api.get(f"{LEASES}/longhaul-roll-cpu")["spec"].get("holderIdentity", "") == ""


def test_a_pod_announces_its_checkpoint_as_the_documentation_says(
    api: Api, server: ApiServer, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (root / "docs" / "rolling.md").read_text(encoding="utf-8")
    code, rights = (text.split(f"```{language}\n")[1].split("```")[0] for language in ("python", "yaml"))
    server.kubectl("create", "serviceaccount", "training", f"--namespace={TEAM}")
    server.kubectl("apply", "-f", "-", stdin=rights)
    node(api, "a")
    pod(api, "job", "a")
    account = {
        "namespace": TEAM,
        "token": server.kubectl("create", "token", "training", f"--namespace={TEAM}").strip(),
        "ca.crt": (server.folder / "ca.crt").read_text(),
    }
    for name, content in account.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    monkeypatch.setenv("POD_NAME", "job")
    names: dict[str, Any] = {}
    exec(compile(code, "docs/rolling.md", "exec"), names)  # the example itself is what is tried
    names["ACCOUNT"] = tmp_path
    before = api.now()
    names["announce_checkpoint"]()
    (found,) = pods_on(api, "a")
    assert found.checkpointed_at is not None
    assert abs(found.checkpointed_at - before) < timedelta(seconds=30)


class Instances:
    """A group whose instances are nodes of the real API."""

    in_place = False
    looks_apart_s = 0.0

    def __init__(self, api: Api) -> None:
        self.api = api
        self.machines = [self._joined(name, current=False) for name in ("a", "b")]

    def _joined(self, name: str, *, current: bool) -> LiveMachine:
        node(self.api, name)
        return LiveMachine(id=name, node=name, current=current)

    def look(self) -> GroupState:
        return GroupState(target="v2", wanted=2, machines=tuple(self.machines))

    def replace(self, machine: LiveMachine) -> None:
        found = self.api.get(f"/api/v1/nodes/{machine.node}")
        assert found["metadata"]["annotations"]["longhaul.dev/roll-stage"] == "replacing"
        self.api.delete(f"/api/v1/nodes/{machine.node}", uid=found["metadata"]["uid"])
        self.machines = [replace(one, life=Life.LEAVING) if one is machine else one for one in self.machines]
        self.machines = [one for one in self.machines if one.life is not Life.LEAVING]
        self.machines.append(self._joined(f"new-{machine.node}", current=True))

    def rebuild(self, machine: LiveMachine) -> None:
        raise NotImplementedError

    def remake(self, machine: LiveMachine) -> None:
        raise NotImplementedError


def test_a_pool_is_rolled(api: Api) -> None:
    cloud = Instances(api)
    pod(api, "job", "a")
    events: list[Event] = []

    def tell(event: Event) -> None:
        events.append(event)
        if event.kind is RollEventKind.WAITING:
            announced = {"metadata": {"annotations": {CHECKPOINT: api.now().isoformat()}}}
            api.patch(f"/api/v1/namespaces/{TEAM}/pods/job", announced)

    settings = RollSettings(
        at_once=lambda _total: 1,
        deadline=None,
        within_s=60,
        budget=0,
        pool_label="longhaul.dev/pool=cpu",
        taints=frozenset(),
    )
    roll = Roll(cloud=cloud, api=api, settings=settings, tell=tell, wait=lambda _seconds: time.sleep(0.2))
    with kubelets(api):
        roll.run()
    assert [machine.node for machine in cloud.machines] == ["new-b", "new-a"]
    assert [event.node for event in events if event.kind is RollEventKind.WAITING] == ["a"]
    kinds: list[Any] = [event.kind for event in events if event.node == "a"]
    assert kinds == [
        RollEventKind.CORDONED,
        RollEventKind.WAITING,
        RollEventKind.RELEASED,
        RollEventKind.EMPTYING,
        RollEventKind.REPLACING,
    ]
