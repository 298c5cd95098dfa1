"""Microsoft.Network/connections: site-to-site IPsec between a gateway and a local network gateway.

Rules of policies, selectors and dead-peer detection are from learn.microsoft.com/azure/vpn-gateway,
ipsec-ike-policy-howto and vpn-gateway-about-compliance-crypto; those of shared keys are from vpn-gateway-vpn-faq. The
error code for a second connection between the same ends is one that the real service was reported to answer.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError, invalid, unsupported
from lab.cloud.azure.ipsec import DH_GROUPS, IKE_ENCRYPTION, IKE_INTEGRITY, IPSEC_ENCRYPTION, PFS_GROUPS
from lab.cloud.azure.schema import local_network_gateway, public_ip_address, virtual_network_gateway
from lab.cloud.azure.schema.base import BodyPart, Located, Put, Ref, TypeSpec
from lab.cloud.azure.schema.local_network_gateway import CONNECTION_TYPE
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = CONNECTION_TYPE
KEY_LIMIT = 128
"""Largest number of characters in a shared key."""


class GatewayRef(Ref):
    """A reference to a gateway. Azure shows it with empty properties."""

    properties: dict[str, Any] | None = Field(default=None, max_length=0)


class IpsecPolicy(BodyPart):
    """Algorithms, by Azure's names; a policy names all of them."""

    ike_encryption: str
    ike_integrity: str
    dh_group: str
    ipsec_encryption: str
    ipsec_integrity: str
    pfs_group: str
    sa_life_time_seconds: int = Field(ge=300, le=172799)
    sa_data_size_kilobytes: int = Field(ge=1024, le=2147483647)


class TrafficSelectorPolicy(BodyPart):
    """Local and remote ranges of a traffic selector."""

    local_address_ranges: list[IPv4Network] = Field(min_length=1)
    remote_address_ranges: list[IPv4Network] = Field(min_length=1)


class GatewayConnectionProperties(BodyPart):
    """Properties of a connection."""

    connection_type: Literal["IPsec"]
    connection_protocol: Literal["IKEv2"] = "IKEv2"
    connection_mode: Literal["Default", "ResponderOnly", "InitiatorOnly"] = "Default"
    virtual_network_gateway1: GatewayRef = Field(alias="virtualNetworkGateway1")
    local_network_gateway2: GatewayRef = Field(alias="localNetworkGateway2")
    shared_key: str | None = Field(default=None, repr=False)
    """Write-only; ``…/sharedkey`` returns it."""
    enable_bgp: Literal[False] = False
    routing_weight: int = Field(default=0, ge=0, le=32000)
    """Azure uses the weight only for ExpressRoute."""
    dpd_timeout_seconds: int = Field(default=45, ge=9, le=3600)
    use_policy_based_traffic_selectors: bool = False
    use_local_azure_ip_address: Literal[False] = False
    ipsec_policies: list[IpsecPolicy] = Field(default_factory=list, max_length=1)
    traffic_selector_policies: list[TrafficSelectorPolicy] = Field(default_factory=list, max_length=1)
    """Azure accepts 100; a tunnel of the lab has one."""


class GatewayConnection(Located):
    """A connection."""

    properties: GatewayConnectionProperties


def check(put: Put) -> None:
    """Refuse ends that do not exist, a second connection between the same ends, and algorithms or a
    key that Azure does not accept."""
    properties = put.body["properties"]
    gateway = put.find(properties["virtualNetworkGateway1"]["id"], type=virtual_network_gateway.TYPE)
    remote = put.find(properties["localNetworkGateway2"]["id"], type=local_network_gateway.TYPE)
    put.same_region(gateway)
    _only_one(put, gateway, remote)
    _room(put, gateway)
    addresses = {address.hidden["address"] for address in public_ip_address.addresses_of(put.store, gateway)}
    if remote.body["properties"]["gatewayIpAddress"] in addresses:
        raise ArmError(
            400,
            "LocalNetworkGatewayCannotHaveSameAddressAsConnectedVnetGateway",
            f"Local network gateway {remote.id} has the address of the gateway that it is connected to, {gateway.id}.",
        )
    if not properties["usePolicyBasedTrafficSelectors"]:
        if properties["trafficSelectorPolicies"]:
            raise invalid(f"{put.id.name}: trafficSelectorPolicies need usePolicyBasedTrafficSelectors.")
        raise unsupported(f"{put.id.name}: the lab's tunnels carry named ranges: set usePolicyBasedTrafficSelectors.")
    if not properties["ipsecPolicies"]:
        raise invalid(f"{put.id.name}: usePolicyBasedTrafficSelectors needs an entry in ipsecPolicies.")
    _policy(put, properties["ipsecPolicies"][0])
    _key(put, properties.pop("sharedKey", None))
    others = virtual_network_gateway.connections_of(put.store, gateway.id)
    put.hidden["age"] = age(put.old) if put.old else max(map(age, others), default=0) + 1


def age(connection: ResourceDocument) -> int:
    """Return a connection's position among those of its gateway, the oldest first."""
    return int(connection.hidden.get("age", 0))


def _room(put: Put, gateway: ResourceDocument) -> None:
    """Refuse a connection when the gateway's SKU has no tunnel left. Each connection counts as one tunnel
    (vpn-gateway-highlyavailable). Azure's code and wording are not published."""
    sku = gateway.body["properties"]["sku"]["name"]
    others = virtual_network_gateway.connections_of(put.store, gateway.id)
    most = virtual_network_gateway.TUNNELS[sku]
    if put.old is None and len(others) >= most:
        raise ArmError(
            400,
            "VirtualNetworkGatewayConnectionsLimitReached",
            f"Gateway {gateway.id} of SKU {sku} has {len(others)} connections; it can have {most}.",
        )


def _only_one(put: Put, gateway: ResourceDocument, remote: ResourceDocument) -> None:
    for other in virtual_network_gateway.connections_of(put.store, gateway.id):
        same = other.body["properties"]["localNetworkGateway2"]["id"].lower() == remote.key
        if same and other.key != put.id.text.lower():
            raise ArmError(
                400,
                "VirtualNetworkGatewayConnectionAlreadyExistsForEndpoints",
                f"A connection between {gateway.id} and {remote.id} exists already: {other.id}.",
            )
        if other.key != put.id.text.lower() and other.name.lower() == put.id.name.lower():
            raise unsupported(
                f"The lab names tunnels by their connection, and {gateway.name} has {other.name} already."
            )


def _policy(put: Put, policy: dict[str, Any]) -> None:
    """Refuse unknown algorithms. AES-GCM provides both the tunnel's encryption and its integrity, so both properties
    must name AES-GCM."""
    for name, known in (
        ("ikeEncryption", IKE_ENCRYPTION),
        ("ikeIntegrity", IKE_INTEGRITY),
        ("dhGroup", DH_GROUPS),
        ("ipsecEncryption", IPSEC_ENCRYPTION),
        ("pfsGroup", PFS_GROUPS),
    ):
        if policy[name] not in known:
            raise invalid(
                f"{put.id.name}: ipsecPolicies[0].{name} is {policy[name]!r}; the lab has {', '.join(known)}.",
                target=f"ipsecPolicies[0].{name}",
            )
    encryption, integrity = policy["ipsecEncryption"], policy["ipsecIntegrity"]
    sealed = encryption.startswith("GCM")
    if (sealed and integrity != encryption) or (not sealed and integrity not in ("SHA1", "SHA256", "MD5")):
        raise invalid(
            f"{put.id.name}: ipsecIntegrity {integrity!r} does not go with ipsecEncryption {encryption!r}: with GCMAES "
            "both are the same, else it is SHA256, SHA1 or MD5.",
            target="ipsecPolicies[0].ipsecIntegrity",
        )


def _key(put: Put, given: str | None) -> None:
    """Keep the key in ``hidden``, where no answer shows it."""
    key = given if given is not None else (put.old.hidden.get("sharedKey") if put.old else None)
    if key is not None:
        put.hidden["sharedKey"] = checked_key(key, of=put.id.name)


def checked_key(key: str, *, of: str) -> str:
    """Return the key, if Azure accepts it.

    Raises:
        ArmError: 400; the message does not contain the key.
    """
    printable = all(33 <= ord(character) <= 125 and character != "-" for character in key)
    if not key or len(key) > KEY_LIMIT or not printable:
        raise invalid(
            f"{of}: a shared key is 1 to {KEY_LIMIT} printable ASCII characters, without space, hyphen and tilde.",
            target="sharedKey",
        )
    return key


def view(_store: DocumentStore, _document: ResourceDocument) -> dict[str, Any]:
    """Return no further properties; a read of one connection adds the state of its tunnels."""
    return {}


SPEC = TypeSpec(
    type=TYPE,
    model=GatewayConnection,
    check=check,
    view=view,
    read_only=frozenset(
        {"connectionStatus", "tunnelConnectionStatus", "ingressBytesTransferred", "egressBytesTransferred"}
    ),
)
