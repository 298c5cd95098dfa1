"""The node controller at a real API server: its answers to kubelets, to impostors and for ended machines."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from gpu.own_node import OwnNode, by_type, tainted
from gpu.verdict import GpuVerdict, conditions
from node import interruption_watch

from clouds.base.machine_lists import Presence
from contract.annotations import GPU_BOOT
from contract.conditions import DRIVER_MISMATCH, GPU_HEALTHY, INTERRUPTION
from contract.kubernetes.election import Candidate
from contract.labels import GPU_LABEL, INTERRUPTED
from contract.object_names import NODE_CONTROLLER_LEASE
from contract.taints import INTERRUPTED_TAINT, PREFLIGHT_TAINT
from services.node_controller import node_removal
from tests.images import kubelets
from tests.images.kubelets import SERVING
from tests.images.machines import eventually
from tests.images.notices_told import Told
from tests.services.node_controller.world import HOST_TOKEN, REQUESTS, Caller, World, running

pytestmark = pytest.mark.loopback


@pytest.fixture(name="world", scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory) as world:
        yield world


def proved(node: str, *, machine: str = "") -> dict[str, Any]:
    """Return the request that the join endpoint posts for a machine; ``machine``: the one that was proved, if not
    ``node``."""
    return kubelets.noted(kubelets.document(kubelets.csr(node, kubelets.key())), machine or node)


def test_a_machine_of_the_pool_becomes_a_node(world: World) -> None:
    name = world.cloud.put("i-00000001", "10.65.128.4")
    kubelet = world.join(name)
    user = kubelet.who()
    assert user["username"] == f"system:node:{name}"
    assert "system:nodes" in user["groups"]
    world.register(name, "use1", caller=kubelet)
    own = kubelets.key()
    asked = kubelets.csr(name, own, dns_names=[name], addresses=["10.65.128.4"])
    world.granted(kubelet, kubelets.document(asked, signer=SERVING))
    # And once more with its certificate: a renewal.
    world.granted(kubelet, kubelets.document(kubelets.csr(name, kubelets.key())))


def test_a_machine_that_does_not_exist_is_refused(world: World) -> None:
    assert world.refused(world.service, proved("i-0badbad1")) == "UnknownMachine"


def test_a_machine_that_asks_as_another_is_refused(world: World) -> None:
    world.cloud.put("i-00000006", "10.65.128.9")
    assert world.refused(world.service, proved("i-00000006", machine="i-00000007")) == "WrongMachine"


def test_who_is_not_the_join_service_proves_nothing(world: World) -> None:
    world.cloud.put("i-00000008", "10.65.128.10")
    host = Caller(world.base, world.trust, token=HOST_TOKEN)
    assert world.refused(host, proved("i-00000008")) == "WrongName"
    assert world.refused(world.admin, proved("i-00000008")) == "NotAllowed"


def test_the_join_service_may_ask_and_nothing_else(world: World) -> None:
    assert world.service.who()["username"] == "longhaul:join"
    for path in (
        "/api/v1/nodes",
        "/api/v1/namespaces/kube-system/secrets",
        "/api/v1/namespaces/default/pods",
        REQUESTS,
    ):
        assert world.service.ask("GET", path)[0] == 403


def test_a_pod_is_refused_whatever_it_may_ask(world: World) -> None:
    world.cloud.put("i-00000002", "10.65.128.5")
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "pod"}}
    world.admin.post("/api/v1/namespaces/default/serviceaccounts", account)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = world.admin.post("/api/v1/namespaces/default/serviceaccounts/pod/token", review)["status"]["token"]
    pod = Caller(world.base, world.trust, token=token)
    document = kubelets.document(kubelets.csr("i-00000002", kubelets.key()))
    assert pod.ask("POST", REQUESTS, document)[0] == 403
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "pod-asks"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:node-bootstrapper"},
        "subjects": [{"kind": "ServiceAccount", "name": "pod", "namespace": "default"}],
    }
    world.admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    eventually(lambda: pod.ask("GET", REQUESTS)[0] == 200, what="the pod may ask")
    assert world.refused(pod, document) == "NotAllowed"


def test_a_name_that_somebody_lives_under_is_refused(world: World) -> None:
    name = world.cloud.put("i-00000003", "10.65.128.6")
    kubelet = world.join(name)
    assert world.refused(world.service, proved(name)) == "NameIsTaken"
    world.register(name, "use1", caller=kubelet)
    world.lease(name, caller=kubelet)
    assert world.refused(world.service, proved(name)) == "NameIsLive"


def test_a_foreign_address_is_refused(world: World) -> None:
    name = world.cloud.put("i-00000004", "10.65.128.7")
    kubelet = world.join(name)
    asked = kubelets.csr(name, kubelets.key(), dns_names=[name], addresses=["10.65.128.7", "10.64.3.5"])
    assert world.refused(kubelet, kubelets.document(asked, signer=SERVING)) == "ForeignAddress"


def test_a_token_is_worth_nothing_but_a_request(world: World) -> None:
    for path in ("/api/v1/nodes", "/api/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/default/pods"):
        assert Caller(world.base, world.trust, token=HOST_TOKEN).ask("GET", path)[0] == 403


def test_a_rack_s_token_is_gone_once_it_was_used(world: World) -> None:
    secret = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-rackid"
    host = Caller(world.base, world.trust, token=HOST_TOKEN)
    world.cloud.put("i-00000005", "10.65.128.8")
    other = kubelets.document(kubelets.csr("i-00000005", kubelets.key()))
    assert world.refused(host, other) == "WrongName"
    kubelet = world.join("lab-node-0", caller=host)
    assert world.admin.ask("GET", secret)[0] == 200
    asked = kubelets.csr("lab-node-0", kubelets.key(), dns_names=["lab-node-0"], addresses=["10.66.32.10"])
    world.granted(kubelet, kubelets.document(asked, signer=SERVING))
    eventually(lambda: world.admin.ask("GET", secret)[0] == 404, what="the token is deleted")


def test_the_node_of_a_machine_that_has_ended_goes_and_no_other(world: World) -> None:
    name, stays = (world.cloud.put(f"i-0000001{index}", f"10.65.128.2{index}") for index in range(2))
    for each in (name, stays):
        world.register(each, "use1", caller=world.join(each))
    # The pod is bound to the node and nothing evicts it: there is no controller-manager here.
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    world.admin.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    spec = {"nodeName": name, "containers": [{"name": "a", "image": "a"}], "terminationGracePeriodSeconds": 0}
    world.admin.post(
        "/api/v1/namespaces/default/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec},
    )
    world.cloud.put(name, "10.65.128.20", presence=Presence.ENDED)
    # Before the next listing.
    world.lists["use1"].want(name)

    def service(node: str) -> list[tuple[str, str]]:
        taints = (world.node(node) or {"spec": {}})["spec"].get("taints", [])
        return [(each["value"], each["effect"]) for each in taints if each["key"] == node_removal.TAINT["key"]]

    eventually(lambda: service(name) == [("nodeshutdown", "NoExecute")], what="it is out of service")
    assert world.admin.ask("DELETE", "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=0")[0] == 200
    eventually(lambda: world.node(name) is None, what="the Node is gone")
    assert world.node(stays) is not None
    assert service(stays) == []

    def told() -> set[str]:
        _, events = world.admin.ask("GET", "/api/v1/namespaces/default/events")
        return {event["reason"] for event in events["items"] if event["involvedObject"]["name"] == name}

    eventually(lambda: {"MachineGone", "NodeRemoved"} <= told(), what="Events say so")


def test_a_node_tells_of_its_gpus_and_the_controller_lifts_their_taint(world: World) -> None:
    """Uses a node's own rights: NodeRestriction decides what it may write."""
    name = world.cloud.put("i-00000020", "10.65.128.40")
    kubelet = world.join(name)
    labels = {"longhaul.dev/site": "use1", GPU_LABEL: "true"}
    taint = {"key": PREFLIGHT_TAINT, "value": "pending", "effect": "NoSchedule"}
    metadata = {"name": name, "labels": labels}
    kubelet.post(
        "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": [taint]}}
    )
    own = OwnNode(world.as_holder(world.folder / f"{name}.pem"), name)
    assert own.holders() == []

    def tell(status: str, *, boot: str) -> None:
        verdict = GpuVerdict(status=status, reason="Said", message="by a test")
        told = conditions(verdict, verdict, before=by_type(own.read()), now="2026-01-02T03:04:05Z")
        own.write(conditions=told, labels={"nvidia.com/gpu.count": "2"}, annotations={GPU_BOOT: boot})

    def held_back() -> bool:
        return tainted(own.read())

    def starts(boot: str) -> None:
        """Write the status of the whole Node with its own condition, as the kubelet does at its start."""
        node = own.read()
        node["status"]["nodeInfo"]["bootID"] = boot
        ready = {"type": "Ready", "status": "True", "reason": "x", "message": "x"}
        node["status"]["conditions"] = [*node["status"].get("conditions", []), ready]
        assert kubelet.ask("PUT", f"/api/v1/nodes/{name}/status", node)[0] == 200

    starts("one")
    tell("True", boot="one")
    eventually(lambda: not held_back(), what="the taint is lifted")
    found = own.read()
    assert found["metadata"]["labels"] == {**labels, "nvidia.com/gpu.count": "2"}
    assert {"Ready", GPU_HEALTHY, DRIVER_MISMATCH} == set(by_type(found))
    tell("False", boot="one")
    eventually(held_back, what="a finding brings it back")
    found = own.read()
    found["spec"]["taints"] = []
    assert kubelet.ask("PUT", f"/api/v1/nodes/{name}", found)[0] == 403, "a node does not lift it itself"
    tell("True", boot="one")
    eventually(lambda: not held_back(), what="the taint is lifted again")
    found = own.read()
    found["status"]["nodeInfo"]["bootID"] = "two"
    assert kubelet.ask("PUT", f"/api/v1/nodes/{name}/status", found)[0] == 200
    eventually(held_back, what="a start brings it back")

    def told() -> list[str]:
        _, events = world.admin.ask("GET", "/api/v1/namespaces/default/events")
        return [event["reason"] for event in events["items"] if event["involvedObject"]["name"] == name]

    own.say(reason="Said", message="by a test", warning=True)
    eventually(lambda: {"Said", "GpusHeldBack", "GpusSchedulable"} <= set(told()), what="Events say so")


def test_a_node_that_is_taken_back_says_so_and_is_closed_by_the_controller(world: World) -> None:
    """A node may not end its pods by a taint of its own, and the API server takes what it may say."""
    name = world.cloud.put("i-000000b1", "10.65.128.46")
    kubelet = world.join(name)
    world.register(name, "use1", caller=kubelet)
    own = OwnNode(world.as_holder(world.folder / f"{name}.pem"), name, component=interruption_watch.COMPONENT)
    found = own.read()
    found["spec"]["taints"] = [INTERRUPTED_TAINT]
    assert kubelet.ask("PUT", f"/api/v1/nodes/{name}", found)[0] == 403, "a node does not set it itself"
    told = Told()
    told.ends = "EC2 will terminate this spot instance at 2026-11-23T06:12:00Z"
    assert interruption_watch.Watcher(own, told).step()
    assert by_type(own.read())[INTERRUPTION]["message"] == told.ends

    def closed() -> bool:
        spec = own.read()["spec"]
        kept = [
            {key: one[key] for key in INTERRUPTED_TAINT} for one in spec.get("taints", []) if one["key"] == INTERRUPTED
        ]
        return bool(spec.get("unschedulable")) and kept == [INTERRUPTED_TAINT]

    eventually(closed, what="the controller closes it")


def test_one_leads_until_it_lets_go(world: World) -> None:
    first, second = (Candidate(world.api, NODE_CONTROLLER_LEASE, identity=name) for name in ("first", "second"))
    stop = threading.Event()
    with first.leading(stop) as leads:
        assert leads is not None
        assert leads()
        assert not second._is_free()
        assert second.leader == "first"
    assert second._is_free()
    with second.leading(stop) as leads:
        assert leads is not None
        assert not first._is_free()


def test_the_controller_may_do_nothing_else(world: World) -> None:
    own = Caller(world.base, world.trust, pem=world.pki / "node-controller.pem")
    assert own.who()["username"] == "longhaul:node-controller"
    for path in (
        "/api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/kube-system/secrets",
        "/api/v1/namespaces/kube-system/configmaps",
        "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ):
        assert own.ask("GET", path)[0] == 403, path
