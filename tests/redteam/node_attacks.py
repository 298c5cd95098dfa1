"""Requests by which root on a node attacks others: its kubelet makes none of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from components.objects.node_permissions import (
    ADDRESSES,
    FINALIZERS,
    METADATA,
    NOTED,
    OWNERS,
    REFUSAL,
    SIGNED,
    SMALL,
    SPEC,
    UNCORDONED,
)
from contract.annotations import KEEP, ROLL, SCALE_IN
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.users import CLIENT_SIGNER
from tests.redteam.node_requests import (
    APPLY,
    CSI_NODES,
    FINALIZER,
    JSON_PATCH,
    LEASES,
    MERGE,
    NEW,
    NODE,
    NODES,
    OTHER,
    REQUESTS,
    STRATEGIC,
    WEB,
    NodeRequest,
    NodeWorld,
    certificate_request,
    event,
    node,
    on,
    owner,
    patch,
    pod_request,
    registers,
)
from tests.support.teams import pod


def mirror_pod(world: NodeWorld) -> dict[str, Any]:
    """Return a pod that becomes an endpoint of the cluster's DNS once its status says that it is ready."""
    metadata = {
        "namespace": "kube-system",
        "labels": {"k8s-app": "kube-dns"},
        "annotations": {"kubernetes.io/config.mirror": "x"},
        "ownerReferences": [owner(world.uid, controller=True)],
    }
    return on(pod("dns", nodeName=NODE, automountServiceAccountToken=False, enableServiceLinks=False), **metadata)


def attacks(world: NodeWorld) -> dict[str, NodeRequest]:
    """Return every attack by its name."""
    mine, status = f"{NODES}/{NODE}", f"{WEB}/status"
    stays = {"metadata": {"finalizers": [FINALIZER]}}
    named = {
        "mirror pod": NodeRequest(
            method="POST",
            path="/api/v1/namespaces/kube-system/pods",
            body=mirror_pod(world),
            refusal=f"{REFUSAL} create pods",
        ),
        "counted pod": patch(status, {"metadata": {"finalizers": []}}, FINALIZERS),
        "note of a pod": patch(status, {"metadata": {"annotations": {"a": "b"}}}, f"{METADATA}: annotations"),
        "finalizer at registration": registers(node(NEW, finalizers=[FINALIZER]), FINALIZERS),
        "owner at registration": registers(node(NEW, ownerReferences=[owner(world.uid)]), OWNERS),
        "note at registration": registers(node(NEW, annotations={KEEP: "true"}), f"{NOTED}: {KEEP}"),
        "range at registration": registers(node(NEW, spec={"podCIDR": "10.0.0.0/24"}), f"{SPEC}: podCIDR"),
        "range": patch(mine, {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}, f"{SPEC}: podCIDR"),
        "cordon": patch(mine, {"spec": {"unschedulable": None}}, UNCORDONED),
        "finalizer of a lease": patch(f"{LEASES}/{NODE}", stays, FINALIZERS),
        "finalizer of its CSINode": patch(f"{CSI_NODES}/{NODE}", stays, FINALIZERS),
        "finalizer of an event": NodeRequest(
            method="POST", path="/api/v1/namespaces/default/events", body=event(finalizers=["a/b"]), refusal=FINALIZERS
        ),
        "finalizer of a request": NodeRequest(
            method="POST",
            path=REQUESTS,
            body=certificate_request(CLIENT_SIGNER, finalizers=["a/b"]),
            refusal=FINALIZERS,
        ),
        "finalizer of a pod's request": pod_request(world, finalizers=["a/b"], refusal=FINALIZERS),
        "owner of a pod's request": pod_request(world, ownerReferences=[owner(world.uid)], refusal=OWNERS),
        "another's lease": patch(f"{LEASES}/{NODE}", _owned(world.uid, name=OTHER), OWNERS),
        "lease that blocks": patch(f"{LEASES}/{NODE}", _owned(world.uid, blockOwnerDeletion=True), OWNERS),
        "a person's certificate": NodeRequest(
            method="POST",
            path=REQUESTS,
            body=certificate_request("kubernetes.io/kube-apiserver-client"),
            refusal=SIGNED,
        ),
        "much of the store": NodeRequest(
            method="POST",
            path=REQUESTS,
            body=certificate_request(CLIENT_SIGNER, after="x" * 900_000),
            refusal=SMALL,
        ),
        "note of a request": NodeRequest(
            method="POST",
            path=REQUESTS,
            body=certificate_request(CLIENT_SIGNER, annotations={"a": "x" * 200_000}),
            refusal=SMALL,
        ),
        "label of a pod's request": pod_request(world, labels={"a": "b"}, refusal=SMALL),
    }
    for key in (f"{ROLL}-target", KEEP, SCALE_IN, "example.com/any"):
        for suffix in ("", "/status"):
            path = f"{mine}{suffix}"
            named[f"note {key}{suffix}"] = patch(path, {"metadata": {"annotations": {key: "true"}}}, f"{NOTED}: {key}")
    for address in world.strangers:
        refusal = f"{ADDRESSES}: {address}"
        ips = {"podIP": address, "podIPs": [{"ip": address}]}
        named[f"pod at {address}"] = patch(status, {"status": ips}, refusal)
        named[f"host at {address}"] = patch(
            status, {"status": {"hostIP": address, "hostIPs": [{"ip": address}]}}, refusal
        )
        addresses = {"addresses": [{"type": "InternalIP", "address": address}]}
        named[f"node at {address}"] = patch(f"{mine}/status", {"status": addresses}, refusal)
        named[f"registers at {address}"] = registers(node(NEW, status=addresses), refusal)
    for path in (mine, f"{mine}/status", status):
        object_ = world.admin.get(path.removesuffix("/status"))
        kept = object_["metadata"].get("finalizers", [])
        for kind, body in {
            MERGE: stays,
            STRATEGIC: stays,
            JSON_PATCH: [{"op": "add", "path": "/metadata/finalizers", "value": [*kept, FINALIZER]}],
            APPLY: {"apiVersion": "v1", "kind": object_.get("kind", ""), **stays},
        }.items():
            named[f"finalizer by {kind} of {path}"] = replace(patch(path, body, FINALIZERS), kind=kind)
        replaced = partial(_with_finalizer, world.admin, path.removesuffix("/status"))
        named[f"finalizer by PUT of {path}"] = NodeRequest(method="PUT", path=path, body=replaced, refusal=FINALIZERS)
    return named | _by_a_role()


def _with_finalizer(api: Api, path: str) -> dict[str, Any]:
    live = api.get(path)
    return on(live, finalizers=[*live["metadata"].get("finalizers", []), FINALIZER])


def _by_a_role() -> dict[str, NodeRequest]:
    """Return what a role allows to nodes that an administrator has made too powerful."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}}
    apps = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}}
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": pod("a")["spec"]}
    daemon_set = {**apps, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    tries: dict[str, tuple[str, str, Any]] = {
        "create configmaps": ("POST", "/api/v1/namespaces/kube-system/configmaps", config),
        "create daemonsets.apps": ("POST", "/apis/apps/v1/namespaces/kube-system/daemonsets", daemon_set),
        "create clusterroles.rbac.authorization.k8s.io": (
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            role,
        ),
        "delete nodes": ("DELETE", f"{NODES}/{NODE}", {}),
        "update namespaces": ("PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": {"a": "b"}}}),
        "update namespaces/finalize": ("PUT", "/api/v1/namespaces/default/finalize", NAMESPACE),
        "update serviceaccounts": ("PATCH", "/api/v1/namespaces/default/serviceaccounts/default", {"secrets": []}),
        "delete leases.coordination.k8s.io": ("DELETE", f"{LEASES}/{NODE}", {}),
    }
    return {
        f"by a role: {what}": NodeRequest(
            method=method, path=path, body=body, refusal=f"{REFUSAL} {what}", powerful=True
        )
        for what, (method, path, body) in tries.items()
    }


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}, "spec": {"finalizers": []}}


def _owned(uid: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"ownerReferences": [owner(uid, **more)]}}


def everything(admin: Api) -> dict[tuple[str, str], NodeRequest]:
    """Return a request of a powerful node for each operation and resource of which the API has an object."""
    groups = (group["preferredVersion"]["groupVersion"] for group in admin.get("/apis")["groups"])
    roots = ["/api/v1", *(f"/apis/{group}" for group in groups)]
    return {
        (operation, what): attempt
        for root in roots
        for resource in admin.get(root)["resources"]
        for operation, what, attempt in _of_resource(admin, root, resource)
    }


def _of_resource(admin: Api, root: str, resource: dict[str, Any]) -> Iterator[tuple[str, str, NodeRequest]]:
    main, _, part = resource["name"].partition("/")
    verbs, group = set(resource["verbs"]), root.removeprefix("/apis/").partition("/")[0]
    what = resource["name"] + ("" if root == "/api/v1" else f".{group}")
    try:
        items = admin.get(f"{root}/{main}", limit="1")["items"]
    except ApiError:
        # A kind that cannot be listed, such as a review.
        return
    if not items:
        return
    live = {"apiVersion": root.removeprefix("/apis/").removeprefix("/api/"), "kind": resource["kind"], **items[0]}
    namespace = live["metadata"].get("namespace")
    folder = f"{root}/namespaces/{namespace}/{main}" if namespace else f"{root}/{main}"
    path = f"{folder}/{live['metadata']['name']}" + (f"/{part}" if part else "")
    copied = {**live, "metadata": {"name": "copied", "labels": live["metadata"].get("labels", {})}}
    tries: dict[str, tuple[str, str, str, Any]] = {
        "create": ("CREATE", "POST", path if part else folder, copied),
        "patch": ("UPDATE", "PATCH", path, {"metadata": {"labels": {"attacker.example/a": "b"}}}),
        "delete": ("DELETE", "DELETE", path, {}),
    }
    for operation, method, where, body in (tries[verb] for verb in tries.keys() & verbs):
        yield operation, what, NodeRequest(method=method, path=where, body=body, powerful=True)
