"""Creates, changes and deletes objects with the requests that the real plugin makes: after ``provider/pkg/await``."""

from __future__ import annotations

from contract.kubernetes.connection import ApiError, CancelledError
from lab.providers.kubernetes_client import APPLY, ApiResource, ObjectClient
from lab.providers.kubernetes_objects import (
    PATCH_FORCE,
    PROPAGATION,
    Object,
    annotation,
    is_kind,
    metadata,
)
from lab.providers.kubernetes_settings import KubernetesSettings

CREATOR = "pulumi-kubernetes"
"""Field manager of a plain creation; the first change gives the fields of this manager to another one."""
FORMER = (
    ("kubectl", "Apply"),
    ("kubectl", "Update"),
    ("before-first-apply", "Update"),
    (CREATOR, "Update"),
    ("pulumi-resource-kubernetes", "Update"),
)
"""Managers whose fields the first change takes over."""
RETRIES = 5
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
EXISTS = (
    "The resource already exists in the cluster: import it, or set upsertExistingObjects on the provider to let "
    "server-side apply take it over."
)


def create(
    client: ObjectClient, inputs: Object, *, settings: KubernetesSettings, manager: str, preview: bool
) -> Object:
    """Create an object; in a preview, only let the server check it. Wait a little for a namespace or kind that is being
    created too."""
    wait_s = 1.0
    for attempt in range(RETRIES + 1):
        try:
            return _create(client, inputs, settings=settings, manager=manager, preview=preview)
        except ApiError as problem:
            if problem.reason == "AlreadyExists":
                raise ApiError(f"{problem}. {EXISTS}", status=problem.status, reason=problem.reason) from None
            if problem.status != 404 or attempt == RETRIES or preview:
                raise
            client.wait(wait_s)
            wait_s *= 2
    raise CancelledError("no try is left")


def _create(
    client: ObjectClient, inputs: Object, *, settings: KubernetesSettings, manager: str, preview: bool
) -> Object:
    resource = client.resource(inputs["apiVersion"], inputs["kind"])
    meta = metadata(inputs)
    if settings.server_side_apply and settings.upsert:
        force = settings.patch_force or annotation(inputs, PATCH_FORCE) == "true" or preview
        return _apply(client, resource, inputs, manager=manager, force=force, preview=preview)
    path = resource.path(meta.get("namespace"))
    return client.send("POST", path, query={"fieldManager": CREATOR, **_dry(preview)}, body=inputs)


def update(
    client: ObjectClient, inputs: Object, live: Object, *, settings: KubernetesSettings, manager: str, preview: bool
) -> Object:
    """Change an object as wanted; in a preview, only let the server check the change."""
    resource = client.resource(inputs["apiVersion"], inputs["kind"])
    meta = metadata(live)
    path = resource.path(meta.get("namespace"), meta["name"])
    current = client.send("GET", path)
    if is_kind(inputs, *CRD):
        version = metadata(current).get("resourceVersion")
        body = {**inputs, "metadata": {**metadata(inputs), "resourceVersion": version}}
        return client.send("PUT", path, query={"fieldManager": manager, **_dry(preview)}, body=body)
    if not settings.server_side_apply:
        merge = "application/merge-patch+json"
        return client.send("PATCH", path, query=_dry(preview), body=inputs, content_type=merge)
    if not preview:
        _hand_over(client, path, current, manager=manager)
    force = settings.patch_force or annotation(inputs, PATCH_FORCE) == "true" or preview
    return _apply(client, resource, inputs, manager=manager, force=force, preview=preview)


def delete(client: ObjectClient, live: Object, inputs: Object) -> bool:
    """Request an object's deletion; return whether the object existed."""
    meta = metadata(live)
    policy = {"orphan": "Orphan", "background": "Background"}.get(annotation(inputs, PROPAGATION).lower(), "Foreground")
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}
    try:
        path = client.resource(live["apiVersion"], live["kind"]).path(meta.get("namespace"), meta["name"])
        client.send("DELETE", path, body=options)
    except ApiError as problem:
        if problem.status == 404:
            return False
        raise
    return True


def _apply(
    client: ObjectClient, resource: ApiResource, inputs: Object, *, manager: str, force: bool, preview: bool
) -> Object:
    meta = metadata(inputs)
    query = {"fieldManager": manager, "force": str(force).lower(), **_dry(preview)}
    path = resource.path(meta.get("namespace"), meta["name"])
    try:
        return client.send("PATCH", path, query=query, body=inputs, content_type=APPLY)
    except ApiError as problem:
        if problem.reason != "Conflict":
            raise
        message = (
            f'The resource managed by field manager "{manager}" had an apply conflict: {problem}. Somebody else '
            'changed these fields; the annotation pulumi.com/patchForce: "true" takes them back.'
        )
        raise ApiError(message, status=problem.status, reason=problem.reason) from None


def _hand_over(client: ObjectClient, path: str, current: Object, *, manager: str) -> None:
    """Give the fields of plain creations and of kubectl to ``manager``, which applies from now on. Without this, fields
    that the program removes would stay with the former managers."""
    fields = metadata(current).get("managedFields") or []
    former = [field for field in fields if _is_former(field)]
    if not former:
        return
    applied = [field for field in fields if field.get("manager") == manager and field.get("operation") == "Apply"]
    merged: Object = {}
    for owner in (*applied, *former):
        merged = _united(merged, owner.get("fieldsV1") or {})
    entry = {**(applied or former)[0], "manager": manager, "operation": "Apply", "fieldsV1": merged}
    kept = [field for field in fields if field not in former and field not in applied]
    version = metadata(current).get("resourceVersion")
    patch = {"metadata": {"resourceVersion": version, "managedFields": [*kept, entry]}}
    client.send("PATCH", path, body=patch, content_type="application/merge-patch+json")


def _is_former(entry: Object) -> bool:
    manager, operation = str(entry.get("manager", "")), entry.get("operation")
    known = any(manager.startswith(name) and operation == kind for name, kind in FORMER)
    return known and not entry.get("subresource")


def _united(first: Object, other: Object) -> Object:
    """Return the union of two sets of fields, which are trees."""
    return {**first, **{key: _united(first.get(key) or {}, value) for key, value in other.items()}}


def _dry(preview: bool) -> dict[str, str]:
    return {"dryRun": "All"} if preview else {}
