"""Types of the program's resources in AWS, for the plan and for previews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.resource_types import Lasting, ResourceKind, ResourceTypes


class AwsResourceTypes(ResourceTypes):
    """Types of the program's resources in AWS."""

    def kinds(self) -> Mapping[str, ResourceKind]:
        """Return the kind of each type that matters to a verdict: types that the program makes, and others that hold
        data."""
        return {
            "aws:autoscaling/group:Group": ResourceKind.POOL,
            "aws:ebs/volume:Volume": ResourceKind.DATA,
            "aws:ebs/snapshot:Snapshot": ResourceKind.DATA,
            "aws:efs/fileSystem:FileSystem": ResourceKind.DATA,
            "aws:s3/bucket:Bucket": ResourceKind.DATA,
            "aws:s3/bucketV2:BucketV2": ResourceKind.DATA,
            "aws:kms/key:Key": ResourceKind.DATA,
            "aws:ec2/vpnGateway:VpnGateway": ResourceKind.VPN_GATEWAY,
            "aws:ec2/natGateway:NatGateway": ResourceKind.EGRESS,
            "aws:ec2/internetGateway:InternetGateway": ResourceKind.EGRESS,
            "aws:ec2/eip:Eip": ResourceKind.ADDRESS,
            "aws:ec2/vpnConnection:VpnConnection": ResourceKind.TUNNEL,
            "aws:ec2/customerGateway:CustomerGateway": ResourceKind.TUNNEL,
            "aws:ec2/vpcPeeringConnection:VpcPeeringConnection": ResourceKind.PEERING,
            "aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter": ResourceKind.PEERING,
            "aws:ec2/vpc:Vpc": ResourceKind.NETWORK,
            "aws:ec2/subnet:Subnet": ResourceKind.NETWORK,
            "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": ResourceKind.NETWORK,
            "aws:ec2/route:Route": ResourceKind.ROUTE,
            "aws:ec2/routeTable:RouteTable": ResourceKind.ROUTE,
            "aws:ec2/routeTableAssociation:RouteTableAssociation": ResourceKind.ROUTE,
            "aws:ec2/vpnConnectionRoute:VpnConnectionRoute": ResourceKind.ROUTE,
            "aws:ec2/securityGroup:SecurityGroup": ResourceKind.RULE,
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ResourceKind.RULE,
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ResourceKind.RULE,
            "aws:iam/role:Role": ResourceKind.RIGHT,
            "aws:iam/rolePolicy:RolePolicy": ResourceKind.RIGHT,
            "aws:iam/openIdConnectProvider:OpenIdConnectProvider": ResourceKind.RIGHT,
            "aws:iam/instanceProfile:InstanceProfile": ResourceKind.RIGHT,
        }

    def ranges(self) -> Mapping[str, tuple[str, ...]]:
        """Return the paths of properties that hold ranges, by type."""
        return {
            "aws:ec2/vpc:Vpc": ("cidrBlock",),
            "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": ("cidrBlock",),
            "aws:ec2/subnet:Subnet": ("cidrBlock",),
            "aws:ec2/vpnConnection:VpnConnection": ("localIpv4NetworkCidr", "remoteIpv4NetworkCidr"),
        }

    def sealed(self) -> tuple[str, ...]:
        """Return the types whose refresh would read keys: VPN connections and their routes. The search for drift leaves
        them out."""
        return (
            "aws:ec2/vpnConnection:VpnConnection",
            # AWS returns a route only together with its whole connection.
            "aws:ec2/vpnConnectionRoute:VpnConnectionRoute",
        )

    def lasting(self) -> Mapping[str, Lasting]:
        """Return the types of networks and buckets."""
        return {
            "aws:ec2/vpc:Vpc": Lasting(why="everything in it would be removed first", with_site=True),
            "aws:s3/bucket:Bucket": Lasting(why="its contents, snapshots or state, are lost with it"),
        }

    def rules(self, type_: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the security rule that the resource declares. In AWS, -1 means any protocol, and a rule without ports
        applies to any port."""
        direction = _DIRECTIONS.get(type_)
        if direction is None:
            return ()
        protocol = "any" if str(inputs.get("ipProtocol")) == "-1" else str(inputs.get("ipProtocol"))
        first, last = inputs.get("fromPort"), inputs.get("toPort")
        ports = "any port" if first is None else f"ports {first}" if first == last else f"ports {first}-{last}"
        ends = ", ".join(str(inputs[key]) for key in _ENDS if inputs.get(key)) or "nobody"
        note = f" ({inputs['description']})" if inputs.get("description") else ""
        return (f"allow {direction}, {protocol}, {ports}, {'from' if direction == 'in' else 'to'} {ends}{note}",)


_DIRECTIONS: Mapping[str, str] = {
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "in",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "out",
}
_ENDS = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
"""Keys of a rule's other end (``pulumi_aws.vpc.SecurityGroupIngressRule``)."""
