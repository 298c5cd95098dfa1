"""Identities that a machine can act as, and the choice of the identity for a token request.

learn.microsoft.com, "Managed identities for Azure resources frequently asked questions": a request without a name gets
the system-assigned identity, or else the only user-assigned identity. If there are several user-assigned identities,
the request must name one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lab.cloud.azure.schema import scale_set_instance
from lab.cloud.store import DocumentStore, ResourceDocument

NAMES = ("client_id", "object_id", "msi_res_id")
"""Parameters that name an identity: learn.microsoft.com, "Use managed identities on a virtual machine to acquire access
token"."""
MANY = (
    "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity in the token "
    "request"
)


class NoIdentityError(Exception):
    """Raised when a request matches no identity, or several."""


@dataclass(frozen=True, kw_only=True)
class AssignedIdentity:
    """One identity of a machine."""

    object_id: str
    client_id: str
    resource_id: str
    """Id of the resource that has the identity: the identity itself, or the machine for a system-assigned one."""
    system: bool = False


def chosen(store: DocumentStore, machine: ResourceDocument, wanted: Mapping[str, str]) -> AssignedIdentity:
    """Return the identity that ``wanted`` names, or the default one."""
    identities = list(_identities(store, machine))
    named = {key: wanted[key].lower() for key in NAMES if key in wanted}
    if named:
        matching = [identity for identity in identities if _is(identity, named)]
    else:
        matching = [identity for identity in identities if identity.system] or identities
    if not matching:
        raise NoIdentityError("Identity not found")
    if len(matching) > 1:
        raise NoIdentityError(MANY)
    return matching[0]


def _identities(store: DocumentStore, machine: ResourceDocument) -> Iterator[AssignedIdentity]:
    if machine.type == scale_set_instance.INSTANCE:
        yield from _of_group(store, machine)
        return
    identity = machine.body.get("identity", {})
    if principal := identity.get("principalId"):
        client = str(uuid.uuid5(uuid.UUID(principal), "application"))
        yield AssignedIdentity(object_id=principal, client_id=client, resource_id=machine.id, system=True)
    for key in identity.get("userAssignedIdentities", {}):
        if document := store.get(key):
            hidden = document.hidden
            yield AssignedIdentity(
                object_id=hidden["principalId"], client_id=hidden["clientId"], resource_id=document.id
            )


def _of_group(store: DocumentStore, instance: ResourceDocument) -> Iterator[AssignedIdentity]:
    """Yield the system-assigned identity of an instance's scale set; the lab's sets have no others."""
    group = store.get(scale_set_instance.group_of(instance))
    if group is not None and "principalId" in group.hidden:
        hidden = group.hidden
        yield AssignedIdentity(
            object_id=hidden["principalId"], client_id=hidden["clientId"], resource_id=group.id, system=True
        )


def _is(identity: AssignedIdentity, named: Mapping[str, str]) -> bool:
    known = {"client_id": identity.client_id, "object_id": identity.object_id}
    if not identity.system:
        known["msi_res_id"] = identity.resource_id
    return all(known.get(key, "").lower() == value for key, value in named.items())
