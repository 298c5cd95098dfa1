"""Microsoft.KeyVault/vaults: access by roles only."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema import subnet
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.KeyVault/vaults"
DELETED = "deleted-vault"
"""Kind of the store's records that hold soft-deleted vaults, by name."""


class VaultSku(BodyPart):
    """SKU of a vault. Both tiers behave alike for secrets."""

    family: Literal["A"]
    name: Literal["standard", "premium"]


class NetworkRule(BodyPart):
    """Subnet that the firewall admits."""

    id: str
    ignore_missing_vnet_service_endpoint: Literal[False] = False


class VaultIpRule(BodyPart):
    """Public range that the firewall admits."""

    value: IPv4Network


class NetworkAcls(BodyPart):
    """Firewall of a vault or of a storage account."""

    bypass: Literal["None", "AzureServices"] = "AzureServices"
    """A storage account's lifecycle rules act only with ``AzureServices`` (lab/cloud/azure/lifecycle.py); no other
    trusted service uses the lab's resources."""
    default_action: Literal["Allow", "Deny"] = "Allow"
    ip_rules: list[VaultIpRule] = Field(default_factory=list)
    virtual_network_rules: list[NetworkRule] = Field(default_factory=list)


class VaultProperties(BodyPart):
    """Properties of a vault."""

    tenant_id: str
    sku: VaultSku
    enable_rbac_authorization: Literal[True]
    """Access policies are legacy; the lab evaluates roles."""
    access_policies: list[dict[str, Any]] | None = Field(default=None, max_length=0)
    enable_soft_delete: Literal[True] = True
    soft_delete_retention_in_days: int = Field(default=90, ge=7, le=90)
    enable_purge_protection: Literal[True] | None = None
    enabled_for_deployment: Literal[False] = False
    enabled_for_disk_encryption: Literal[False] = False
    enabled_for_template_deployment: Literal[False] = False
    public_network_access: Literal["Enabled", "enabled"] = "Enabled"
    network_acls: NetworkAcls = Field(default_factory=NetworkAcls)
    create_mode: Literal["default", "recover"] | None = None


class VaultBody(Located):
    """A key vault."""

    properties: VaultProperties


def check(put: Put) -> None:
    """Refuse a name that is invalid or taken, another tenant, a new vault without a list of access policies, and
    firewall rules for subnets without the endpoint.

    Names are global. A deleted vault keeps its name until it is purged.
    """
    name, properties = put.id.name, put.body["properties"]
    if not re.fullmatch(r"[a-zA-Z](?!.*--)[a-zA-Z0-9-]{1,22}[a-zA-Z0-9]", name):
        raise ArmError(
            400,
            "VaultNameNotValid",
            f"The vault name '{name}' is invalid. A vault's name must be between 3-24 alphanumeric characters. The "
            "name must "
            "begin with a letter, end with a letter or digit, and not contain consecutive hyphens.",
        )
    if properties["tenantId"].lower() != put.settings.tenant.lower():
        raise invalid(
            f"Vault '{name}': tenantId {properties['tenantId']} is not this subscription's tenant "
            f"{put.settings.tenant}."
        )
    _name_is_free(put)
    if "accessPolicies" not in properties:
        properties["accessPolicies"] = _policies_of_before(put)
    for rule in properties["networkAcls"]["virtualNetworkRules"]:
        document = put.find(rule["id"], type=subnet.TYPE)
        services = {endpoint["service"] for endpoint in document.body["properties"]["serviceEndpoints"]}
        if "Microsoft.KeyVault" not in services:
            raise ArmError(
                400,
                "VnetSubnetMissingServiceEndpoint",
                f"Subnet {document.id} of vault '{name}' has no service endpoint Microsoft.KeyVault: add it to the "
                "subnet first.",
            )
    recover = properties.pop("createMode", None) == "recover"
    put.hidden["recover"] = recover


def _policies_of_before(put: Put) -> list[Any]:
    """Return no access policies for a vault that exists or is recovered, and refuse the request for a new vault: Azure
    requires access policies there even when roles decide (Azure/azure-sdk-for-net issue 28677,
    pulumi/pulumi-azure-native issue 1478)."""
    if put.old is None and put.body["properties"].get("createMode") != "recover":
        raise ArmError(400, "BadRequest", "The parameter accessPolicies is not specified.")
    return []


def _name_is_free(put: Put) -> None:
    name = put.id.name.lower()
    for other in put.store.of_type(TYPE):
        if other.name.lower() == name and other.key != put.id.text.lower():
            raise ArmError(
                409, "VaultAlreadyExists", f"The vault name '{put.id.name}' is already in use by {other.id}."
            )
    deleted = put.store.record(DELETED, name)
    recover = put.body["properties"].get("createMode") == "recover"
    if put.old is None and deleted and not recover:
        raise ArmError(
            409,
            "ConflictError",
            "A vault with the same name already exists in deleted state. You need to either recover or purge "
            "existing key "
            "vault. Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more information on soft "
            "delete.",
        )
    if put.old is None and recover and not deleted:
        raise ArmError(404, "DeletedVaultNotFound", f"There is no deleted vault named '{put.id.name}' to recover.")


def find(store: DocumentStore, name: str) -> ResourceDocument | None:
    """Return the vault of this name, deleted vaults excepted; None when there is none."""
    for document in store.of_type(TYPE):
        if document.name.lower() == name.lower():
            return document
    return None


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the URL of the vault's secrets."""
    return {"vaultUri": f"https://{document.name.lower()}.vault.azure.net/"}


SPEC = TypeSpec(
    type=TYPE, model=VaultBody, check=check, view=view, read_only=frozenset({"vaultUri", "hsmPoolResourceId"})
)
