"""Handles PUT and PATCH: turns a request body into a stored document."""

from __future__ import annotations

from typing import Any

from lab.cloud.azure import policy
from lab.cloud.azure.errors import ArmError, group_not_found, invalid, not_found, unsupported
from lab.cloud.azure.ids import ASSIGNMENT_TYPE, GROUP_TYPE, ResourceId, group_id, parse_id
from lab.cloud.azure.immutable import check_unchanged
from lab.cloud.azure.locks import free
from lab.cloud.azure.resource_types import spec_of
from lab.cloud.azure.schema import scale_set, vault, virtual_network
from lab.cloud.azure.schema.base import Put, SubscriptionSettings, TypeSpec, parse_body
from lab.cloud.azure.schema.zones import check_location
from lab.cloud.store import DocumentStore, ResourceDocument


class Puts:
    """Checks and stores the resources of PUT and PATCH requests."""

    def __init__(self, *, store: DocumentStore, types: dict[str, TypeSpec], settings: SubscriptionSettings) -> None:
        self._store = store
        self._types = types
        self._settings = settings

    def put(self, resource_id: ResourceId, body: Any) -> tuple[ResourceDocument, bool]:
        """Create or replace a resource; return the document, and whether it is new.

        Raises:
            ArmError: Azure would refuse it, or the lab does not support it. Then nothing is stored.
        """
        spec = spec_of(self._types, resource_id.type or "")
        self._group_takes_it(resource_id, spec)
        old = self._store.get(resource_id.text)
        if old and old.hidden.get("state") == "Deleting":
            raise ArmError(409, "Conflict", f"{resource_id.text} is being deleted. Try again when it is gone.")
        put = Put(
            store=self._store,
            settings=self._settings,
            id=resource_id,
            body=policy.modified(self._store, spec, parse_body(spec, _whole(spec, old, body), resource_id)),
            old=old,
        )
        with self._store.transaction():
            check_location(put, spec.type)
            spec.check(put)
            free(self._store, resource_id.text, spec.type, put.body)
            check_unchanged(put, spec.type)
            recovered = put.hidden.pop("recover", False)
            subnets = put.body["properties"].pop("subnets", None) if spec.type == virtual_network.TYPE else None
            document = self._store.put(resource_id.text, type=spec.type, body=put.body, hidden=put.hidden)
            if recovered:
                self._store.set_record(vault.DELETED, resource_id.name.lower(), None)
            if subnets is not None:
                self._subnets(document, subnets)
        return document, old is None

    def patch(self, resource_id: ResourceId, body: Any) -> ResourceDocument:
        """Change a resource's tags, or a scale set's SKU or tags; the lab patches nothing else."""
        spec = spec_of(self._types, resource_id.type or "")
        document = self._store.get(resource_id.text)
        if document is None:
            raise not_found(resource_id.text)
        if spec is scale_set.SPEC:
            return self.put(resource_id, scale_set.patched(document, body))[0]
        if not isinstance(body, dict) or set(body) != {"tags"}:
            raise unsupported(f"{spec.type}: the lab patches tags and nothing else; use PUT.")
        if not isinstance(body["tags"], dict) or not all(isinstance(value, str) for value in body["tags"].values()):
            raise invalid(f"{spec.type} '{resource_id.name}': tags must be a map from text to text.")
        free(self._store, document.id, document.type, document.body)
        changed = policy.modified(self._store, spec, {**document.body, "tags": body["tags"]})
        return self._store.put(document.id, type=document.type, body=changed)

    def remediate(self) -> None:
        """Make existing resources comply with the subscription's policies."""
        for document in policy.unlike(self._store, self._types):
            self.put(parse_id(document.id), document.body)

    def _group_takes_it(self, resource_id: ResourceId, spec: TypeSpec) -> None:
        if resource_id.subscription.lower() != self._settings.subscription.lower():
            raise ArmError(
                404, "SubscriptionNotFound", f"The subscription '{resource_id.subscription}' could not be found."
            )
        if spec.type in (GROUP_TYPE, ASSIGNMENT_TYPE):
            return
        if resource_id.group is None:
            raise ArmError(400, "InvalidResourceId", f"{spec.type} must be in a resource group: {resource_id.text}.")
        group = self._store.get(group_id(resource_id.text))
        if group is None:
            raise group_not_found(resource_id.group)
        if group.hidden.get("state") == "Deleting":
            raise ArmError(
                409,
                "ResourceGroupBeingDeleted",
                f"The resource group '{resource_id.group}' is in deprovisioning state and cannot perform this "
                "operation.",
            )

    def _subnets(self, network: ResourceDocument, wanted: list[dict[str, Any]]) -> None:
        """Make the network have exactly these subnets."""
        names = {str(item.get("name", "")).lower() for item in wanted}
        if "" in names or len(names) != len(wanted):
            raise ArmError(400, "InvalidRequestContent", f"Each subnet of {network.name} needs a name of its own.")
        for child in virtual_network.subnets_of(self._store, network.id):
            if child.name.lower() not in names:
                spec_of(self._types, child.type).in_use(self._store, child)
                self._store.delete(child.id)
        for item in wanted:
            body = {key: value for key, value in item.items() if key not in ("id", "name", "type", "etag")}
            self.put(parse_id(f"{network.id}/subnets/{item['name']}"), body)


def _whole(spec: TypeSpec, old: ResourceDocument | None, body: Any) -> Any:
    """Return a request's body, completed with the parts that it leaves unchanged."""
    return scale_set.completed(old, body) if spec is scale_set.SPEC else body
