"""Azure Policy: additions to resources by a company's policy assignments on the subscription.

``modify`` changes a request before the resource's provider sees it: it adds tags, and to machines the system-assigned
identity (learn.microsoft.com/azure/governance/policy/concepts/effect-modify). ``deployIfNotExists`` adds a
user-assigned identity to a machine some time after it was written
(learn.microsoft.com/azure/governance/policy/concepts/effect-deploy-if-not-exists). A remediation task does both for
existing resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lab.cloud.azure.ids import GROUP_TYPE
from lab.cloud.azure.schema import virtual_machine
from lab.cloud.azure.schema.base import GlobalBody, Located, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

KIND = "policy"
SYSTEM, USER, BOTH = "SystemAssigned", "UserAssigned", "SystemAssigned, UserAssigned"


@dataclass(frozen=True, kw_only=True)
class Assignments:
    """The subscription's policy assignments; by default there are none."""

    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags for each resource that has none of the same name: built-in policy 4f9dc7db-30c1-420c-b61a-e1d640128d26, "Add
    a tag to resources". Its mode is ``Indexed``: it skips resource groups, and types without tags or location."""
    system_identity: bool = False
    """True when each machine gets the system-assigned identity: built-in policies 3cf2ab00-13f1-4d0c-8971-2ac904541a7e
    and 497dff13-db2a-4c0f-8603-28fa3b331ab6, "Add system-assigned managed identity to enable Guest Configuration
    assignments"."""
    user_identity: str = ""
    """Id of a user-assigned identity that each machine gets. Microsoft's policy skips a machine that has exactly one
    user-assigned identity (learn.microsoft.com, "Use Azure Policy to assign managed identities"); a company's policy
    may not."""


GOVERNED = Assignments(tags={"cost-center": "lab"}, system_identity=True)
"""Assignments of a governed lab."""


def assign(store: DocumentStore, assignments: Assignments) -> None:
    """Set the subscription's assignments, in place of those before."""
    store.set_record(KIND, KIND, asdict(assignments))


def assigned(store: DocumentStore) -> Assignments:
    """Return the subscription's assignments."""
    return Assignments(**(store.record(KIND, KIND) or {}))


def modified(store: DocumentStore, spec: TypeSpec, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request after the ``modify`` policies."""
    policies = assigned(store)
    if policies.tags and spec.type != GROUP_TYPE and issubclass(spec.model, Located | GlobalBody):
        body = {**body, "tags": {**policies.tags, **body.get("tags", {})}}
    if policies.system_identity and spec.type == virtual_machine.TYPE:
        body = {**body, "identity": _with_system(body.get("identity", {}))}
    return body


def unlike(store: DocumentStore, types: Mapping[str, TypeSpec]) -> list[ResourceDocument]:
    """Return the documents that a remediation task changes, with their new bodies."""
    policies = assigned(store)
    documents: list[ResourceDocument] = []
    for spec in types.values():
        for document in store.of_type(spec.type):
            body = modified(store, spec, document.body)
            if policies.user_identity and spec.type == virtual_machine.TYPE:
                body = {**body, "identity": _with_user(body.get("identity", {}), policies.user_identity)}
            if body != document.body:
                documents.append(replace(document, body=body))
    return documents


def _with_system(identity: Mapping[str, Any]) -> dict[str, Any]:
    kind = identity.get("type", "")
    return {**identity, "type": BOTH if USER in kind else SYSTEM}


def _with_user(identity: Mapping[str, Any], added: str) -> dict[str, Any]:
    kind, identities = identity.get("type", ""), identity.get("userAssignedIdentities", {})
    if added.lower() in {key.lower() for key in identities}:
        return dict(identity)
    return {**identity, "type": BOTH if SYSTEM in kind else USER, "userAssignedIdentities": {**identities, added: {}}}
