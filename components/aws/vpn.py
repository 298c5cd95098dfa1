"""The AWS end of site-to-site IPsec: a site's gateway, and one VPN connection for each address of a remote site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

import pulumi
import pulumi_aws as aws
from pulumi import ComponentResource, Output, ResourceOptions

from clouds.base.ipsec import SUITE
from components.environment.links import VaultTunnelKeys
from components.model.network.tunnel_keys import TunnelKeys

UNUSED_ASN = "65000"
"""AS number of the remote gateway, for BGP. AWS requires one even where routes are static; 65000 is the example in
AWS's documentation."""


CIPHERS = {"AES-256-GCM": "AES256-GCM-16"}
DERIVATIONS = {"SHA-384": "SHA2-384"}
GROUPS = {"ECP-384": 20}
"""Names of algorithms in AWS (docs.aws.amazon.com, "Tunnel options for your AWS Site-to-Site VPN connection"); groups
have IANA's numbers."""


def tunnel_options(tunnel: int) -> dict[str, Any]:
    """Return the arguments of tunnel 1 or 2 for ``SUITE``. AWS and the remote end both start the tunnel, so it is up
    before there is traffic, whichever end comes back first."""
    cipher, derivation = CIPHERS[SUITE.cipher], DERIVATIONS[SUITE.derivation]
    group = GROUPS[SUITE.group]
    options: dict[str, Any] = {
        "ike_versions": ["ikev2"],
        "phase1_encryption_algorithms": [cipher],
        "phase1_integrity_algorithms": [derivation],
        "phase1_dh_group_numbers": [group],
        "phase1_lifetime_seconds": SUITE.ike_s,
        "phase2_encryption_algorithms": [cipher],
        "phase2_integrity_algorithms": [derivation],
        "phase2_dh_group_numbers": [group],
        "phase2_lifetime_seconds": SUITE.tunnel_s,
        "dpd_timeout_seconds": SUITE.silence_s,
        "dpd_timeout_action": "restart",
        "startup_action": "start",
    }
    return {f"tunnel{tunnel}_{name}": value for name, value in options.items()}


@dataclass(frozen=True, kw_only=True)
class AwsVpnGatewayArgs:
    """Arguments of a gateway."""

    region: str
    vpc_id: pulumi.Input[str]
    tags: Mapping[str, str]
    called: str | None = None
    """Name in the cloud; if left out, the name in the program."""


class AwsVpnGateway(ComponentResource):
    """A site's virtual private gateway: one for all its connections."""

    gateway_id: Output[str]

    def __init__(self, name: str, args: AwsVpnGatewayArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:VpnGateway", name, None, opts)
        gateway = aws.ec2.VpnGateway(
            f"{name}-gateway",
            region=args.region,
            vpc_id=args.vpc_id,
            tags={**args.tags, "Name": args.called or name},
            opts=ResourceOptions(parent=self),
        )
        self.gateway_id = gateway.id
        self.register_outputs({"gateway_id": self.gateway_id})


@dataclass(frozen=True, kw_only=True)
class AwsTunnel:
    """One of a connection's two tunnels, as the remote end needs it."""

    address: Output[str]
    """Public address of AWS's end."""
    keys: Output[TunnelKeys]
    """Pre-shared keys, secret. AWS uses one key, which it makes itself until a rotation replaces it."""


@dataclass(frozen=True, kw_only=True)
class AwsVpnPeerArgs:
    """Arguments of a connection to one remote gateway."""

    region: str
    gateway_id: pulumi.Input[str]
    """The site's virtual private gateway."""
    remote_address: pulumi.Input[str]
    """Static public address of the remote gateway."""
    local: IPv4Network
    """The AWS site's block."""
    remote: IPv4Network
    """The remote site's block."""
    keys: tuple[VaultTunnelKeys, VaultTunnelKeys]
    """The vault's keys by tunnel; empty until a rotation."""
    tags: Mapping[str, str]
    called: str | None = None
    """Name in the cloud; if left out, the name in the program."""


class AwsVpnPeer(ComponentResource):
    """A VPN connection to one remote gateway: two tunnels, one pair of site blocks in each."""

    tunnels: tuple[AwsTunnel, AwsTunnel]

    def __init__(self, name: str, args: AwsVpnPeerArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:VpnPeer", name, None, opts)
        child = ResourceOptions(parent=self)
        tags = {**args.tags, "Name": args.called or name}
        remote = aws.ec2.CustomerGateway(
            f"{name}-remote",
            region=args.region,
            type="ipsec.1",
            bgp_asn=UNUSED_ASN,
            ip_address=args.remote_address,
            # EC2 answers a second request for one address with the gateway of the first, unless their names differ
            # (`CreateCustomerGateway`). A changed name would make a new gateway, so an existing gateway keeps its name.
            device_name=args.called or name,
            tags=tags,
            opts=ResourceOptions(parent=self, ignore_changes=["deviceName"]),
        )
        connection = aws.ec2.VpnConnection(
            f"{name}-connection",
            region=args.region,
            type="ipsec.1",
            vpn_gateway_id=args.gateway_id,
            customer_gateway_id=remote.id,
            static_routes_only=True,
            # AWS calls the other side "local" and its own "remote".
            local_ipv4_network_cidr=str(args.remote),
            remote_ipv4_network_cidr=str(args.local),
            # AWS replaces a tunnel's end when its key changes (docs.aws.amazon.com, "Site-to-Site VPN tunnel endpoint
            # replacements"), and its provider changes one tunnel after the other.
            tunnel1_preshared_key=_given(args.keys[0]),
            tunnel2_preshared_key=_given(args.keys[1]),
            tags=tags,
            opts=ResourceOptions.merge(
                child, ResourceOptions(depends_on=[resource for key in args.keys for resource in key.made])
            ),
            **tunnel_options(1),
            **tunnel_options(2),
        )
        aws.ec2.VpnConnectionRoute(
            f"{name}-route",
            region=args.region,
            vpn_connection_id=connection.id,
            destination_cidr_block=str(args.remote),
            opts=child,
        )
        first, second = args.keys
        self.tunnels = (
            AwsTunnel(address=connection.tunnel1_address, keys=first.beside(connection.tunnel1_preshared_key)),
            AwsTunnel(address=connection.tunnel2_address, keys=second.beside(connection.tunnel2_preshared_key)),
        )
        self.register_outputs({})


def _given(keys: VaultTunnelKeys) -> Output[str | None]:
    """Return the key that AWS is to use, secret; None while AWS uses a key of its own."""
    return keys.beside().apply(lambda known: known.used or None)


@dataclass(frozen=True, kw_only=True)
class AwsRoutesArgs:
    """Arguments of the routes to a remote site."""

    region: str
    route_table_ids: Mapping[str, pulumi.Input[str]]
    """Id of each route table, by the suffix of its routes' names."""
    destination: IPv4Network
    """The remote site's block."""
    gateway_id: pulumi.Input[str] | None = None
    """Virtual private gateway as the target; ``None`` with a peering connection."""
    peering_id: pulumi.Input[str] | None = None
    """Peering connection as the target; ``None`` with a gateway."""


class AwsRoutes(ComponentResource):
    """A route to a remote site in each of a site's route tables. Routes follow from the address plan and are not
    propagated: they are the same whichever tunnel is up, and the gateway chooses a tunnel that is up."""

    def __init__(self, name: str, args: AwsRoutesArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:aws:Routes", name, None, opts)
        for end, table in args.route_table_ids.items():
            aws.ec2.Route(
                f"{name}-{end}",
                region=args.region,
                route_table_id=table,
                destination_cidr_block=str(args.destination),
                gateway_id=args.gateway_id,
                vpc_peering_connection_id=args.peering_id,
                opts=ResourceOptions(parent=self),
            )
        self.register_outputs({})
