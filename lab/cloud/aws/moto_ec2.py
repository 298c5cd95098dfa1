"""Corrects moto's EC2: addresses, resources that cannot be deleted while in use, and instances that take a while to
terminate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import DependencyViolationError, EC2ClientError

from lab.cloud.aws import addresses
from lab.cloud.aws.addresses import next_public
from lab.cloud.aws.nat_gateways import LabNatGateways
from lab.cloud.aws.quotas import ADDRESSES, check_quota
from lab.cloud.aws.vpn import LabVpnConnections

if TYPE_CHECKING:
    from lab.cloud.aws.owner import Owner

REMEMBERED_S = 3600.0
"""Seconds for which a terminated instance is still shown: about an hour
(docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html)."""


class LabEc2(LabVpnConnections, LabNatGateways):
    """One region's EC2."""

    account: Owner
    """Set by the account when it installs the backend; not part of the saved state."""

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "account"}

    def public_addresses(self) -> Iterator[IPv4Address]:
        """Yield the public addresses that this region holds."""
        for address in self.addresses:
            yield IPv4Address(address.public_ip)
        yield from self.tunnel_addresses()

    def allocate_address(self, domain: str, address: str | None = None, tags: dict[str, str] | None = None) -> Any:
        """Allocate an Elastic IP of the lab's range; moto invents addresses, and has no quota."""
        check_quota(ADDRESSES, len(self.addresses), applied=self.account.quotas, region=self.region_name)
        chosen = address or str(next_public(self.account.public_addresses()))
        return super().allocate_address(domain, address=chosen, tags=tags)

    def release_address(self, address: str | None = None, allocation_id: str | None = None) -> None:
        matches = [allocated for allocated in self.addresses if allocation_id in (allocated.allocation_id,)]
        if matches and matches[0].association_id:
            raise EC2ClientError("InvalidIPAddress.InUse", f"Address {matches[0].public_ip} is in use.")
        super().release_address(address, allocation_id)

    def take_address(self, subnet: Any) -> IPv4Address:
        """Return a free address of a subnet.

        Raises:
            EC2ClientError: ``InsufficientFreeAddressesInSubnet``.
        """
        free = addresses.free_address(
            IPv4Network(subnet.cidr_block), taken=self.taken(subnet), reservations=_reservations(subnet)
        )
        if free is None:
            text = f"There are not enough free addresses in subnet '{subnet.id}' to satisfy the requested number of "
            raise EC2ClientError("InsufficientFreeAddressesInSubnet", text + "instances.")
        return free

    def take_prefix(self, subnet: Any) -> IPv4Network:
        """Return a free /28 of a subnet.

        Raises:
            EC2ClientError: ``InsufficientCidrBlocks``.
        """
        free = addresses.free_prefix(
            IPv4Network(subnet.cidr_block),
            taken=self.taken(subnet),
            reservations=_reservations(subnet, kind="prefix"),
        )
        if free is None:
            text = "The specified subnet does not have enough free cidr blocks to satisfy the request."
            raise EC2ClientError("InsufficientCidrBlocks", text)
        return free

    def taken(self, subnet: Any) -> list[IPv4Network]:
        """Return the addresses and prefixes of a subnet's interfaces."""
        ranges = []
        for interface in self.enis.values():
            if interface.subnet.id == subnet.id:
                ranges += [
                    IPv4Network(private_ip_address["PrivateIpAddress"])
                    for private_ip_address in interface.private_ip_addresses
                ]
                ranges += prefixes_of(interface)
        return ranges

    def terminate_instances(self, instance_ids: list[str]) -> list[Any]:
        """Start to terminate instances; :meth:`finish_termination` follows when their machines are gone. moto
        terminates instances at once."""
        ended = []
        for instance in self.get_multi_instances_by_id(instance_ids):
            before = _State(name=instance.state, code=instance.state_code)
            if instance.state not in ("shutting-down", "terminated"):
                instance._state.name, instance._state.code = "shutting-down", 32
                instance._reason = "User initiated"
            ended.append((instance, before))
        return ended

    def finish_termination(self, instance: Any) -> None:
        """Terminate an instance whose machine is gone, and release its resources."""
        instance.terminate()
        instance.ended_at = time.time()

    def forget_ended(self) -> bool:
        """Forget instances that were terminated long ago; return whether there were any."""
        latest, has_changed = time.time() - REMEMBERED_S, False
        for reservation in list(self.reservations.values()):
            left = [instance for instance in reservation.instances if getattr(instance, "ended_at", latest) >= latest]
            has_changed = has_changed or len(left) < len(reservation.instances)
            reservation.instances = left
            if not left:
                del self.reservations[reservation.id]
        return has_changed

    def modify_network_interface_attribute(
        self,
        eni_id: str,
        group_ids: list[str],
        source_dest_check: bool | None = None,
        description: str | None = None,
    ) -> None:
        """Replace an interface's security groups; moto still counts the groups with which the instance was launched."""
        super().modify_network_interface_attribute(eni_id, group_ids, source_dest_check, description)
        interface = self.get_network_interface(eni_id)
        if group_ids and interface.instance is not None:
            if len(interface._group_set) != len(set(group_ids)) or None in interface._group_set:
                raise EC2ClientError("InvalidGroup.NotFound", f"One of {', '.join(group_ids)} does not exist")
            interface.instance.security_groups = list(interface._group_set)

    def delete_subnet(self, subnet_id: str) -> Any:
        if any(interface.subnet.id == subnet_id for interface in self.enis.values()):
            text = f"The subnet '{subnet_id}' has dependencies and cannot be deleted."
            raise DependencyViolationError(text)
        return super().delete_subnet(subnet_id)

    def delete_security_group(self, name: str | None = None, group_id: str | None = None) -> None:
        for interface in self.enis.values():
            if any(group.id == group_id for group in interface.group_set):
                raise DependencyViolationError(f"resource {group_id} has a dependent object")
        super().delete_security_group(name, group_id)

    def detach_internet_gateway(self, internet_gateway_id: str, vpc_id: str) -> None:
        alive = [
            nat_gateway
            for nat_gateway in self.nat_gateways.values()
            if nat_gateway.vpc_id == vpc_id and nat_gateway.state == "available"
        ]
        if alive:
            text = f"Network {vpc_id} has some mapped public address(es). Please unmap those public address(es) before "
            raise DependencyViolationError(text + "detaching the gateway.")
        super().detach_internet_gateway(internet_gateway_id, vpc_id)

    def delete_vpc(self, vpc_id: str) -> Any:
        attached = [
            internet_gateway
            for internet_gateway in self.internet_gateways.values()
            if getattr(internet_gateway.vpc, "id", None) == vpc_id
        ]
        endpoints = [
            vpc_end_point
            for vpc_end_point in self.vpc_end_points.values()
            if vpc_end_point.vpc_id == vpc_id and vpc_end_point.state != "deleted"
        ]
        groups = [group for group in self.groups.get(vpc_id, {}).values() if group.name != "default"]
        if attached or endpoints or groups:
            raise DependencyViolationError(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
        return super().delete_vpc(vpc_id)

    def delete_customer_gateway(self, customer_gateway_id: str) -> Any:
        connections = [
            vpn_connection
            for vpn_connection in self.vpn_connections.values()
            if vpn_connection.customer_gateway_id == customer_gateway_id
        ]
        if any(connection.state != "deleted" for connection in connections):
            raise EC2ClientError("IncorrectState", f"The customer gateway '{customer_gateway_id}' is in use.")
        return super().delete_customer_gateway(customer_gateway_id)

    def delete_vpn_gateway(self, vpn_gateway_id: str) -> Any:
        gateway = self.get_vpn_gateway(vpn_gateway_id)
        connections = [
            vpn_connection
            for vpn_connection in self.vpn_connections.values()
            if vpn_connection.vpn_gateway_id == vpn_gateway_id
        ]
        if any(vpc_attachment.state == "attached" for vpc_attachment in gateway.vpc_attachments) or any(
            connection.state != "deleted" for connection in connections
        ):
            raise EC2ClientError("IncorrectState", f"The vpnGateway ID '{vpn_gateway_id}' is in use.")
        return super().delete_vpn_gateway(vpn_gateway_id)


class _State:
    """State of an instance before a change."""

    def __init__(self, *, name: str, code: int) -> None:
        self.name = name
        self.code = code


def prefixes_of(interface: Any) -> list[IPv4Network]:
    """Return an interface's delegated prefixes."""
    return [IPv4Network(prefix["Ipv4Prefix"]) for prefix in getattr(interface, "ipv4_prefixes", [])]


def _reservations(subnet: Any, *, kind: str | None = None) -> list[IPv4Network]:
    reservations = subnet._cidr_reservations
    return [
        IPv4Network(str(reservation.cidr))
        for reservation in reservations
        if kind is None or reservation.reservation_type == kind
    ]
