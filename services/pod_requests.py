"""Requests of pods as the scheduler counts them (k8s.io/component-helpers, ``resource``, ``PodRequests``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contract.kubernetes.quantities import Resources, whole

Object = Mapping[str, Any]


def bound_requests(pod: Object) -> Resources:
    """Return the requests of a pod on a node. While its containers are resized, the larger amounts count."""
    return requests(_resized_spec(pod) if is_resized(pod) else pod["spec"])


def is_resized(pod: Object) -> bool:
    """Return whether the kubelet reports requests of a pod that differ from those of the pod's spec."""
    status = pod.get("status") or {}
    if "containerStatuses" not in status and "initContainerStatuses" not in status:
        return False
    spec = pod["spec"]
    if status.get("resources") and _reported(status) != [(spec.get("resources") or {}).get("requests") or {}]:
        return True
    asked = {
        item.get("name"): (item.get("resources") or {}).get("requests") or {}
        for item in (*spec["containers"], *(spec.get("initContainers") or ()))
    }
    reports = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    return any(
        amounts != asked.get(report["name"])
        for report in reports
        if "resources" in report
        for amounts in _reported(report)
    )


def _reported(report: Object) -> list[Mapping[str, str]]:
    """Return the amounts that a kubelet has given to a container or pod and, if they differ, the amounts that it has
    promised."""
    given = (report.get("resources") or {}).get("requests") or {}
    promised = report.get("allocatedResources")
    return [given] if promised is None or promised == given else [given, promised]


def _resized_spec(pod: Object) -> Object:
    """Return a pod's spec with the requests that count (``determineEffectiveRequests``)."""
    spec, status = pod["spec"], pod["status"]
    conditions = status.get("conditions") or ()
    infeasible = any(
        condition["type"] == "PodResizePending" and condition.get("reason") == "Infeasible" for condition in conditions
    )

    def counted(asked: Object | None, report: Object) -> Object:
        amounts: dict[str, str] = {}
        for some in (*_reported(report), *([] if infeasible else [asked or {}])):
            for name, text in some.items():
                if name not in amounts or whole(name, text) > whole(name, amounts[name]):
                    amounts[name] = text
        return {"requests": amounts}

    changed = dict(spec)
    for key, field in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        reports = {report["name"]: report for report in status.get(field) or () if report.get("resources") is not None}
        if reports and key in spec:
            changed[key] = [
                {**item, "resources": counted((item.get("resources") or {}).get("requests"), reports[item["name"]])}
                if item["name"] in reports and (key == "containers" or item.get("restartPolicy") == "Always")
                else item
                for item in spec[key]
            ]
    whole_pod = (spec.get("resources") or {}).get("requests")
    if whole_pod and status.get("resources"):
        changed["resources"] = counted(whole_pod, status)
    return changed


def requests(spec: Object) -> Resources:
    """Return a pod's requests (k8s.io/component-helpers, ``resource.PodRequests``): the sum of its containers and
    sidecars, or the largest step of its initialization, plus its overhead."""
    total: Resources = {}
    for container in spec.get("containers") or ():
        _add(total, _requested(container))
    if spec.get("initContainers"):
        total = _with_initialization(total, spec["initContainers"])
    whole_pod = spec.get("resources")
    if whole_pod:
        # A request for the whole pod replaces the sum; a limit for the whole pod stands for a missing request.
        total = {**_amounts(whole_pod.get("limits") or {}), **total, **_amounts(whole_pod.get("requests") or {})}
    if spec.get("overhead"):
        _add(total, _amounts(spec["overhead"]))
    return total


def _with_initialization(total: Resources, containers: Iterable[Object]) -> Resources:
    """Return the requests of a pod whose other containers request ``total``."""
    sidecars: Resources = {}
    most: Resources = {}
    for container in containers:
        requested = _requested(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, requested)
            step = dict(sidecars)
        else:
            step = dict(sidecars)
            _add(step, requested)
        most = _larger(most, step)
    _add(total, sidecars)
    return _larger(total, most)


def _requested(container: Object) -> Resources:
    """Return a container's requests; a limit stands for a request that is missing (kubernetes 1.36,
    ``pkg/apis/core/v1/defaults.go``, ``SetDefaults_Pod``)."""
    resources = container.get("resources")
    if not resources:
        return {}
    return _amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _amounts(texts: Object) -> Resources:
    return {name: whole(name, text) for name, text in texts.items()}


def _add(total: Resources, more: Resources) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _larger(first: Resources, other: Resources) -> Resources:
    return {name: max(first.get(name, 0), other.get(name, 0)) for name in {*first, *other}}
