"""Microsoft.Network/virtualNetworks/virtualNetworkPeerings: one half of a peering; each of the two networks holds one.

States and codes are from learn.microsoft.com/azure/virtual-network/virtual-network-troubleshoot-peering-issues and from
reports of the real service (github.com/hashicorp/terraform issue 18091, github.com/Azure/ResourceModules issue 731).
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any, Literal

from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.locks import provisioned
from lab.cloud.azure.schema import virtual_network
from lab.cloud.azure.schema.base import Body, BodyPart, Put, Ref, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/virtualNetworks/virtualNetworkPeerings"


class PeeringProperties(BodyPart):
    """Properties of one half of a peering."""

    remote_virtual_network: Ref
    allow_virtual_network_access: Literal[True] = True
    allow_forwarded_traffic: Literal[False] = False
    allow_gateway_transit: Literal[False] = False
    use_remote_gateways: Literal[False] = False
    do_not_verify_remote_gateways: Literal[False] = False
    peer_complete_vnets: Literal[True] = True


class VirtualNetworkPeering(Body):
    """One half of a peering."""

    tags: None = None
    properties: PeeringProperties


def halves_of(store: DocumentStore, network_id: str) -> list[ResourceDocument]:
    """Return the halves of peerings that a network holds."""
    return [document for document in store.below(network_id) if document.type.lower() == TYPE.lower()]


def network_of(document: ResourceDocument) -> str:
    """Return the id of the network that holds a half."""
    return document.id.rsplit("/", 2)[0]


def remote_of(document: ResourceDocument) -> str:
    """Return the id of the network at the other end."""
    return str(document.body["properties"]["remoteVirtualNetwork"]["id"])


def other_half(store: DocumentStore, *, network_id: str, remote_id: str) -> ResourceDocument | None:
    """Return the half that the other network holds; None when there is none."""
    for half in halves_of(store, remote_id):
        if remote_of(half).lower() == network_id.lower():
            return half
    return None


def state(store: DocumentStore, document: ResourceDocument) -> str:
    """Return ``Initiated`` until both halves exist, ``Connected`` while both exist, and ``Disconnected`` after the
    other half is gone."""
    if not document.hidden.get("connected"):
        return "Initiated"
    back = other_half(store, network_id=network_of(document), remote_id=remote_of(document))
    return "Connected" if back and back.hidden.get("connected") else "Disconnected"


def check(put: Put) -> None:
    """Refuse a second peering of the same networks, and networks that overlap each other or a network that is peered
    already."""
    own_id = put.id.parent or ""
    network = put.store.get(own_id)
    if network is None:
        raise ArmError(404, "ParentResourceNotFound", f"The parent {virtual_network.TYPE} '{own_id}' was not found.")
    remote = put.find(put.body["properties"]["remoteVirtualNetwork"]["id"], type=virtual_network.TYPE)
    if remote.key == network.key:
        raise invalid(f"{network.id} cannot be peered with itself.", target="remoteVirtualNetwork")
    provisioned(put.store, remote, by=put.id.text)
    for half in halves_of(put.store, network.id):
        if half.key == put.id.text.lower():
            continue
        if remote_of(half).lower() == remote.key:
            raise ArmError(
                400,
                "AnotherPeeringAlreadyReferencesRemoteVnet",
                f"Peering {put.id.text} cannot be created or updated because {half.id} already references remote "
                f"virtual network {remote.id}.",
            )
        third = put.store.get(remote_of(half))
        if third:
            _no_overlap(put, network, remote, third, code="VnetAddressSpaceOverlapsWithAlreadyPeeredVnet")
    _no_overlap(put, network, remote, network, code="VnetAddressSpacesOverlap")
    _connect(put, network, remote)


def _no_overlap(
    put: Put, network: ResourceDocument, remote: ResourceDocument, third: ResourceDocument, *, code: str
) -> None:
    for range_ in ranges(third):
        for other in ranges(remote):
            if range_.overlaps(other):
                raise ArmError(
                    400,
                    code,
                    f"Cannot create or update peering {put.id.text}. Virtual networks {network.id} and {remote.id} "
                    f"cannot be peered because their address space overlaps with that of {third.id}. "
                    f"Overlapping address prefixes: {range_}, {other}.",
                )


def _connect(put: Put, network: ResourceDocument, remote: ResourceDocument) -> None:
    back = other_half(put.store, network_id=network.id, remote_id=remote.id)
    if back is None:
        return
    if put.old is None and back.hidden.get("connected"):
        raise ArmError(
            400,
            "RemotePeeringIsDisconnected",
            f"Cannot create or update peering {put.id.text} because remote peering {back.id} referencing parent "
            f"virtual network {network.id} is in Disconnected state. Update or re-create the remote peering to get it "
            "back to Initiated state. Peering gets Disconnected when remote vnet or remote peering is deleted and "
            "re-created.",
        )
    put.hidden["connected"] = True
    put.store.put(back.id, type=TYPE, body=back.body, hidden={**back.hidden, "connected": True})


def ranges(network: ResourceDocument) -> list[IPv4Network]:
    """Return a network's address space."""
    return [IPv4Network(text) for text in network.body["properties"]["addressSpace"]["addressPrefixes"]]


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the state of the half, and the other network's ranges."""
    remote = store.get(remote_of(document))
    space = {"addressPrefixes": [str(range_) for range_ in ranges(remote)] if remote else []}
    return {
        "peeringState": state(store, document),
        "peeringSyncLevel": "FullyInSync",
        "remoteAddressSpace": space,
        "remoteVirtualNetworkAddressSpace": space,
    }


SPEC = TypeSpec(
    type=TYPE,
    model=VirtualNetworkPeering,
    check=check,
    view=view,
    parent=virtual_network.TYPE,
    read_only=frozenset(
        {"peeringState", "peeringSyncLevel", "remoteAddressSpace", "remoteVirtualNetworkAddressSpace",
         "remoteBgpCommunities", "remoteVirtualNetworkEncryption"}
    ),
)  # fmt: skip
