"""Microsoft.Network/networkSecurityGroups, with their rules inline."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from clouds.azure.service_tags import CLOUD, WORDS
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/networkSecurityGroups"
SERVICE_TAGS = frozenset(
    {"VirtualNetwork", "AzureLoadBalancer", "Internet", "AzureKeyVault", "AzureCloud", "AzureResourceManager",
     "AzureActiveDirectory", "Storage"}
)  # fmt: skip
"""Service tags of the lab, a subset of Azure's. ``AzureCloud`` is the only tag with regional variants in the lab."""


def is_prefix(text: str) -> bool:
    """Return whether a text is a range, ``*`` (any address), or a service tag."""
    tag, _, region = text.partition(".")
    if text == "*" or text in SERVICE_TAGS or (tag == CLOUD and region in WORDS):
        return True
    try:
        IPv4Network(text, strict=False)
    except ValueError:
        return False
    return True


def _ports(text: str) -> str:
    if text == "*":
        return text
    low, _, high = text.partition("-")
    if not (low.isdigit() and (high or low).isdigit() and 0 <= int(low) <= int(high or low) <= 65535):
        raise ValueError(f"'{text}' is not a port, a range low-high, or *")
    return text


Ports = Annotated[str, AfterValidator(_ports)]


class SecurityRuleProperties(BodyPart):
    """Properties of a rule."""

    description: str | None = Field(default=None, max_length=140)
    protocol: Literal["Tcp", "Udp", "Icmp", "*"]
    access: Literal["Allow", "Deny"]
    direction: Literal["Inbound", "Outbound"]
    priority: int = Field(ge=100, le=4096)
    source_address_prefix: str | None = None
    source_address_prefixes: list[str] = Field(default_factory=list)
    destination_address_prefix: str | None = None
    destination_address_prefixes: list[str] = Field(default_factory=list)
    source_port_range: Literal["*"] | None = None
    """The lab does not filter by source port."""
    source_port_ranges: list[Literal["*"]] = Field(default_factory=list)
    destination_port_range: Ports | None = None
    destination_port_ranges: list[Ports] = Field(default_factory=list)


class SecurityRule(BodyPart):
    """A named rule."""

    name: str = Field(min_length=1, max_length=80)
    id: str | None = None
    type: str | None = None
    properties: SecurityRuleProperties


class SecurityGroupProperties(BodyPart):
    """Properties of a group."""

    security_rules: list[SecurityRule] = Field(default_factory=list)
    flush_connection: Literal[False] = False


class NetworkSecurityGroup(Located):
    """A network security group."""

    properties: SecurityGroupProperties = Field(default_factory=SecurityGroupProperties)


def check(put: Put) -> None:
    """Refuse duplicate names and priorities, unknown prefixes, and rules that do not name each side and the ports
    exactly once."""
    rule_names: dict[tuple[str, int], str] = {}
    names: set[str] = set()
    for rule in put.body["properties"]["securityRules"]:
        properties, name = rule["properties"], rule["name"]
        key = (properties["direction"], properties["priority"])
        if key in rule_names:
            raise ArmError(
                400,
                "SecurityRuleConflict",
                f"Security rule {name} conflicts with rule {rule_names[key]}. Rules cannot have the same Priority and "
                "Direction.",
            )
        if name.lower() in names:
            raise ArmError(400, "DuplicateResourceName", f"{put.id.name} has two security rules named {name}.")
        rule_names[key] = name
        names.add(name.lower())
        _check_prefixes(put, rule)
        for singular, many, code in (
            ("sourceAddressPrefix", "sourceAddressPrefixes", "SecurityRuleInvalidAddressPrefix"),
            ("destinationAddressPrefix", "destinationAddressPrefixes", "SecurityRuleInvalidAddressPrefix"),
            ("destinationPortRange", "destinationPortRanges", "SecurityRuleInvalidPortRange"),
        ):
            if bool(properties.get(singular)) == bool(properties.get(many)):
                raise ArmError(
                    400, code, f"Security rule {name} of {put.id.name} must have either {singular} or {many}."
                )
        if not (properties.get("sourcePortRange") or properties.get("sourcePortRanges")):
            raise ArmError(400, "SecurityRuleInvalidPortRange", f"Security rule {name} must have sourcePortRange '*'.")


def _check_prefixes(put: Put, rule: dict[str, Any]) -> None:
    """Refuse prefixes that are not valid, in the words of Azure/bicep-registry-modules issue 5313."""
    properties = rule["properties"]
    for side in ("source", "destination"):
        prefix = properties.get(f"{side}AddressPrefix")
        for text in (*([prefix] if prefix else ()), *properties[f"{side}AddressPrefixes"]):
            if not is_prefix(text):
                raise ArmError(
                    400,
                    "SecurityRuleInvalidAddressPrefix",
                    f"Security rule {put.id.text}/securityRules/{rule['name']} has invalid Address prefix. Value "
                    f"provided: {text}",
                )


USERS = (
    "Microsoft.Network/virtualNetworks/subnets",
    "Microsoft.Network/networkInterfaces",
    "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces",
)
"""Types that a group can be attached to."""


def users(store: DocumentStore, group_id: str) -> list[str]:
    """Return the ids of the subnets and interfaces that use the group."""
    wanted = group_id.lower()
    return [
        document.id
        for type in USERS
        for document in store.of_type(type)
        if document.body["properties"].get("networkSecurityGroup", {}).get("id", "").lower() == wanted
    ]


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the subnets and interfaces to which the group is attached."""
    used = users(store, document.id)
    subnets = [{"id": user} for user in used if "/subnets/" in user]
    interfaces = [{"id": user} for user in used if "/subnets/" not in user]
    return {**({"subnets": subnets} if subnets else {}), **({"networkInterfaces": interfaces} if interfaces else {})}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a group while a subnet or an interface uses it."""
    used = users(store, document.id)
    if used:
        raise ArmError(
            400,
            "InUseNetworkSecurityGroupCannotBeDeleted",
            f"Network security group {document.id} cannot be deleted because it is in use by the following resources: "
            f"{', '.join(used)}.",
        )


SPEC = TypeSpec(
    type=TYPE,
    model=NetworkSecurityGroup,
    check=check,
    view=view,
    in_use=in_use,
    read_only=frozenset({"defaultSecurityRules", "subnets", "networkInterfaces"}),
)
