"""Microsoft.ManagedIdentity/userAssignedIdentities, and their federated credentials, which the lab only refuses."""

from __future__ import annotations

import uuid
from typing import Any

from pydantic import Field

from contract.azure import MACHINES
from lab.cloud.azure.errors import ArmError, unsupported
from lab.cloud.azure.schema.base import Body, BodyPart, Located, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.ManagedIdentity/userAssignedIdentities"
CREDENTIAL = f"{TYPE}/federatedIdentityCredentials"


class UserAssignedIdentityProperties(BodyPart):
    """Properties of an identity; there are none."""


class UserAssignedIdentity(Located):
    """A user-assigned managed identity."""

    properties: UserAssignedIdentityProperties = Field(default_factory=UserAssignedIdentityProperties)


def check(put: Put) -> None:
    """Make the principal at creation, and keep it."""
    old = put.old.hidden if put.old else {}
    put.hidden["principalId"] = old.get("principalId") or str(uuid.uuid4())
    put.hidden["clientId"] = old.get("clientId") or str(uuid.uuid4())
    put.hidden["tenantId"] = put.settings.tenant


def holders(store: DocumentStore, identity_id: str) -> list[ResourceDocument]:
    """Return the machines that have the identity."""
    wanted = identity_id.lower()
    return [
        machine
        for machine in store.of_type(MACHINES)
        if wanted in {key.lower() for key in machine.body.get("identity", {}).get("userAssignedIdentities", {})}
    ]


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return principal, client and tenant."""
    return {key: document.hidden[key] for key in ("principalId", "clientId", "tenantId")}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Allow every deletion: Azure deletes an identity even while machines have it, and the machines' tokens stop
    working."""
    del store, document


def find_principal(store: DocumentStore, principal_id: str) -> ResourceDocument | None:
    """Return the user-assigned identity with this principal id, or the scale set whose system-assigned identity has it;
    None when there is neither."""
    for document in (*store.of_type(TYPE), *store.of_type("Microsoft.Compute/virtualMachineScaleSets")):
        if document.hidden.get("principalId") == principal_id:
            return document
    return None


def missing_principal(principal_id: str) -> ArmError:
    """Return 400 for a role assignment to an unknown principal."""
    return ArmError(
        400,
        "PrincipalNotFound",
        f"Principal {principal_id.replace('-', '')} does not exist in the directory. Check that you have the correct "
        "principal ID.",
    )


class FederatedCredentialProperties(BodyPart):
    """Issuer and subject of the tokens that Entra exchanges for the identity's (REST reference, "Federated Identity
    Credentials - Create Or Update")."""

    issuer: str
    subject: str
    audiences: list[str]


class FederatedCredential(Body):
    """A federated credential of an identity."""

    tags: None = None
    properties: FederatedCredentialProperties


def _refuse_credential(put: Put) -> None:
    raise unsupported(f"{put.id.text}: the lab's token endpoint exchanges no federated tokens.")


SPECS = (
    TypeSpec(
        type=TYPE,
        model=UserAssignedIdentity,
        check=check,
        view=view,
        in_use=in_use,
        read_only=frozenset({"principalId", "clientId", "tenantId"}),
    ),
    TypeSpec(type=CREDENTIAL, model=FederatedCredential, check=_refuse_credential, parent=TYPE),
)
