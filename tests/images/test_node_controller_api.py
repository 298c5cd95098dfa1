"""The node controller at a real API server: what kubelets, impostors and ended machines get."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from controller import judge, nodes
from controller.election import Election
from controller.inventory import State

from lab import tools
from tests.images import kubelets
from tests.images.api_server import EVENTS, MAIN, Machines
from tests.images.fakes import FakeVault
from tests.images.kubelets import SERVING
from tests.images.machines import Control, eventually
from tests.images.node_world import RACK_TOKEN, REQUESTS, Caller, World

pytestmark = pytest.mark.lab


@pytest.fixture(name="world", scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("machines")
    binaries = tools.ensure(["etcd", "kubernetes"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    with FakeVault() as vault, pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "SETTLE_S", 1.0)
        control = Control(folder, vault, members=1, tools=binaries)
        try:
            for place in control.places.values():
                place.write()
            machines = Machines(control, folder)
            machines.start_store(MAIN)
            machines.start_store(EVENTS)
            machines.start_api()
            eventually(machines.api_ready, what="the API server is ready")
            world = World(machines, folder)
            world.prepare()
            controller = world.controller()
            controller.start()
            yield world
            controller.stop()
            assert world.failed == []
        finally:
            control.close()


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
    # And once more, with what it has: a renewal.
    world.granted(kubelet, kubelets.document(kubelets.csr(name, kubelets.key())))


def test_a_machine_that_does_not_exist_is_refused(world: World) -> None:
    document = kubelets.document(kubelets.csr("i-0badbad1", kubelets.key()))
    assert world.refused(world.pool, document) == "UnknownMachine"


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
    other = kubelets.document(kubelets.csr(name, kubelets.key()))
    assert world.refused(world.pool, other) == "NameIsTaken"
    world.register(name, "use1", caller=kubelet)
    world.lease(name, caller=kubelet)
    other = kubelets.document(kubelets.csr(name, kubelets.key()))
    assert world.refused(world.pool, other) == "NameIsLive"


def test_a_foreign_address_is_refused(world: World) -> None:
    name = world.cloud.put("i-00000004", "10.65.128.7")
    kubelet = world.join(name)
    asked = kubelets.csr(name, kubelets.key(), dns_names=[name], addresses=["10.65.128.7", "10.64.3.5"])
    assert world.refused(kubelet, kubelets.document(asked, signer=SERVING)) == "ForeignAddress"


def test_a_token_is_worth_nothing_but_a_request(world: World) -> None:
    for path in ("/api/v1/nodes", "/api/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/default/pods"):
        assert world.pool.ask("GET", path)[0] == 403


def test_a_rack_s_token_is_gone_once_it_was_used(world: World) -> None:
    secret = "/api/v1/namespaces/kube-system/secrets/bootstrap-token-rackid"
    rack = Caller(world.base, world.trust, token=RACK_TOKEN)
    world.cloud.put("i-00000005", "10.65.128.8")
    other = kubelets.document(kubelets.csr("i-00000005", kubelets.key()))
    assert world.refused(rack, other) == "WrongName"
    kubelet = world.join("lab-node-0", caller=rack)
    assert world.admin.ask("GET", secret)[0] == 200
    asked = kubelets.csr("lab-node-0", kubelets.key(), dns_names=["lab-node-0"], addresses=["10.66.32.10"])
    world.granted(kubelet, kubelets.document(asked, signer=SERVING))
    eventually(lambda: world.admin.ask("GET", secret)[0] == 404, what="the token is deleted")


def test_the_node_of_a_machine_that_has_ended_goes_and_no_other(world: World) -> None:
    name, stays = (world.cloud.put(f"i-0000001{index}", f"10.65.128.2{index}") for index in range(2))
    for each in (name, stays):
        world.register(each, "use1", caller=world.join(each))
    # A pod that is bound to it and nobody evicts: there is no controller-manager here.
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    world.admin.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    spec = {"nodeName": name, "containers": [{"name": "a", "image": "a"}], "terminationGracePeriodSeconds": 0}
    world.admin.post(
        "/api/v1/namespaces/default/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec},
    )
    world.cloud.put(name, "10.65.128.20", state=State.ENDED)
    # Sooner than the next listing.
    world.lists["use1"].want(name)

    def service(node: str) -> list[tuple[str, str]]:
        taints = (world.node(node) or {"spec": {}})["spec"].get("taints", [])
        return [(each["value"], each["effect"]) for each in taints if each["key"] == nodes.TAINT["key"]]

    eventually(lambda: service(name) == [("nodeshutdown", "NoExecute")], what="it is out of service")
    assert world.admin.ask("DELETE", "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=0")[0] == 200
    eventually(lambda: world.node(name) is None, what="the Node is gone")
    assert world.node(stays) is not None
    assert service(stays) == []

    def told() -> set[str]:
        _, events = world.admin.ask("GET", "/api/v1/namespaces/default/events")
        return {event["reason"] for event in events["items"] if event["involvedObject"]["name"] == name}

    eventually(lambda: {"MachineGone", "NodeRemoved"} <= told(), what="Events say so")


def test_one_leads_until_it_lets_go(world: World) -> None:
    first, second = (Election(world.api, identity=name) for name in ("one", "two"))
    assert first.attempt()
    assert not second.attempt()
    assert first.attempt()
    first.release()
    assert second.attempt()
    assert not first.attempt()
    second.release()


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
