"""Pods that do not start, by the cause that Kubernetes gives. The conditions and states are copied from a scheduler and
kubelets of 1.36; tests/components/objects/test_waiting_pods.py asks real ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.kubernetes.api import Api
from contract.kubernetes.paths import CLAIMS, PODS, STORAGE_CLASSES
from contract.reasons.status import StatusReason
from longhaul.status.observed import ApiEndpoint, ClusterView, Observed
from longhaul.status.pods import judge_pods
from longhaul.status.waiting_pods import WaitingPod, waiting_pods

NOW = datetime(2026, 1, 2, 4, tzinfo=UTC)
UNBOUND = (
    "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found. preemption: 0/3 nodes are "
    "available: 3 Preemption is not helpful for scheduling."
)
TOO_LARGE = "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims."


class Lists(Api):
    """The API as lists, by their path."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        self.lists = {
            PODS: lists.pop("pods"),
            CLAIMS: lists.get("claims", []),
            STORAGE_CLASSES: lists.get("classes", []),
        }
        self.asked: list[str] = []

    def items(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        self.asked.append(path)
        assert query == ({"fieldSelector": "status.phase=Pending"} if path == PODS else {})
        yield from self.lists[path]

    def now(self) -> datetime:
        return NOW


def ago(minutes: float) -> str:
    return (NOW - timedelta(minutes=minutes)).isoformat()


def pod(name: str, *, minutes: float = 30, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "creationTimestamp": ago(minutes)}
    return {"metadata": metadata, "spec": spec or {}, "status": {"phase": "Pending", **status}}


def unscheduled(message: str, *, minutes: float = 30) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"conditions": [{**condition, "lastTransitionTime": ago(minutes)}]}


def claims(name: str = "data") -> dict[str, Any]:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


def claim(*, phase: str = "Pending", selected: bool = False, **spec: Any) -> dict[str, Any]:
    annotations = {"volume.kubernetes.io/selected-node": "a"} if selected else {}
    metadata = {"name": "data", "namespace": "team", "annotations": annotations}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def storage_class(mode: str = "Immediate") -> dict[str, Any]:
    return {"metadata": {"name": "fast"}, "provisioner": "ebs.csi.aws.com", "volumeBindingMode": mode}


def on_node(state: dict[str, Any], *, minutes: float = 1, **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.example/x:1", "state": state, **more}
    status = {"startTime": ago(minutes), "containerStatuses": [container]}
    return pod("p", spec={"nodeName": "a"}, **status)


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


PULL = 'Back-off pulling image "registry.example/x:1": ErrImagePull: not found'
LATER = storage_class("WaitForFirstConsumer")


@pytest.mark.parametrize(
    ("item", "more", "reason", "message"),
    [
        (pod("p", **unscheduled(TOO_LARGE)), {}, StatusReason.POD_UNSCHEDULED, TOO_LARGE),
        (pod("p"), {}, StatusReason.POD_UNSCHEDULED, "the scheduler has not considered it yet"),
        (
            pod("p", spec=claims(), **unscheduled(UNBOUND)),
            {"claims": [claim()]},
            StatusReason.VOLUME_NOT_BOUND,
            "its volume claim data names no storage class, no class is the default, and no free volume suits it",
        ),
        (
            pod("p", spec=claims(), **unscheduled(UNBOUND)),
            {"claims": [claim(storageClassName="slow")], "classes": [LATER]},
            StatusReason.VOLUME_NOT_BOUND,
            "storage class slow of its volume claim data does not exist",
        ),
        (
            pod("p", spec=claims()),
            {"claims": [claim(storageClassName="fast", selected=True)], "classes": [LATER]},
            StatusReason.VOLUME_NOT_BOUND,
            "provisioner ebs.csi.aws.com has made no volume for its claim data (class fast)",
        ),
        (
            pod("p", spec=claims(), **unscheduled(TOO_LARGE)),
            {"claims": [claim(storageClassName="fast")], "classes": [LATER]},
            StatusReason.POD_UNSCHEDULED,
            TOO_LARGE,
        ),
        (
            pod("p", spec=claims(), **unscheduled('persistentvolumeclaim "data" not found')),
            {},
            StatusReason.VOLUME_NOT_BOUND,
            "its volume claim data does not exist",
        ),
        (
            on_node(waiting("ImagePullBackOff", PULL)),
            {},
            StatusReason.IMAGE_NOT_PULLED,
            f"ImagePullBackOff: {PULL}",
        ),
        (
            on_node(waiting("CreateContainerConfigError", 'secret "token" not found')),
            {},
            StatusReason.POD_NOT_STARTED,
            'CreateContainerConfigError: secret "token" not found',
        ),
        (
            on_node(
                waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=main"),
                lastState={"terminated": {"reason": "OOMKilled", "exitCode": 137}},
            ),
            {},
            StatusReason.CONTAINER_DIED,
            "main: OOMKilled, exit code 137",
        ),
        (
            on_node(waiting("ContainerCreating"), minutes=11),
            {},
            StatusReason.POD_NOT_STARTED,
            "its node has not started a container; its events name the cause",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, StatusReason) else None,
)
def test_a_pod_that_does_not_start_has_its_cause(
    item: dict[str, Any], more: dict[str, Any], reason: StatusReason, message: str
) -> None:
    (view,) = waiting_pods(Lists(pods=[item], **more))
    assert (view.namespace, view.name, view.reason, view.message) == ("team", "p", reason, message)


GATED = pod("p", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})
OF_SYSTEM = pod("p", **unscheduled(TOO_LARGE))
OF_SYSTEM["metadata"]["namespace"] = "kube-system"
DELETED = pod("p", **unscheduled(TOO_LARGE))
DELETED["metadata"]["deletionTimestamp"] = ago(1)


@pytest.mark.parametrize(
    "item",
    [
        pod("p", minutes=1, **unscheduled(TOO_LARGE, minutes=1)),
        on_node(waiting("ContainerCreating"), minutes=9),
        on_node({"running": {}}, minutes=99),
        *(GATED, OF_SYSTEM, DELETED),
    ],
    ids=["recent", "being created", "an init container runs", "in a queue", "an add-on's", "being deleted"],
)
def test_a_pod_that_waits_rightly_is_not_told(item: dict[str, Any]) -> None:
    api = Lists(pods=[item])
    assert list(waiting_pods(api)) == []
    assert api.asked == [PODS], "claims are read only if a pod has some"


def test_status_tells_pods_that_wait_by_cause_with_commands_and_stays_healthy() -> None:
    def view(name: str, reason: StatusReason, minutes: int) -> WaitingPod:
        since = NOW - timedelta(minutes=minutes)
        return WaitingPod(namespace="team", name=name, since=since, reason=reason, message="why", subject="data")

    unbound, unpulled = StatusReason.VOLUME_NOT_BOUND, StatusReason.IMAGE_NOT_PULLED
    pods = (view("a", unbound, 5), view("b", unbound, 50), view("c", unpulled, 9))
    endpoint = ApiEndpoint(url="", reached=True, ready=True)
    observed = Observed(cloud={}, endpoint=endpoint, cluster=ClusterView(pods=pods), now=NOW)
    first, second = judge_pods("lab", observed)
    assert (first.name, first.pods, second.pods) == ("team/b", 2, 1)
    assert first.message.startswith(
        "2 pods without their volume; team/b for 50 min: why; to look: `kubectl --namespace"
    )
    assert "describe persistentvolumeclaim data`" in first.message
    assert "`kubectl --namespace team describe pod c`" in second.message
