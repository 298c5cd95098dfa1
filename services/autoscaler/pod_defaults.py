"""Pods that the API would make from templates: daemon sets' pods, and members of gangs that are not made yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from contract.reasons.autoscaler import Obstacle, WaitReason

Object = Mapping[str, Any]


class PodDefaults:
    """Values that the API adds to a pod when it is made."""

    def __init__(
        self,
        *,
        limit_ranges: Iterable[Object] = (),
        runtime_classes: Iterable[Object] = (),
        priority_classes: Sequence[Object] = (),
    ) -> None:
        self._containers: dict[str, dict[str, Any]] = {}
        for item in limit_ranges:
            requests = self._containers.setdefault(item["metadata"]["namespace"], {})
            for limit in item["spec"].get("limits") or ():
                if limit.get("type") == "Container":
                    requests |= {**(limit.get("default") or {}), **(limit.get("defaultRequest") or {})}
        self._runtimes = {item["metadata"]["name"]: item for item in runtime_classes}
        self._priorities = {item["metadata"]["name"]: int(item["value"]) for item in priority_classes}
        defaults = [int(item["value"]) for item in priority_classes if item.get("globalDefault")]
        self._priority = min(defaults, default=0)

    def pod(self, template: Object, namespace: str) -> Object:
        """Return the pod that a template becomes in a namespace (kubernetes 1.36, ``pkg/apis/core/v1/defaults.go``,
        ``SetDefaults_Pod``; ``plugin/pkg/admission``, ``limitranger``, ``mergePodResourceRequirements``, and
        ``runtimeclass``, ``setOverhead`` and ``setScheduling``)."""
        spec = dict(template["spec"])
        defaults = self._containers.get(namespace, {})
        for key in ("containers", "initContainers"):
            containers = (
                _container(item, defaults, host=bool(spec.get("hostNetwork"))) for item in spec.get(key) or ()
            )
            spec[key] = list(containers)
        runtime = self._runtimes.get(spec.get("runtimeClassName") or "", {})
        if runtime.get("overhead"):
            spec["overhead"] = runtime["overhead"].get("podFixed") or {}
        scheduling = runtime.get("scheduling") or {}
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **(scheduling.get("nodeSelector") or {})}
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())]
        return {"metadata": {**(template.get("metadata") or {}), "namespace": namespace}, "spec": spec}

    def priority(self, spec: Object) -> int:
        """Return the priority of a template's pods (``plugin/pkg/admission/priority``, ``establishPriority``)."""
        name = spec.get("priorityClassName")
        if not name:
            return int(spec.get("priority") or self._priority)
        return self._priorities.get(name, int(spec.get("priority") or 0))

    def missing(self, spec: Object) -> Iterator[Obstacle]:
        """Yield the classes that a template names and that do not exist: the API would refuse its pods."""
        runtime, priority = spec.get("runtimeClassName"), spec.get("priorityClassName")
        if runtime and runtime not in self._runtimes:
            yield Obstacle(WaitReason.NOT_UNDERSTOOD, f"its runtime class {runtime} does not exist")
        if priority and priority not in self._priorities and "priority" not in spec:
            yield Obstacle(WaitReason.NOT_UNDERSTOOD, f"its priority class {priority} does not exist")


def _container(item: Object, defaults: Mapping[str, Any], *, host: bool) -> Object:
    """Return a container with default requests. On the host's network, its ports are ports of the node."""
    resources = item.get("resources") or {}
    requests = {**defaults, **(resources.get("limits") or {}), **(resources.get("requests") or {})}
    ports = [{**port, "hostPort": port.get("hostPort") or port["containerPort"]} for port in item.get("ports") or ()]
    return {**item, "resources": {**resources, "requests": requests}, **({"ports": ports} if host else {})}
