"""Waits for the results of requests to the API server: readiness, and deletion with its finalizers."""

from __future__ import annotations

import time

from contract.annotations import SKIP_AWAIT
from contract.kubernetes.connection import CancelledError
from lab.providers.kubernetes_client import ObjectClient
from lab.providers.kubernetes_objects import TIMEOUT, WAIT_FOR, Object, annotation, is_kind, metadata
from lab.providers.kubernetes_ready import CHECKS, Check, ObservedObject, ReadyVerdict, has_address, written_condition

TIMEOUT_S = 600.0
"""Default of the real plugin for every kind, in seconds."""
SETTLE_S = 10.0
"""Seconds for which a Service's endpoints must be empty before the empty list counts as intended, as in the real
plugin."""


class ObjectNotReadyError(Exception):
    """Raised when an object exists but is not ready, or is not gone after its deletion; ``live`` is its last state."""

    def __init__(self, message: str, *, live: Object, reasons: list[str]) -> None:
        super().__init__(message)
        self.live, self.reasons = live, reasons


def timeout_of(given: float, inputs: Object) -> float:
    """Return the seconds to wait: from the resource option, the annotation, or the default."""
    written = annotation(inputs, TIMEOUT)
    return given or (float(written) if written.isdigit() else TIMEOUT_S)


def await_ready(client: ObjectClient, inputs: Object, live: Object, *, timeout_s: float) -> Object:
    """Wait until a created or updated object is ready, and return its state then.

    Raises ObjectNotReadyError after ``timeout_s`` or when the engine asks to stop, and ApiError when a request fails.
    """
    check = _check(inputs, live)
    if annotation(inputs, SKIP_AWAIT) == "true":
        return live
    try:
        if check is not None:
            return _until(client, live, check, timeout_s=timeout_s)
        return _await_service(client, live, timeout_s=timeout_s) if is_kind(live, "v1", "Service") else live
    except CancelledError:
        message = f"Resource operation was cancelled for '{metadata(live)['name']}'"
        raise ObjectNotReadyError(message, live=live, reasons=[]) from None


def require_ready(client: ObjectClient, inputs: Object, live: Object) -> None:
    """Check once, for a refresh; raise :class:`ObjectNotReadyError` when the object is not ready."""
    check = _check(inputs, live)
    if annotation(inputs, SKIP_AWAIT) == "true" or check is None:
        return
    verdict = check(ObservedObject(client=client, live=live))
    if not verdict.ready:
        message = f"Resource '{metadata(live)['name']}' was created but failed to initialize"
        raise ObjectNotReadyError(message, live=live, reasons=verdict.reasons)


def await_deleted(client: ObjectClient, live: Object, *, timeout_s: float) -> None:
    """Wait until a deleted object is gone, or raise :class:`ObjectNotReadyError`, which names the remaining
    finalizers."""
    meta = metadata(live)
    resource = client.resource(live["apiVersion"], live["kind"])
    namespace, name = meta.get("namespace"), meta["name"]
    deadline = time.monotonic() + timeout_s
    for current in client.follow(resource, namespace=namespace, name=name, timeout_s=timeout_s):
        # By now, another object may have the name.
        if current is None or metadata(current).get("uid") != meta.get("uid", metadata(current).get("uid")):
            return
        live = {**live, **current}
        if time.monotonic() >= deadline:
            break
    finalizers = ", ".join(metadata(live).get("finalizers") or []) or "none"
    message = f"'{name}' was not gone after {timeout_s:.0f} s"
    raise ObjectNotReadyError(message, live=live, reasons=[f"finalizers might be preventing deletion ({finalizers})"])


def _check(inputs: Object, live: Object) -> Check | None:
    written = annotation(inputs, WAIT_FOR)
    return written_condition(written) if written else CHECKS.get((live["apiVersion"], live["kind"]))


def _until(client: ObjectClient, live: Object, check: Check, *, timeout_s: float) -> Object:
    """Follow an object until a check passes, and return it."""
    meta = metadata(live)
    resource = client.resource(live["apiVersion"], live["kind"])
    deadline = time.monotonic() + timeout_s
    verdict = ReadyVerdict(ready=False)
    for current in client.follow(resource, namespace=meta.get("namespace"), name=meta["name"], timeout_s=timeout_s):
        if current is None:
            raise ObjectNotReadyError(f"'{meta['name']}' was deleted meanwhile", live=live, reasons=[])
        # Items of a list do not say their kind.
        live = {"apiVersion": live["apiVersion"], "kind": live["kind"], **current}
        verdict = check(ObservedObject(client=client, live=live))
        if verdict.ready:
            return live
        if time.monotonic() >= deadline:
            break
    raise ObjectNotReadyError(f"'{meta['name']}' timed out waiting to be Ready", live=live, reasons=verdict.reasons)


def _await_service(client: ObjectClient, live: Object, *, timeout_s: float) -> Object:
    """Wait until the Pods of a Service are ready, or until its endpoints have stayed empty for :data:`SETTLE_S`; if the
    Service is a load balancer, wait for its address too."""
    spec, meta = live.get("spec") or {}, metadata(live)
    deadline = time.monotonic() + timeout_s
    if spec.get("type") == "LoadBalancer":
        live = _until(client, live, has_address, timeout_s=timeout_s)
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None" or not spec.get("selector"):
        return live
    endpoints = client.resource("v1", "Endpoints")
    while (left := deadline - time.monotonic()) > 0:
        empty = False
        spell = min(left, SETTLE_S)
        for current in client.follow(endpoints, namespace=meta.get("namespace"), name=meta["name"], timeout_s=spell):
            subsets = (current or {}).get("subsets") or []
            pending = any(subset.get("notReadyAddresses") for subset in subsets)
            if not pending and any(subset.get("addresses") for subset in subsets):
                return live
            empty = current is not None and not subsets
        if empty and spell == SETTLE_S:
            return live
    reason = "the Pods that it selects are not ready, or its endpoints have no controller"
    raise ObjectNotReadyError(f"'{meta['name']}' timed out waiting to be Ready", live=live, reasons=[reason])
