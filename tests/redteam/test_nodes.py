"""Root on a node, with its kubelet's certificate, at a real API server: what it tries to write beyond what a kubelet
writes. Every attack succeeds without the policies (:func:`_before`), and kubelets' own requests succeed with it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from components.model import Environment, plan
from components.objects.node_permissions import (
    ALLOWED,
    ANNOTATIONS,
    OBJECTS,
    REFUSAL,
    UNLISTED,
    objects_policy,
    unlisted_policy,
)
from contract.annotations import KEEP
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.users import CLIENT_SIGNER, NODE_USER, NODES_GROUP, SERVING_SIGNER
from longhaul.machine.quarantine.node import NodeRemoval, remove_node
from tests.redteam.node_attacks import attacks, everything
from tests.redteam.node_requests import (
    CLAIM,
    COUNTED,
    CSI_NODES,
    FINALIZER,
    LEASES,
    NEW,
    NODE,
    NODES,
    OTHER,
    PODS,
    POWERFUL,
    REQUESTS,
    STRATEGIC,
    WEB,
    NodeRequest,
    NodeWorld,
    certificate_request,
    csi_node,
    event,
    lease,
    node,
    on,
    patch,
    pod_request,
    registers,
)
from tests.support.api_server import ApiServer, eventually
from tests.support.policies import post_policy
from tests.support.teams import api_of, pod

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module", name="world")
def _world(guarded: ApiServer, environment: Environment) -> NodeWorld:
    admin = guarded.client(timeout_s=30.0)
    nodes = {name: api_of(guarded, node_user(guarded, name)) for name in (NODE, OTHER, NEW)}
    nodes[POWERFUL] = api_of(guarded, node_user(guarded, NODE, POWERFUL))
    guarded.kubectl("create", "clusterrolebinding", POWERFUL, "--clusterrole=cluster-admin", f"--group={POWERFUL}")
    addresses = plan(environment)
    site = next(iter(addresses.sites.values()))
    uid = str(admin.post(NODES, node(NODE))["metadata"]["uid"])
    admin.patch(f"{NODES}/{NODE}", {"spec": {"unschedulable": True}})
    admin.post(NODES, node(OTHER))
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    admin.post(
        CLAIM.rpartition("/")[0],
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {**claim, "volumeName": "data", "storageClassName": ""},
        },
    )
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    account = admin.get("/api/v1/namespaces/default/serviceaccounts/default")
    made = admin.post(PODS, on(pod("web", nodeName=NODE, volumes=volumes), finalizers=[COUNTED]))
    slice_ = {
        "driver": "gpu.example",
        "nodeName": NODE,
        "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
    }
    admin.post(
        "/apis/resource.k8s.io/v1/resourceslices",
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "old"}, "spec": slice_},
    )
    nodes[NODE].post(LEASES, lease(uid))
    nodes[NODE].post(CSI_NODES, csi_node(uid))
    strangers = (addresses.dns_service, site.subnet("api")[10], addresses.laptops[9], "192.0.2.7", "2001:db8::7")
    return NodeWorld(
        admin=admin,
        nodes=nodes,
        uid=uid,
        pod_uid=str(made["metadata"]["uid"]),
        account_uid=str(account["metadata"]["uid"]),
        pod_address=str(site.pod_range(0)[3]),
        node_address=str(site.node_address(0)),
        strangers=tuple(map(str, strangers)),
    )


def node_user(server: ApiServer, name: str, *more: str) -> Any:
    return server.user(f"{NODE_USER}{name}", organizations=(NODES_GROUP, *more))


def requests(world: NodeWorld) -> dict[str, NodeRequest]:
    """Return every request that kubelets, kube-proxy and our programs on nodes make, by its name."""
    mine = f"{NODES}/{NODE}"
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    addresses = [
        {"type": "InternalIP", "address": world.node_address},
        {"type": "Hostname", "address": NODE},
    ]
    running = {"phase": "Running", "podIP": world.pod_address, "podIPs": [{"ip": world.pod_address}]}
    host = {"hostIP": world.node_address, "hostIPs": [{"ip": world.node_address}]}
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": world.pod_uid}
    notes = {"metadata": {"annotations": dict.fromkeys(ANNOTATIONS, "a")}}
    reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    review = {"user": "ada", "resourceAttributes": {"verb": "get", "resource": "nodes", "subresource": "proxy"}}
    regarding = {"regarding": {"kind": "Node", "name": NODE}, "reason": "Starting", "action": "a", "type": "Normal"}
    posts: dict[str, tuple[str, Any]] = {
        "event": ("/api/v1/namespaces/default/events", event()),
        "kube-proxy's event": (
            "/apis/events.k8s.io/v1/namespaces/default/events",
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": "b", "namespace": "default"},
                "eventTime": "2030-01-01T00:00:00.000000Z",
                "reportingController": "kube-proxy",
                "reportingInstance": "kube-proxy-a",
                **regarding,
            },
        ),
        "eviction": (
            f"{WEB}/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web", "namespace": "default"}},
        ),
        "token": (
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"audiences": [], "boundObjectRef": bound},
            },
        ),
        "client certificate": (REQUESTS, certificate_request(CLIENT_SIGNER)),
        "serving certificate": (REQUESTS, certificate_request(SERVING_SIGNER)),
        "review": (
            reviews,
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": review},
        ),
    }
    return {
        "registers": registers(node(NEW, status={"addresses": addresses, "conditions": [ready]})),
        "registers cordoned": registers(node(NEW, spec={"unschedulable": True})),
        "registers again": NodeRequest(method="POST", path=NODES, body=node(NODE)),
        "notes": patch(f"{mine}/status", notes),
        "notes of its Node": patch(mine, notes),
        "status": replace(
            patch(f"{mine}/status", {"status": {"conditions": [ready], "addresses": addresses}}), kind=STRATEGIC
        ),
        "cordon": patch(f"{NODES}/{NODE}", {"spec": {"unschedulable": True}}),
        "lease": patch(f"{LEASES}/{NODE}", lease(world.uid)),
        "CSINode": patch(f"{CSI_NODES}/{NODE}", csi_node(world.uid)),
        "end of its CSINode": NodeRequest(method="DELETE", path=f"{CSI_NODES}/{NODE}", body={}),
        "pod's status": replace(patch(f"{WEB}/status", {"status": {**running, **host}}), kind=STRATEGIC),
        "end of a pod": NodeRequest(
            method="DELETE",
            path=WEB,
            body={"gracePeriodSeconds": 0, "preconditions": {"uid": world.pod_uid}},
        ),
        "resized volume": replace(
            patch(f"{CLAIM}/status", {"status": {"capacity": {"storage": "2Gi"}}}), kind=STRATEGIC
        ),
        "pod's certificate": pod_request(world),
        "earlier drivers": NodeRequest(
            method="DELETE",
            path="/apis/resource.k8s.io/v1/resourceslices",
            body={},
            query={"fieldSelector": f"spec.nodeName={NODE}"},
        ),
        **{name: NodeRequest(method="POST", path=path, body=body) for name, (path, body) in posts.items()},
    }


@pytest.fixture(scope="module", name="before")
def _before(world: NodeWorld) -> dict[str, str]:
    """Return the answer to each attack, by its name, without the policy."""
    return {name: attempt.send(world) for name, attempt in attacks(world).items()}


@pytest.fixture(scope="module", name="guarded_world")
def _guarded_world(world: NodeWorld, before: dict[str, str], environment: Environment) -> NodeWorld:
    """Return the world once the policies are in force."""
    assert before
    post_policy(world.admin.post, UNLISTED, unlisted_policy(), kind="Validating")
    post_policy(world.admin.post, OBJECTS, objects_policy(plan(environment)), kind="Validating")
    for attack in (attacks(world)[name] for name in ("mirror pod", "cordon")):
        eventually(lambda attack=attack: attack.refusal in attack.send(world), what="the policies are in force")
    return world


def test_each_attack_succeeds_without_the_policy(before: dict[str, str]) -> None:
    assert {name: answer for name, answer in before.items() if answer} == {}


def test_and_each_is_refused_with_it(guarded_world: NodeWorld) -> None:
    answers = {name: (attempt, attempt.send(guarded_world)) for name, attempt in attacks(guarded_world).items()}
    assert {name: answer for name, (attempt, answer) in answers.items() if attempt.refusal not in answer} == {}


def test_what_kubelets_write_is_not_refused(guarded_world: NodeWorld) -> None:
    answers = {name: attempt.send(guarded_world) for name, attempt in requests(guarded_world).items()}
    assert answers.pop("registers again") == 'nodes "i-1" already exists'
    assert {name: answer for name, answer in answers.items() if answer} == {}


def test_others_write_what_nodes_may_not(guarded_world: NodeWorld) -> None:
    """The policy looks at requests of nodes alone, also of kinds that it lists for them."""
    admin, kept = guarded_world.admin, [COUNTED, FINALIZER]
    admin.patch(WEB, {"metadata": {"finalizers": kept, "annotations": {"a": "b"}}})
    admin.patch(f"{NODES}/{NODE}", {"metadata": {"annotations": {KEEP: "true"}}})
    status = requests(guarded_world)["pod's status"]
    assert status.send(guarded_world) == "", "what others have written is no change of the node's"
    assert admin.get(WEB)["metadata"]["finalizers"] == kept


def test_every_kind_of_the_list_is_tried(world: NodeWorld) -> None:
    paths = " ".join(attempt.path for attempt in requests(world).values())
    resources = [resource.partition(".")[0] for resource in ALLOWED]
    assert [resource for resource in resources if resource.partition("/")[0] not in paths] == []


def test_a_role_for_everything_gives_a_node_what_is_listed(guarded_world: NodeWorld) -> None:
    """Every kind that the API has an object of, with each verb."""
    answers = {what: attempt.send(guarded_world) for what, attempt in everything(guarded_world.admin).items()}
    done = {(operation, resource) for (operation, resource), answer in answers.items() if not answer}
    listed = {(operation, resource) for resource, operations in ALLOWED.items() for operation in operations}
    unlisted = {resource for _, resource in done - listed}
    # Kubernetes shows policies and bindings to no policy: whoever may write those can take them away.
    assert {resource for resource in unlisted if not resource.endswith(".admissionregistration.k8s.io")} == set()
    assert sum(REFUSAL in answer for answer in answers.values()) > 40
    for path, what in ((f"{NODES}/{NODE}/proxy/", "nodes/proxy"), (f"{WEB}/exec", "pods/exec")):
        with pytest.raises(ApiError, match=f"{REFUSAL} connect {what}|unexpected pod subresource"):
            guarded_world.nodes[POWERFUL].get(path, command="a")


def test_finalizers_keep_a_pod_s_token_and_its_node_until_quarantine_removes_them(world: NodeWorld) -> None:
    """Without them a token ends as soon as API servers forget that it was valid."""
    admin, account = world.admin, "/api/v1/namespaces/default/serviceaccounts/default/token"
    kept = admin.post(PODS, on(pod("kept", nodeName=OTHER), finalizers=[FINALIZER]))
    admin.patch(f"{NODES}/{OTHER}", {"metadata": {"finalizers": [FINALIZER]}})
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "kept", "uid": kept["metadata"]["uid"]}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"boundObjectRef": bound}}
    used, unused = (admin.post(account, request)["status"]["token"] for _ in range(2))
    for path in (f"{PODS}/kept", f"{NODES}/{OTHER}"):
        admin.delete(path, grace_s=0)
        assert admin.get(path)["metadata"]["finalizers"] == [FINALIZER]
    assert is_valid(admin, used)
    removal = remove_node(admin, OTHER, pause=lambda _: None)
    assert removal == NodeRemoval(pods=1, finalizers=(f"{FINALIZER} of {OTHER}", f"{FINALIZER} of kept"))
    started = time.monotonic()
    eventually(lambda: not is_valid(admin, unused), what="a token that nobody has seen is void")
    assert time.monotonic() - started < 5
    eventually(lambda: not is_valid(admin, used), what="a token that was seen is void")
    assert time.monotonic() - started < 15


def is_valid(admin: Api, token: str) -> bool:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    return bool(admin.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"].get("authenticated"))
