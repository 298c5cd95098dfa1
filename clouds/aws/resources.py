"""Types of the program's resources in AWS, for the plan and for previews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.base.kinds import Kind, Lasting
from clouds.base.resources import ResourceTypes


class AwsResourceTypes(ResourceTypes):
    """Types of the program's resources in AWS."""

    def kinds(self) -> Mapping[str, Kind]:
        """Return the kind of every type that the program makes and that matters to a verdict, and of further types that
        hold data."""
        return {
            "aws:autoscaling/group:Group": Kind.POOL,
            "aws:ebs/volume:Volume": Kind.DATA,
            "aws:ebs/snapshot:Snapshot": Kind.DATA,
            "aws:efs/fileSystem:FileSystem": Kind.DATA,
            "aws:s3/bucket:Bucket": Kind.DATA,
            "aws:s3/bucketV2:BucketV2": Kind.DATA,
            "aws:kms/key:Key": Kind.DATA,
            "aws:ec2/vpnGateway:VpnGateway": Kind.VPN_GATEWAY,
            "aws:ec2/natGateway:NatGateway": Kind.EGRESS,
            "aws:ec2/internetGateway:InternetGateway": Kind.EGRESS,
            "aws:ec2/eip:Eip": Kind.ADDRESS,
            "aws:ec2/vpnConnection:VpnConnection": Kind.TUNNEL,
            "aws:ec2/customerGateway:CustomerGateway": Kind.TUNNEL,
            "aws:ec2/vpcPeeringConnection:VpcPeeringConnection": Kind.PEERING,
            "aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter": Kind.PEERING,
            "aws:ec2/vpc:Vpc": Kind.NETWORK,
            "aws:ec2/subnet:Subnet": Kind.NETWORK,
            "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": Kind.NETWORK,
            "aws:ec2/route:Route": Kind.ROUTE,
            "aws:ec2/routeTable:RouteTable": Kind.ROUTE,
            "aws:ec2/routeTableAssociation:RouteTableAssociation": Kind.ROUTE,
            "aws:ec2/vpnConnectionRoute:VpnConnectionRoute": Kind.ROUTE,
            "aws:ec2/securityGroup:SecurityGroup": Kind.RULE,
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Kind.RULE,
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Kind.RULE,
            "aws:iam/role:Role": Kind.RIGHT,
            "aws:iam/rolePolicy:RolePolicy": Kind.RIGHT,
            "aws:iam/openIdConnectProvider:OpenIdConnectProvider": Kind.RIGHT,
            "aws:iam/instanceProfile:InstanceProfile": Kind.RIGHT,
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
        """Connections of the VPN gateway."""
        return (
            "aws:ec2/vpnConnection:VpnConnection",
            # AWS tells of a route only with all of its connection.
            "aws:ec2/vpnConnectionRoute:VpnConnectionRoute",
        )

    def lasting(self) -> Mapping[str, Lasting]:
        """Networks and buckets."""
        return {
            "aws:ec2/vpc:Vpc": Lasting(why="everything in it would have to go first", with_site=True),
            "aws:s3/bucket:Bucket": Lasting(why="what it holds, snapshots or state, is gone with it"),
        }

    def rules(self, type_: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """The rule that a resource is. In AWS -1 is any protocol, and a rule without ports is for any port."""
        direction = _DIRECTIONS.get(type_)
        if direction is None:
            return ()
        protocol = "any" if str(inputs.get("ipProtocol")) == "-1" else str(inputs.get("ipProtocol"))
        first, last = inputs.get("fromPort"), inputs.get("toPort")
        ports = "any port" if first is None else f"ports {first}" if first == last else f"ports {first}-{last}"
        ends = ", ".join(str(inputs[key]) for key in _ENDS if inputs.get(key)) or "nobody"
        said = f" ({inputs['description']})" if inputs.get("description") else ""
        return (f"allow {direction}, {protocol}, {ports}, {'from' if direction == 'in' else 'to'} {ends}{said}",)


_DIRECTIONS: Mapping[str, str] = {
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "in",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "out",
}
_ENDS = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
"""Keys of a rule's other end (``pulumi_aws.vpc.SecurityGroupIngressRule``)."""
