"""The Azure end of site-to-site IPsec: a site's gateway, and one connection for each address of a remote site."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

import pulumi
from pulumi import ComponentResource, Output, Resource, ResourceOptions
from pulumi_azure_native import network

from clouds.azure.names import GATEWAY_SUBNET
from clouds.azure.vpn_gateway import GatewaySize
from clouds.azure.zones import address_zones
from clouds.base.ipsec import SUITE

CIPHERS = {"AES-256-GCM": "GCMAES256"}
DERIVATIONS = {"SHA-384": "SHA384"}
GROUPS = {"ECP-384": "ECP384"}
"""Names of algorithms in Azure (learn.microsoft.com/azure/vpn-gateway/ipsec-ike-policy-howto, "IPsec/IKE policy
parameters")."""


@dataclass(frozen=True, kw_only=True)
class AzureVpnGatewayArgs:
    """Arguments of a gateway."""

    region: str
    zones: Sequence[str]
    size: GatewaySize
    resource_group: pulumi.Input[str]
    network_name: pulumi.Input[str]
    """Name of the site's virtual network."""
    subnet: IPv4Network
    """Range of the gateway's subnet: the `gateway` part of the site's plan."""
    tags: Mapping[str, str]
    after: Sequence[Resource] = ()
    """Resources that must be complete before the gateway's subnet: Azure changes one subnet of a network at a time."""
    called: str | None = None
    """Name in Azure; if left out, the name in the program."""
    network_group: pulumi.Input[str] | None = None
    """Resource group of the network; if left out, the site's own."""
    subnet_id: pulumi.Input[str] | None = None
    """Id of the gateway's subnet where it exists already; if left out, the subnet is made."""


class AzureVpnGateway(ComponentResource):
    """A site's virtual network gateway. Azure needs half an hour to make one. Its address is known at once, so the
    other sites do not wait for the gateway. One instance is active; the other takes over the address when the first
    fails."""

    gateway_id: Output[str]
    address: Output[str]
    """Static public address."""
    subnet: network.Subnet | None
    """Subnet of the gateway, if it was made here."""

    def __init__(self, name: str, args: AzureVpnGatewayArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:VpnGateway", name, None, opts)
        self._name, self._args, self._child = name, args, ResourceOptions(parent=self)
        self._called = args.called or name
        address = self._address()
        self.subnet = None if args.subnet_id else self._subnet()
        subnet_id = self.subnet.id if self.subnet else args.subnet_id
        gateway = network.VirtualNetworkGateway(
            f"{name}-gateway",
            virtual_network_gateway_name=self._called,
            resource_group_name=args.resource_group,
            location=args.region,
            gateway_type="Vpn",
            vpn_type="RouteBased",
            vpn_gateway_generation=args.size.generation,
            sku=network.VirtualNetworkGatewaySkuArgs(name=args.size.name, tier=args.size.name),
            active_active=False,
            enable_bgp=False,
            ip_configurations=[
                network.VirtualNetworkGatewayIPConfigurationArgs(
                    name="instance-0",
                    private_ip_allocation_method="Dynamic",
                    public_ip_address=network.SubResourceArgs(id=address.id),
                    subnet=network.SubResourceArgs(id=subnet_id),
                )
            ],
            tags=args.tags,
            # Azure upgrades gateways of generation 1 by itself (learn.microsoft.com, "Upgrade gateway SKUs").
            opts=ResourceOptions.merge(self._child, ResourceOptions(ignore_changes=["vpnGatewayGeneration"])),
        )
        self.gateway_id = gateway.id
        self.address = _known(address)
        self.register_outputs({"gateway_id": self.gateway_id})

    def _subnet(self) -> network.Subnet:
        args = self._args
        return network.Subnet(
            f"{self._name}-subnet",
            subnet_name=GATEWAY_SUBNET,
            resource_group_name=args.network_group or args.resource_group,
            virtual_network_name=args.network_name,
            address_prefix=str(args.subnet),
            opts=ResourceOptions(parent=self, depends_on=list(args.after)),
        )

    def _address(self) -> network.PublicIPAddress:
        return network.PublicIPAddress(
            f"{self._name}-address-0",
            public_ip_address_name=f"{self._called}-0",
            resource_group_name=self._args.resource_group,
            location=self._args.region,
            public_ip_allocation_method="Static",
            sku=network.PublicIPAddressSkuArgs(name="Standard", tier="Regional"),
            zones=address_zones(self._args.region, self._args.zones),
            tags=self._args.tags,
            opts=ResourceOptions.merge(self._child, ResourceOptions(ignore_changes=["zones"])),
        )


def _known(address: network.PublicIPAddress) -> Output[str]:
    """Return a public address. Azure assigns a static address when it is made, so its absence is an error."""

    def check(value: str | None) -> str:
        if not value:
            raise RuntimeError("Azure made a public address without an address; run `longhaul up` again")
        return value

    return address.ip_address.apply(check)


@dataclass(frozen=True, kw_only=True)
class AzureVpnPeerArgs:
    """Arguments of a connection to one remote gateway."""

    region: str
    resource_group: pulumi.Input[str]
    gateway_id: pulumi.Input[str]
    """The site's virtual network gateway."""
    remote_address: pulumi.Input[str]
    """Static public address of the remote gateway."""
    local: IPv4Network
    """The Azure site's block."""
    remote: IPv4Network
    """The remote site's block."""
    key: pulumi.Input[str]
    """Pre-shared key, which this component always marks as secret. Printable ASCII without space, hyphen and tilde
    (learn.microsoft.com, "VPN Gateway FAQ")."""
    tags: Mapping[str, str]
    called: str | None = None
    """Name in Azure; if left out, the name in the program."""


class AzureVpnPeer(ComponentResource):
    """Azure's record of the remote gateway, and the connection to that gateway from every active instance."""

    connection_id: Output[str]

    def __init__(self, name: str, args: AzureVpnPeerArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:VpnPeer", name, None, opts)
        called = args.called or name
        remote = network.LocalNetworkGateway(
            f"{name}-remote",
            local_network_gateway_name=called,
            resource_group_name=args.resource_group,
            location=args.region,
            gateway_ip_address=args.remote_address,
            local_network_address_space=network.AddressSpaceArgs(address_prefixes=[str(args.remote)]),
            tags=args.tags,
            opts=ResourceOptions(parent=self),
        )
        connection = network.VirtualNetworkGatewayConnection(
            f"{name}-connection",
            virtual_network_gateway_connection_name=called,
            resource_group_name=args.resource_group,
            location=args.region,
            connection_type="IPsec",
            connection_protocol="IKEv2",
            connection_mode="Default",
            virtual_network_gateway1=network.VirtualNetworkGatewayArgs(id=args.gateway_id),
            local_network_gateway2=network.LocalNetworkGatewayArgs(id=remote.id),
            shared_key=Output.secret(args.key),
            enable_bgp=False,
            dpd_timeout_seconds=SUITE.silence_s,
            ipsec_policies=[_policy()],
            use_policy_based_traffic_selectors=True,
            traffic_selector_policies=[
                network.TrafficSelectorPolicyArgs(
                    local_address_ranges=[str(args.local)], remote_address_ranges=[str(args.remote)]
                )
            ],
            tags=args.tags,
            opts=ResourceOptions(parent=self, additional_secret_outputs=["sharedKey"]),
        )
        self.connection_id = connection.id
        self.register_outputs({"connection_id": self.connection_id})


def _policy() -> network.IpsecPolicyArgs:
    """Return the suite as Azure's policy. For a tunnel with AES-GCM, Azure requires that algorithm's name as the
    integrity algorithm too. The lifetime of IKE's keys cannot be set."""
    cipher, group = CIPHERS[SUITE.cipher], GROUPS[SUITE.group]
    return network.IpsecPolicyArgs(
        ike_encryption=cipher,
        ike_integrity=DERIVATIONS[SUITE.derivation],
        dh_group=group,
        ipsec_encryption=cipher,
        ipsec_integrity=cipher,
        pfs_group=group,
        sa_life_time_seconds=SUITE.tunnel_s,
        sa_data_size_kilobytes=102_400_000,
    )
