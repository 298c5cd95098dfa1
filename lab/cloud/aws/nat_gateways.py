"""NAT gateways with several addresses, which moto does not have.

docs.aws.amazon.com, EC2 API: ``CreateNatGateway``, ``AssociateNatGatewayAddress``, ``DisassociateNatGatewayAddress``,
``NatGatewayAddress``.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

from moto.ec2.exceptions import EC2ClientError, InvalidAssociationIdError, ResourceAlreadyAssociatedError
from moto.ec2.models import EC2Backend
from moto.ec2.utils import random_eip_association_id

from lab.cloud.aws.quotas import GATEWAY_ADDRESSES, check_quota

if TYPE_CHECKING:
    from lab.cloud.aws.owner import Owner


class LabNatGateways(EC2Backend):
    """NAT gateways of one region."""

    account: Owner

    def take_address(self, subnet: Any) -> IPv4Address:
        """Return a free address of a subnet."""
        raise NotImplementedError

    def create_nat_gateway(
        self,
        subnet_id: str,
        allocation_id: str,
        tags: dict[str, str] | None = None,
        connectivity_type: str | None = "public",
    ) -> Any:
        """Create a NAT gateway with an address of its subnet; moto gives it one outside the subnet."""
        address = self.take_address(self.get_subnet(subnet_id))
        gateway = super().create_nat_gateway(subnet_id, allocation_id, tags, connectivity_type or "public")
        interface = gateway._eni
        interface.private_ip_address = gateway.private_ip = str(address)
        interface.private_ip_addresses = [{"Primary": True, "PrivateIpAddress": str(address)}]
        gateway.address_set[0] |= {"privateIp": str(address), "isPrimary": True, "status": "succeeded"}
        return gateway

    def associate_nat_gateway_address(self, nat_gateway_id: str, allocation_ids: Sequence[str]) -> Any:
        """Give a NAT gateway further addresses, all or none, and return the gateway. AWS documents no error code of the
        quota; this one is that of Elastic IPs."""
        gateway = self._nat_gateway(nat_gateway_id)
        chosen = self.address_by_allocation(list(allocation_ids))
        for number, address in enumerate(chosen, start=len(gateway.address_set)):
            if address.association_id:
                raise ResourceAlreadyAssociatedError(str(address.allocation_id))
            check_quota(GATEWAY_ADDRESSES, number, applied=self.account.quotas, region=self.region_name)
        for address in chosen:
            private = str(self.take_address(self.get_subnet(gateway.subnet_id)))
            address.eni, address.association_id = gateway._eni, random_eip_association_id()
            gateway._eni.private_ip_addresses.append({"Primary": False, "PrivateIpAddress": private})
            gateway.address_set.append(
                {
                    "allocationId": address.allocation_id,
                    "associationId": address.association_id,
                    "publicIp": address.public_ip,
                    "networkInterfaceId": gateway._eni.id,
                    "privateIp": private,
                    "isPrimary": False,
                    "status": "succeeded",
                }
            )
        return gateway

    def disassociate_nat_gateway_address(self, nat_gateway_id: str, association_ids: Sequence[str]) -> Any:
        """Take secondary addresses from a NAT gateway, and return the gateway. AWS waits up to 350 s for their
        connections to end; the lab does not."""
        gateway = self._nat_gateway(nat_gateway_id)
        chosen = [entry for entry in gateway.address_set if entry.get("associationId") in association_ids]
        if len(chosen) < len(association_ids):
            raise InvalidAssociationIdError(list(association_ids))
        if any(entry["isPrimary"] for entry in chosen):
            raise EC2ClientError("InvalidParameterValue", "You cannot disassociate your primary EIP.")
        for entry in chosen:
            gateway.address_set.remove(entry)
            interface = gateway._eni
            interface.private_ip_addresses = [
                private
                for private in interface.private_ip_addresses
                if private["PrivateIpAddress"] != entry["privateIp"]
            ]
            for address in self.address_by_allocation([entry["allocationId"]]):
                address.eni = address.association_id = None
        return gateway

    def delete_nat_gateway(self, nat_gateway_id: str) -> Any:
        """Delete a NAT gateway with its interface, and disassociate its Elastic IPs; moto leaves both as they were."""
        self._nat_gateway(nat_gateway_id)
        gateway = super().delete_nat_gateway(nat_gateway_id)
        for address in self.addresses:
            if address.eni is gateway._eni:
                address.eni = address.association_id = None
        self.enis.pop(gateway._eni.id, None)
        return gateway

    def _nat_gateway(self, nat_gateway_id: str) -> Any:
        if nat_gateway_id not in self.nat_gateways:
            raise EC2ClientError("NatGatewayNotFound", f"The NAT gateway {nat_gateway_id} was not found")
        return self.nat_gateways[nat_gateway_id]
