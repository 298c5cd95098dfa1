"""Requests that are not about one resource: subscriptions, lists, deleted vaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lab.cloud.azure.deletion import deleted_vault
from lab.cloud.azure.errors import ArmError, group_not_found, invalid
from lab.cloud.azure.ids import ASSIGNMENT_TYPE, GROUP_TYPE
from lab.cloud.azure.resource_types import spec_of
from lab.cloud.azure.schema import scale_set_instance, vault
from lab.cloud.azure.schema.base import SubscriptionSettings, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

DELETED_VAULT = re.compile(
    r"(?i)^(?P<subscription>/subscriptions/[^/]+)/providers/Microsoft\.KeyVault/(?:locations/[^/]+/)?deletedVaults"
    r"(?:/(?P<name>[^/]+))?(?P<purge>/purge)?$"
)


def answer(
    store: DocumentStore, settings: SubscriptionSettings, *, method: str, path: str, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """Answer a request about the subscription or deleted vaults. Return ``None`` for other requests, and ``{}`` for an
    answer without content."""
    del query
    subscription = {
        "id": f"/subscriptions/{settings.subscription}",
        "subscriptionId": settings.subscription,
        "tenantId": settings.tenant,
        "displayName": "lab",
        "state": "Enabled",
    }
    if method == "GET" and path.lower() == "/subscriptions":
        return {"value": [subscription]}
    if method == "GET" and path.lower() == f"/subscriptions/{settings.subscription}".lower():
        return subscription
    match = DELETED_VAULT.match(path)
    return _deleted_vaults(store, settings, method, match) if match else None


def _deleted_vaults(
    store: DocumentStore, settings: SubscriptionSettings, method: str, match: re.Match[str]
) -> dict[str, Any]:
    records = store.records(vault.DELETED)
    if match["name"] is None:
        return {"value": [deleted_vault(record, subscription=settings.subscription) for record in records.values()]}
    name = match["name"].lower()
    record = records.get(name)
    if record is None:
        raise ArmError(404, "DeletedVaultNotFound", f"The specified deleted vault '{match['name']}' does not exist.")
    if match["purge"] is None:
        return deleted_vault(record, subscription=settings.subscription)
    if method != "POST":
        raise ArmError(405, "MethodNotAllowed", "Purging is a POST.")
    if record["purgeProtectionEnabled"]:
        raise ArmError(
            400,
            "MethodNotAllowed",
            f"Operation 'DeletedVaultPurge' is not allowed: '{record['name']}' has purge protection.",
        )
    store.set_record(vault.DELETED, name, None)
    store.set_record("purged-vault", name, True)
    return {}


def listing(
    store: DocumentStore, types: dict[str, TypeSpec], *, path: str, query: Mapping[str, str]
) -> tuple[str, list[ResourceDocument]]:
    """Return the scope and the documents for the path of a list."""
    head, marker, tail = _cut(path)
    group = re.match(r"(?i)^/subscriptions/[^/]+/resourceGroups/([^/]+)$", head)
    if group and store.get(head) is None:
        raise group_not_found(group.group(1))
    if not marker:
        return _plain(store, path)
    parts, spec = tail.split("/"), _listed(types, tail)
    if spec.type == ASSIGNMENT_TYPE:
        return head, _assignments(store, head, query.get("$filter", ""))
    scope = head if len(parts) == 2 else path.rsplit("/", 1)[0]
    wanted = scale_set_instance.LISTED.get(spec.type, spec.type)
    documents = [document for document in store.below(scope) if document.type == wanted]
    if len(parts) > 2 and store.get(scope) is None:
        raise ArmError(404, "ParentResourceNotFound", f"The parent resource {scope} was not found.")
    return scope, documents


def action_of(types: dict[str, TypeSpec], path: str) -> str:
    """Return the action that permits a list: reading the listed type, or reading all resources of a scope
    (learn.microsoft.com, "Azure permissions for Compute", and "for Management and governance")."""
    _, marker, tail = _cut(path)
    if marker:
        return f"{_listed(types, tail).type}/read"
    what = path.rpartition("/")[2].lower()
    return f"Microsoft.Resources/subscriptions/{'resourceGroups' if what == 'resourcegroups' else 'resources'}/read"


def type_of(path: str) -> str:
    """Return the type of the resource at a path, or the bare namespace of a path without a type."""
    namespace, *rest = path.rpartition("/providers/")[2].split("/")
    return "/".join((namespace, *rest[::2]))


def is_list(path: str) -> bool:
    """Return whether a path ends in a type rather than in a name."""
    tail = path.lower().rpartition("/providers/")
    if not tail[1]:
        return path.count("/") in (3, 5) and path.lower().rsplit("/", 1)[-1] in ("resourcegroups", "resources")
    return len(tail[2].split("/")) % 2 == 0


def _listed(types: dict[str, TypeSpec], tail: str) -> TypeSpec:
    """Return the type that a path lists; ``tail`` is its part after the last ``/providers/``."""
    namespace, *rest = tail.split("/")
    return spec_of(types, "/".join((namespace, *rest[::2])))


def _plain(store: DocumentStore, path: str) -> tuple[str, list[ResourceDocument]]:
    scope, _, what = path.rpartition("/")
    if what.lower() == "resourcegroups":
        return scope, store.of_type(GROUP_TYPE)
    hidden = (GROUP_TYPE, ASSIGNMENT_TYPE)
    top = [document for document in store.below(scope) if document.type not in hidden and document.type.count("/") == 1]
    return scope, top


def _cut(path: str) -> tuple[str, str, str]:
    index = path.lower().rfind("/providers/")
    if index < 0:
        return path.rpartition("/")[0], "", ""
    return path[:index], "/providers/", path[index + len("/providers/") :]


def _assignments(store: DocumentStore, scope: str, filter: str) -> list[ResourceDocument]:
    """Return the assignments that Azure lists for a scope: those at the scope, above it and, unless the filter is
    ``atScope()``, below it."""
    target = scope.strip("/").lower() + "/"
    principal = re.fullmatch(r"\s*principalId eq '([^']+)'\s*", filter)
    if filter and not principal and filter.strip() != "atScope()":
        raise invalid(f"The lab does not know the filter {filter!r}: use principalId eq '…' or atScope().")
    assignments = []
    for assignment in store.of_type(ASSIGNMENT_TYPE):
        properties = assignment.body["properties"]
        given_at = properties["scope"].strip("/").lower() + "/"
        above, below = target.startswith(given_at), given_at.startswith(target)
        if principal and properties["principalId"].lower() != principal.group(1).lower():
            continue
        if above or (below and filter.strip() != "atScope()"):
            assignments.append(assignment)
    return assignments
