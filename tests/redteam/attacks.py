"""Objects that a member of a team may try to make."""

from __future__ import annotations

from typing import Any

TEAM = "team-a"
"""Namespace of the team."""


def pod(namespace: str = TEAM, *, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    one = {"name": "a", "image": "registry.k8s.io/pause:3.10", **(container or {})}
    metadata = {"generateName": "a-", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [one], **spec}}


def of_the_host(path: str) -> dict[str, Any]:
    return {"volumes": [{"name": "host", "hostPath": {"path": path}}]}


INTO_THE_NODE = {
    "privileged": pod(container={"securityContext": {"privileged": True}}),
    "hostPID": pod(hostPID=True),
    "hostIPC": pod(hostIPC=True),
    "hostNetwork": pod(hostNetwork=True),
    "hostPath": pod(**of_the_host("/var/lib/kubelet/pki")),
    "port 22": pod(container={"ports": [{"containerPort": 22, "hostPort": 22}]}),
    "port 10250": pod(container={"ports": [{"containerPort": 80, "hostPort": 10250}]}),
    "capabilities": pod(container={"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}),
    "every system call": pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
}


def service(name: str, **spec: Any) -> dict[str, Any]:
    found = {"selector": {"app": "mine"}, "ports": [{"port": 80}], **spec}
    metadata = {"name": name, "namespace": TEAM}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": found}
