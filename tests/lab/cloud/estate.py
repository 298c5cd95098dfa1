"""Bodies of a small control plane's resources, in the form that the resource manager takes."""

from __future__ import annotations

import base64
from typing import Any

from tests.lab.cloud.conftest import GROUP, IMAGE, NETWORK, Live

PROVIDERS = f"{GROUP}/providers"
NSG = f"{PROVIDERS}/Microsoft.Network/networkSecurityGroups/rules"
ADDRESS = f"{PROVIDERS}/Microsoft.Network/publicIPAddresses/egress"
NAT = f"{PROVIDERS}/Microsoft.Network/natGateways/nat"
SUBNET = f"{NETWORK}/subnets/api"
BALANCER = f"{PROVIDERS}/Microsoft.Network/loadBalancers/api"
NIC = f"{PROVIDERS}/Microsoft.Network/networkInterfaces/api-0"
IDENTITY = f"{PROVIDERS}/Microsoft.ManagedIdentity/userAssignedIdentities/api-0"
VM = f"{PROVIDERS}/Microsoft.Compute/virtualMachines/api-0"
VAULT = f"{PROVIDERS}/Microsoft.KeyVault/vaults/lh-lab-vault"
ZONE = f"{PROVIDERS}/Microsoft.Network/privateDnsZones/lab.internal"
WHERE = {"location": "westeurope"}


def rule(name: str, priority: int, **changes: Any) -> dict[str, Any]:
    properties = {
        "protocol": "Tcp",
        "access": "Allow",
        "direction": "Inbound",
        "priority": priority,
        "sourceAddressPrefix": "*",
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
        "destinationPortRange": "6443",
    }
    return {"name": name, "properties": {**properties, **changes}}


def network(prefix: str = "127.8.0.0/16") -> dict[str, Any]:
    return {**WHERE, "properties": {"addressSpace": {"addressPrefixes": [prefix]}}}


def subnet(prefix: str = "127.8.0.0/24", **properties: Any) -> dict[str, Any]:
    return {"properties": {"addressPrefix": prefix, **properties}}


def interface(
    address: str = "127.8.0.10", *, subnet_id: str = SUBNET, pool: bool = False, public: str = ""
) -> dict[str, Any]:
    pools = {"loadBalancerBackendAddressPools": [{"id": f"{BALANCER}/backendAddressPools/servers"}]} if pool else {}
    properties = {
        "privateIPAddress": address,
        "privateIPAllocationMethod": "Static",
        "subnet": {"id": subnet_id},
        **pools,
        **({"publicIPAddress": {"id": public}} if public else {}),
    }
    return {**WHERE, "properties": {"ipConfigurations": [{"name": "primary", "properties": properties}]}}


def balancer() -> dict[str, Any]:
    return {
        **WHERE,
        "sku": {"name": "Standard"},
        "properties": {
            "frontendIPConfigurations": [
                {
                    "name": "front",
                    "properties": {
                        "privateIPAddress": "127.8.0.100",
                        "privateIPAllocationMethod": "Static",
                        "subnet": {"id": SUBNET},
                    },
                }
            ],
            "backendAddressPools": [{"name": "servers"}],
            "probes": [
                {
                    "name": "ready",
                    "properties": {
                        "protocol": "Https",
                        "port": 6443,
                        "requestPath": "/readyz",
                        "intervalInSeconds": 5,
                        "probeThreshold": 2,
                    },
                }
            ],
            "loadBalancingRules": [
                {
                    "name": "api",
                    "properties": {
                        "protocol": "Tcp",
                        "frontendPort": 443,
                        "backendPort": 6443,
                        "frontendIPConfiguration": {"id": f"{BALANCER}/frontendIPConfigurations/front"},
                        "backendAddressPool": {"id": f"{BALANCER}/backendAddressPools/servers"},
                        "probe": {"id": f"{BALANCER}/probes/ready"},
                    },
                }
            ],
        },
    }


def machine(
    *, data: bytes = b"#cloud-config\n", size: str = "Standard_L8s_v3", nic: str = NIC, **changes: Any
) -> dict[str, Any]:
    body = {
        **WHERE,
        "zones": ["1"],
        "properties": {
            "hardwareProfile": {"vmSize": size},
            "storageProfile": {
                "imageReference": {"id": IMAGE},
                "osDisk": {"createOption": "FromImage"},
            },
            "osProfile": {
                "computerName": "api-0",
                "adminUsername": "longhaul",
                "customData": base64.b64encode(data).decode(),
                "linuxConfiguration": {"disablePasswordAuthentication": True},
            },
            "networkProfile": {"networkInterfaces": [{"id": nic, "properties": {"primary": True}}]},
        },
    }
    return {**body, **changes}


def public_address() -> dict[str, Any]:
    return {**WHERE, "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}}


def vault(live: Live, **acls: Any) -> dict[str, Any]:
    return {
        **WHERE,
        "properties": {
            "tenantId": live.cloud.operator_environment()["AZURE_TENANT_ID"],
            "sku": {"family": "A", "name": "standard"},
            "enableRbacAuthorization": True,
            "accessPolicies": [],
            "softDeleteRetentionInDays": 7,
            "networkAcls": {"defaultAction": "Deny", "bypass": "None", **acls},
        },
    }


def build(live: Live, *, with_machine: bool = True) -> None:
    """Make everything that one API server needs, and the server unless told otherwise."""
    live.make(GROUP, WHERE)
    live.make(NETWORK, network())
    live.make(NSG, {**WHERE, "properties": {"securityRules": [rule("api", 100)]}})
    live.make(ADDRESS, public_address())
    live.make(NAT, {**WHERE, "sku": {"name": "Standard"}, "properties": {"publicIpAddresses": [{"id": ADDRESS}]}})
    endpoints = [{"service": "Microsoft.KeyVault"}]
    group, gateway = {"id": NSG}, {"id": NAT}
    live.make(SUBNET, subnet(networkSecurityGroup=group, natGateway=gateway, serviceEndpoints=endpoints))
    live.make(BALANCER, balancer())
    live.make(NIC, interface(pool=True))
    live.make(IDENTITY, WHERE)
    live.make(ZONE, {"location": "global"})
    link = {"location": "global", "properties": {"virtualNetwork": {"id": NETWORK}, "registrationEnabled": False}}
    live.make(f"{ZONE}/virtualNetworkLinks/net", link)
    live.put(f"{ZONE}/A/api-0", {"properties": {"ttl": 60, "aRecords": [{"ipv4Address": "127.8.0.10"}]}})
    if with_machine:
        identity = {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}}
        live.put(VM, machine(identity=identity))
