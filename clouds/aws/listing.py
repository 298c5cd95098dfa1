"""Resources of an environment that AWS itself lists: public addresses, and all remaining resources.

Fields: docs.aws.amazon.com, EC2 API, ``DescribeAddresses``, ``DescribeNatGateways`` and so on. Every resource that
Longhaul makes is tagged (components/aws/account.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from clouds.aws.session import aws_errors, shared
from clouds.aws.site import AwsSite
from clouds.base.listing import PublicAddress, ResourceListing
from clouds.base.place import Place
from contract.tag_keys import ENVIRONMENT

GONE = ("deleted", "terminated", "shutting-down", "deleting")
"""States of resources that AWS still lists although they are deleted or are being deleted."""
LISTED = (
    ("describe_instances", "Reservations", "InstanceId"),
    ("describe_addresses", "Addresses", "PublicIp"),
    ("describe_nat_gateways", "NatGateways", "NatGatewayId"),
    ("describe_vpn_connections", "VpnConnections", "VpnConnectionId"),
    ("describe_vpn_gateways", "VpnGateways", "VpnGatewayId"),
    ("describe_customer_gateways", "CustomerGateways", "CustomerGatewayId"),
    ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    ("describe_vpcs", "Vpcs", "VpcId"),
)
"""EC2's lists: method, key of the list, key of the id. All other resources cost nothing and do not outlive their
VPC."""


class AwsResourceListing(ResourceListing[AwsSite]):
    """Resources of an environment that AWS itself lists."""

    def public_addresses(self, place: Place[AwsSite]) -> Iterator[PublicAddress]:
        """Yield the environment's Elastic IPs in the region, and the public addresses of its instances."""
        ec2, wanted, region = _asked_of(place)
        gateways = _ask(region, lambda: ec2.describe_nat_gateways(Filter=wanted))["NatGateways"]
        nat_ids = {
            address.get("PublicIp"): gateway["NatGatewayId"]
            for gateway in gateways
            for address in gateway.get("NatGatewayAddresses", [])
        }
        for address in _ask(region, lambda: ec2.describe_addresses(Filters=wanted))["Addresses"]:
            public = str(address["PublicIp"])
            holder = nat_ids.get(public) or address.get("InstanceId") or address.get("NetworkInterfaceId") or "nobody"
            yield PublicAddress(address=public, holder=str(holder), allowed=public in nat_ids or holder == "nobody")
        for instance in _instances(ec2, wanted, region):
            if own_address := instance.get("PublicIpAddress"):
                yield PublicAddress(address=str(own_address), holder=str(instance["InstanceId"]), allowed=False)

    def remaining(self, place: Place[AwsSite]) -> list[str]:
        """Return all resources in the region that have the environment's tag and are not being deleted."""
        ec2, wanted, region = _asked_of(place)
        parts = []
        for method, key, id_ in LISTED:
            items: Sequence[Mapping[str, Any]] = (
                list(_instances(ec2, wanted, region))
                if method == "describe_instances"
                else _ask(region, partial(_listed, ec2, method, wanted))[key]
            )
            parts += [f"{item[id_]} in {region}" for item in items if _state(item) not in GONE]
        return parts


def _asked_of(place: Place[AwsSite]) -> tuple[Any, list[Mapping[str, Any]], str]:
    """Return EC2's client, the filter for the environment's own resources, and the region."""
    region = place.site.region
    return shared().client("ec2", region), [{"Name": f"tag:{ENVIRONMENT}", "Values": [place.environment]}], region


def _listed(ec2: Any, method: str, wanted: Sequence[Mapping[str, Any]]) -> Any:
    """Return one list. The method for NAT gateways has another name for its filter argument."""
    word = "Filter" if method == "describe_nat_gateways" else "Filters"
    return getattr(ec2, method)(**{word: wanted})


def _instances(ec2: Any, wanted: Sequence[Mapping[str, Any]], region: str) -> list[Mapping[str, Any]]:
    answer = _ask(region, lambda: ec2.describe_instances(Filters=wanted))
    return [instance for reservation in answer["Reservations"] for instance in reservation["Instances"]]


def _state(item: Mapping[str, Any]) -> str:
    state = item.get("State", "")
    return str(state.get("Name", "") if isinstance(state, Mapping) else state)


def _ask(region: str, ask: Callable[[], Any]) -> Any:
    with aws_errors(f"AWS {region}"):
        return ask()
