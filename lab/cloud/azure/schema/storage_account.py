"""Microsoft.Storage/storageAccounts: block blobs, roles only."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import subnet
from lab.cloud.azure.schema.base import Located, Part, Put, TypeSpec
from lab.cloud.azure.schema.vault import NetworkAcls
from lab.cloud.store import Document, Store

TYPE = "Microsoft.Storage/storageAccounts"
SUFFIX = ".blob.core.windows.net"
ENDPOINT = "Microsoft.Storage"
"""Service endpoint that a subnet needs before a rule may name it."""


class Sku(Part):
    """All kinds of redundancy act alike: there is one copy."""

    name: Literal["Standard_LRS", "Standard_ZRS", "Standard_GRS", "Premium_LRS"]


class Properties(Part):
    """What an account is given."""

    allow_blob_public_access: Literal[False]
    allow_shared_key_access: Literal[False]
    """The lab evaluates roles; account keys are the old way."""
    minimum_tls_version: Literal["TLS1_2", "TLS1_3"] = "TLS1_2"
    supports_https_traffic_only: Literal[True] = True
    public_network_access: Literal["Enabled"] = "Enabled"
    network_acls: NetworkAcls = Field(default_factory=NetworkAcls)


class StorageAccount(Located):
    """A storage account."""

    kind: Literal["StorageV2", "BlockBlobStorage"]
    sku: Sku
    properties: Properties


def check(put: Put) -> None:
    """Names are global and plain; the firewall's subnets have the endpoint."""
    name = put.id.name
    if not re.fullmatch(r"[a-z0-9]{3,24}", name):
        message = (
            f"{name} is not a valid storage account name: 3 to 24 characters, numbers and lower-case letters only."
        )
        raise ArmError(400, "AccountNameInvalid", message)
    other = find(put.store, name)
    if other is not None and other.key != put.id.text.lower():
        raise ArmError(409, "StorageAccountAlreadyTaken", f"The storage account named {name} is already taken.")
    for rule in put.body["properties"]["networkAcls"]["virtualNetworkRules"]:
        found = put.find(rule["id"], type=subnet.TYPE)
        if ENDPOINT not in {endpoint["service"] for endpoint in found.body["properties"]["serviceEndpoints"]}:
            message = (
                f"Subnet {found.id} of account {name} has no service endpoint {ENDPOINT}: add it to the subnet first."
            )
            raise ArmError(400, "NetworkAclsValidationFailure", message)


def find(store: Store, name: str) -> Document | None:
    """The account of this name."""
    return next((document for document in store.of_type(TYPE) if document.name.lower() == name.lower()), None)


def view(_store: Store, document: Document) -> dict[str, Any]:
    """Where its blobs are reached."""
    return {"primaryEndpoints": {"blob": f"https://{document.name.lower()}{SUFFIX}/"}}


SPEC = TypeSpec(
    type=TYPE,
    model=StorageAccount,
    check=check,
    view=view,
    read_only=frozenset({"primaryEndpoints", "primaryLocation", "statusOfPrimary", "creationTime"}),
)
