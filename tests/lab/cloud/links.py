"""Bodies of gateways, connections and peerings, in the form that the resource manager takes."""

from __future__ import annotations

from typing import Any

from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, NETWORK, Live

NETWORKING = f"{GROUP}/providers/Microsoft.Network"
GATEWAY_SUBNET = f"{NETWORK}/subnets/GatewaySubnet"
ADDRESSES = (f"{NETWORKING}/publicIPAddresses/vpn-0", f"{NETWORKING}/publicIPAddresses/vpn-1")
GATEWAY = f"{NETWORKING}/virtualNetworkGateways/vpn"
REMOTE = f"{NETWORKING}/localNetworkGateways/rack"
CONNECTION = f"{NETWORKING}/connections/rack"
SECOND_NETWORK = f"{NETWORKING}/virtualNetworks/second"
PEERING = f"{NETWORK}/virtualNetworkPeerings/second"
BACK = f"{SECOND_NETWORK}/virtualNetworkPeerings/net"
KEY = "correct_horse_battery"


def address(**changes: Any) -> dict[str, Any]:
    properties = {"publicIPAllocationMethod": "Static"}
    return {**estate.WHERE, "sku": {"name": "Standard"}, "zones": ["1", "2"], "properties": properties, **changes}


def gateway(*addresses: str, subnet: str = GATEWAY_SUBNET, sku: str = "VpnGw2AZ", **changes: Any) -> dict[str, Any]:
    chosen = addresses or ADDRESSES
    configurations = [
        {"name": f"instance-{i}", "properties": {"publicIPAddress": {"id": one}, "subnet": {"id": subnet}}}
        for i, one in enumerate(chosen)
    ]
    properties = {
        "gatewayType": "Vpn",
        "vpnType": "RouteBased",
        "vpnGatewayGeneration": "Generation2",
        "sku": {"name": sku, "tier": sku},
        "activeActive": True,
        "ipConfigurations": configurations,
    }
    return {**estate.WHERE, "properties": {**properties, **changes}}


def remote(address: str = "198.51.100.20", prefix: str = "10.66.0.0/16") -> dict[str, Any]:
    space = {"addressPrefixes": [prefix]}
    return {**estate.WHERE, "properties": {"gatewayIpAddress": address, "localNetworkAddressSpace": space}}


def policy(**changes: Any) -> dict[str, Any]:
    return {
        "ikeEncryption": "GCMAES256",
        "ikeIntegrity": "SHA384",
        "dhGroup": "ECP384",
        "ipsecEncryption": "GCMAES256",
        "ipsecIntegrity": "GCMAES256",
        "pfsGroup": "ECP384",
        "saLifeTimeSeconds": 3600,
        "saDataSizeKilobytes": 102400000,
        **changes,
    }


def connection(**changes: Any) -> dict[str, Any]:
    properties = {
        "connectionType": "IPsec",
        "connectionProtocol": "IKEv2",
        "virtualNetworkGateway1": {"id": GATEWAY},
        "localNetworkGateway2": {"id": REMOTE},
        "sharedKey": KEY,
        "dpdTimeoutSeconds": 30,
        "usePolicyBasedTrafficSelectors": True,
        "ipsecPolicies": [policy()],
        "trafficSelectorPolicies": [{"localAddressRanges": ["127.8.0.0/16"], "remoteAddressRanges": ["10.66.0.0/16"]}],
    }
    return {**estate.WHERE, "properties": {**properties, **changes}}


def peering(to: str) -> dict[str, Any]:
    return {"properties": {"remoteVirtualNetwork": {"id": to}, "allowVirtualNetworkAccess": True}}


def build(live: Live) -> None:
    """Make a network with a machine, and a connection from both instances of its gateway to a rack."""
    estate.build(live)
    live.make(GATEWAY_SUBNET, estate.subnet("127.8.255.0/27"))
    for one in ADDRESSES:
        live.make(one, address())
    live.make(GATEWAY, gateway())
    live.make(REMOTE, remote())
    live.put(CONNECTION, connection())


def code(response: Any) -> str:
    """Return the code of an error that the resource manager answered."""
    return str(response.json()["error"]["code"])
