"""Microsoft.Storage/storageAccounts: block blobs, with access by roles only."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from clouds.azure.names import STORAGE
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema import subnet
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.azure.schema.vault import NetworkAcls, NetworkRule
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Storage/storageAccounts"
SUFFIX = ".blob.core.windows.net"

LONGEST_PREFIX = 30


def _address_or_range(text: str) -> str:
    if "/" in text and IPv4Network(text).prefixlen > LONGEST_PREFIX:
        raise ValueError(f"{text} is a range of one or two addresses: write the addresses themselves")
    IPv4Network(text)
    return text


class StorageAccountSku(BodyPart):
    """SKU of an account. All kinds of redundancy behave alike: there is one copy."""

    name: Literal["Standard_LRS", "Standard_ZRS", "Standard_GRS", "Premium_LRS"]


class StorageIpRule(BodyPart):
    """Public address or range that the firewall admits. Small ranges, /31 and /32, are refused: single addresses are
    written without a prefix (learn.microsoft.com, "Azure Storage firewall rules")."""

    value: Annotated[str, AfterValidator(_address_or_range)]
    action: Literal["Allow"] = "Allow"


class AdmittedSubnet(NetworkRule):
    """Subnet that the firewall admits."""

    action: Literal["Allow"] = "Allow"


class Firewall(NetworkAcls):
    """Firewall of an account."""

    ip_rules: list[StorageIpRule] = Field(default_factory=list)  # type: ignore[assignment]
    virtual_network_rules: list[AdmittedSubnet] = Field(default_factory=list)  # type: ignore[assignment]


class StorageAccountProperties(BodyPart):
    """Properties of an account."""

    allow_blob_public_access: Literal[False]
    allow_shared_key_access: Literal[False]
    """Account keys are legacy; the lab evaluates roles."""
    minimum_tls_version: Literal["TLS1_2", "TLS1_3"] = "TLS1_2"
    supports_https_traffic_only: Literal[True] = True
    public_network_access: Literal["Enabled"] = "Enabled"
    network_acls: Firewall = Field(default_factory=Firewall)


class StorageAccount(Located):
    """A storage account."""

    kind: Literal["StorageV2", "BlockBlobStorage"]
    sku: StorageAccountSku
    properties: StorageAccountProperties


def check(put: Put) -> None:
    """Refuse a name that is invalid or taken (names are global), and firewall rules for subnets without the
    endpoint."""
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
        document = put.find(rule["id"], type=subnet.TYPE)
        if STORAGE not in {endpoint["service"] for endpoint in document.body["properties"]["serviceEndpoints"]}:
            message = (
                f"Subnet {document.id} of account {name} has no service endpoint {STORAGE}: add it to the subnet first."
            )
            raise ArmError(400, "NetworkAclsValidationFailure", message)


def find(store: DocumentStore, name: str) -> ResourceDocument | None:
    """Return the account of this name; None when there is none."""
    return next((document for document in store.of_type(TYPE) if document.name.lower() == name.lower()), None)


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the URL of the account's blobs."""
    return {"primaryEndpoints": {"blob": f"https://{document.name.lower()}{SUFFIX}/"}}


SPEC = TypeSpec(
    type=TYPE,
    model=StorageAccount,
    check=check,
    view=view,
    read_only=frozenset({"primaryEndpoints", "primaryLocation", "statusOfPrimary", "creationTime"}),
)
