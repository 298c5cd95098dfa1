"""Microsoft.Network/networkInterfaces.

A configuration may name a public address, which can be added and removed while the machine runs
(learn.microsoft.com/azure/virtual-network/ip-services/associate-public-ip-address-vm).
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any, Literal

from pydantic import Field

from contract.azure import MACHINES
from lab.cloud.azure.errors import ArmError, change_refused, invalid_reference
from lab.cloud.azure.schema import load_balancer, public_ip_address
from lab.cloud.azure.schema.base import BodyPart, Located, Put, Ref, TypeSpec
from lab.cloud.azure.schema.subnet import TYPE as SUBNET_TYPE
from lab.cloud.azure.schema.subnet import SubnetRef, check_address
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/networkInterfaces"


class InterfaceIpProperties(BodyPart):
    """Private, static address of an interface, and the public address that is translated to it."""

    private_ip_address: IPv4Address = Field(alias="privateIPAddress")
    private_ip_allocation_method: Literal["Static"] = Field(alias="privateIPAllocationMethod")
    private_ip_address_version: Literal["IPv4"] = Field(default="IPv4", alias="privateIPAddressVersion")
    subnet: SubnetRef
    primary: Literal[True] = True
    load_balancer_backend_address_pools: list[Ref] = Field(default_factory=list)
    public_ip_address: Ref | None = Field(default=None, alias="publicIPAddress")


class InterfaceIpConfiguration(BodyPart):
    """A named IP configuration."""

    name: str
    id: str | None = None
    type: str | None = None
    properties: InterfaceIpProperties


class DnsSettings(BodyPart):
    """DNS settings; the lab has only the network's own DNS."""

    dns_servers: list[str] = Field(default_factory=list, max_length=0)


class NetworkInterfaceProperties(BodyPart):
    """Properties of an interface."""

    ip_configurations: list[InterfaceIpConfiguration] = Field(min_length=1, max_length=1)
    """The lab's machines have one address; Azure takes up to 256."""
    network_security_group: Ref | None = None
    enable_accelerated_networking: bool = False
    """Ignored by the lab."""
    enable_ip_forwarding: bool = Field(default=False, alias="enableIPForwarding")
    """Ignored by the lab: its router drops packets whose source address is not the machine's."""
    dns_settings: DnsSettings | None = None
    disable_tcp_state_tracking: Literal[False] = False
    primary: bool | None = Field(default=None, exclude=True)
    """Read-only: set by the cloud, and ignored in a request."""
    nic_type: Literal["Standard"] = "Standard"
    auxiliary_mode: Literal["None"] = "None"
    auxiliary_sku: Literal["None"] = "None"


class NetworkInterface(Located):
    """A network interface."""

    properties: NetworkInterfaceProperties


def machine_of(store: DocumentStore, interface_id: str) -> ResourceDocument | None:
    """Return the machine to which the interface is attached."""
    for machine in store.of_type(MACHINES):
        ids = [ref["id"].lower() for ref in machine.body["properties"]["networkProfile"]["networkInterfaces"]]
        if interface_id.lower() in ids:
            return machine
    return None


def network_of(subnet_id: str) -> str:
    """Return the id of the network that a subnet is in."""
    return subnet_id.rsplit("/", 2)[0]


def check(put: Put) -> None:
    """Refuse an address in use, groups, pools and public addresses that do not exist, and a change of the network."""
    properties = put.body["properties"]
    for configuration in properties["ipConfigurations"]:
        inner = configuration["properties"]
        name = f"{put.id.text}/ipConfigurations/{configuration['name']}"
        subnet = put.find(inner["subnet"]["id"], type=SUBNET_TYPE)
        network = put.store.get(network_of(subnet.id))
        if network:
            put.same_region(network)
        address = IPv4Address(inner["privateIPAddress"])
        check_address(put, subnet_id=subnet.id, address=address, configuration=name)
        for pool in inner["loadBalancerBackendAddressPools"]:
            _check_pool(put, pool["id"])
        if "publicIPAddress" in inner:
            public = put.find(inner["publicIPAddress"]["id"], type=public_ip_address.TYPE)
            put.same_region(public)
            public_ip_address.check_free(put, public, part=f"/ipConfigurations/{configuration['name']}")
    if "networkSecurityGroup" in properties:
        put.same_region(
            put.find(properties["networkSecurityGroup"]["id"], type="Microsoft.Network/networkSecurityGroups")
        )
    if put.old:
        _same_network(put, put.old)


def _same_network(put: Put, old: ResourceDocument) -> None:
    before = old.body["properties"]["ipConfigurations"][0]["properties"]
    after = put.body["properties"]["ipConfigurations"][0]["properties"]
    if network_of(before["subnet"]["id"]).lower() != network_of(after["subnet"]["id"]).lower():
        raise change_refused("properties.ipConfigurations.subnet")
    if before["privateIPAddress"] != after["privateIPAddress"] and machine_of(put.store, old.id):
        raise ArmError(
            400,
            "NotSupportedByLab",
            f"{put.id.name}: the lab does not change the address of an interface whose machine exists; replace both.",
        )


def _check_pool(put: Put, pool_id: str) -> None:
    balancer_id, _, name = pool_id.rpartition("/backendAddressPools/")
    balancer = put.find(balancer_id, type=load_balancer.TYPE)
    if name.lower() not in {pool["name"].lower() for pool in balancer.body["properties"]["backendAddressPools"]}:
        raise invalid_reference(pool_id, by=put.id.text)


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the ids of the configurations, and the machine to which the interface is attached."""
    configurations = [
        {
            **item,
            "id": f"{document.id}/ipConfigurations/{item['name']}",
            "type": f"{TYPE}/ipConfigurations",
            "etag": document.etag,
            "properties": {**item["properties"], "provisioningState": "Succeeded"},
        }
        for item in document.body["properties"]["ipConfigurations"]
    ]
    machine = machine_of(store, document.id)
    attached = {"virtualMachine": {"id": machine.id}, "primary": True} if machine else {}
    return {"ipConfigurations": configurations, "hostedWorkloads": [], "tapConfigurations": [], **attached}


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete an interface while its machine exists."""
    machine = machine_of(store, document.id)
    if machine:
        raise ArmError(
            400,
            "NicInUse",
            f"Network Interface {document.id} is used by existing resource {machine.id}. In order to delete the "
            "network "
            "interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic.",
        )


SPEC = TypeSpec(
    type=TYPE,
    model=NetworkInterface,
    check=check,
    view=view,
    in_use=in_use,
    read_only=frozenset(
        {
            "virtualMachine",
            "hostedWorkloads",
            "tapConfigurations",
            "macAddress",
            "vnetEncryptionSupported",
            "appliedDnsServers",
            "internalDomainNameSuffix",
            "defaultOutboundConnectivityEnabled",
        }
    ),
)
