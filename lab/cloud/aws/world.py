"""Translates AWS's state into the state that the hypervisor should make."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import TYPE_CHECKING, Any

from lab.cloud.aws.proposals import proposals
from lab.cloud.aws.rules import rules_of
from lab.desired import DesiredGateway, DesiredMachine, DesiredSubnet, DesiredTunnel, Network, Peering, Route, World

if TYPE_CHECKING:
    from lab.cloud.aws.account import AwsAccount
    from lab.cloud.aws.moto_ec2 import LabEc2

EVERYWHERE = "0.0.0.0/0"


def build_world(account: AwsAccount) -> World:
    """Return the desired world of AWS, in all regions. The world leaves out the default VPCs, which every account has
    and the lab does not use."""
    return World(
        networks=tuple(_network(ec2, vpc) for ec2 in account.ec2 for vpc in _vpcs(ec2)),
        machines=tuple(
            _machine(account, ec2, instance) for ec2, instance in account.instances() if instance.state == "running"
        ),
        gateways=tuple(gateway for ec2 in account.ec2 for gateway in _gateways(ec2)),
        peerings=_peerings(account),
    )


def _vpcs(ec2: LabEc2) -> list[Any]:
    return [vpc for vpc in ec2.vpcs.values() if not vpc.is_default]


def _network(ec2: LabEc2, vpc: Any) -> Network:
    ranges = [association["cidr_block"] for association in vpc.cidr_block_association_set]
    subnets = [subnet for zone in ec2.subnets.values() for subnet in zone.values() if subnet.vpc_id == vpc.id]
    return Network(
        id=vpc.id,
        name=name_of(ec2, vpc),
        ranges=tuple(IPv4Network(text) for text in ranges),
        subnets=tuple(_subnet(ec2, vpc, subnet) for subnet in sorted(subnets, key=lambda subnet: subnet.id)),
    )


def name_of(ec2: LabEc2, resource: Any) -> str:
    """Return the Name tag of a resource, or its id when it has none."""
    return str(ec2.tags.get(resource.id, {}).get("Name") or resource.id)


def _subnet(ec2: LabEc2, vpc: Any, subnet: Any) -> DesiredSubnet:
    egress: tuple[IPv4Address, ...] = ()
    routes = []
    for route in _table(ec2, vpc, subnet)._routes.values():
        target = _target(route)
        if route.nat_gateway is not None and route.destination_cidr_block == EVERYWHERE:
            egress = _egress(route.nat_gateway)
        elif target is not None:
            routes.append(Route(destination=IPv4Network(route.destination_cidr_block), via=target))
    return DesiredSubnet(
        name=name_of(ec2, subnet),
        range=IPv4Network(subnet.cidr_block),
        egress=egress,
        routes=tuple(sorted(routes, key=lambda router_route: router_route.destination)),
    )


def _table(ec2: LabEc2, vpc: Any, subnet: Any) -> Any:
    """Return a subnet's own route table, or else the VPC's main one."""
    tables = [table for table in ec2.route_tables.values() if table.vpc_id == vpc.id]
    associated = [table for table in tables if subnet.id in table._associations.values()]
    return associated[0] if associated else next(table for table in tables if table.main_association_id)


def _target(route: Any) -> str | None:
    """Return the id of the gateway or peering that a route leads to; None if the hypervisor does not know it."""
    if route.vpc_pcx is not None:
        return str(route.vpc_pcx.id) if route.vpc_pcx._status.code == "active" else None
    gateway = getattr(route.gateway, "id", "")
    return str(gateway) if gateway.startswith("vgw-") else None


def _egress(gateway: Any) -> tuple[IPv4Address, ...]:
    addresses = gateway.address_set if gateway.state == "available" else ()
    return tuple(IPv4Address(address["publicIp"]) for address in addresses if address.get("publicIp"))


def _machine(account: AwsAccount, ec2: LabEc2, instance: Any) -> DesiredMachine:
    interface = instance.nics[0]
    length = IPv4Network(interface.subnet.cidr_block).prefixlen
    return DesiredMachine(
        id=instance.id,
        name=instance.id,
        generation=instance.id,
        network=interface.subnet.vpc_id,
        address=IPv4Interface(f"{interface.private_ip_address}/{length}"),
        routed=tuple(IPv4Network(ipv4_prefix["Ipv4Prefix"]) for ipv4_prefix in interface.ipv4_prefixes),
        rules=rules_of(ec2, interface),
        image=account.images.get(instance.image_id, instance.image_id),
        user_data=user_data(instance),
        local_ssd_gib=local_ssd_gib(instance.instance_type),
    )


def user_data(instance: Any) -> bytes:
    """Return an instance's user data, decoded; empty when it has none."""
    return base64.b64decode(str(instance.user_data)) if instance.user_data else b""


def local_ssd_gib(kind: str) -> int:
    """Return the instance storage of a type in GiB; 0 when it has none. moto has EC2's table, in GB."""
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    storage = INSTANCE_TYPES.get(kind, {}).get("InstanceStorageInfo", {})
    return int(storage.get("TotalSizeInGB", 0)) * 10**9 // 2**30


def _gateways(ec2: LabEc2) -> Iterator[DesiredGateway]:
    for gateway in ec2.vpn_gateways.values():
        attached = [
            vpc_attachment.vpc_id for vpc_attachment in gateway.vpc_attachments if vpc_attachment.state == "attached"
        ]
        if gateway.state == "deleted" or not attached:
            continue
        tunnels = tuple(_tunnels(ec2, gateway.id))
        yield DesiredGateway(
            id=gateway.id,
            name=name_of(ec2, gateway),
            network=attached[0],
            addresses=tuple(tunnel.local for tunnel in tunnels),
            tunnels=tunnels,
        )


def _tunnels(ec2: LabEc2, gateway_id: str) -> Iterator[DesiredTunnel]:
    """Yield the tunnels of a gateway's connections. A connection without a static route carries nothing, so its tunnels
    are left out."""
    from lab.cloud.aws.vpn import tunnel_name

    for connection in ec2.alive():
        if connection.vpn_gateway_id != gateway_id or not connection.routes:
            continue
        for index, options in enumerate(connection.tunnel_options):
            ike, esp = proposals(options)
            yield DesiredTunnel(
                name=tunnel_name(connection.id, index),
                local=IPv4Address(options["OutsideIpAddress"]),
                remote=IPv4Address(connection.remote_address),
                key=options["PreSharedKey"],
                # The connection names its ranges from the other side: its "remote" range is local here.
                local_ranges=(IPv4Network(connection.options["RemoteIpv4NetworkCidr"]),),
                remote_ranges=(IPv4Network(connection.options["LocalIpv4NetworkCidr"]),),
                ike_proposal=ike,
                esp_proposal=esp,
                ike_lifetime_s=int(options["Phase1LifetimeSeconds"]),
                esp_lifetime_s=int(options["Phase2LifetimeSeconds"]),
                dpd_s=int(options["DpdTimeoutSeconds"]),
                initiate=options["StartupAction"] == "start",
            )


def _peerings(account: AwsAccount) -> tuple[Peering, ...]:
    peerings = {
        peering.id: Peering(id=peering.id, first=peering.vpc.id, second=peering.peer_vpc.id)
        for ec2 in account.ec2
        for peering in ec2.vpc_pcxs.values()
        if peering._status.code == "active"
    }
    return tuple(peerings.values())
