"""Types of the program's resources in AWS, to whoever judges a change."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.kinds import Kind


def kinds() -> Mapping[str, Kind]:
    """Every type that the program makes and that matters to a verdict, and what holds data besides."""
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


def ranges() -> Mapping[str, tuple[str, ...]]:
    """Where ranges are."""
    return {
        "aws:ec2/vpc:Vpc": ("cidrBlock",),
        "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": ("cidrBlock",),
        "aws:ec2/subnet:Subnet": ("cidrBlock",),
        "aws:ec2/vpnConnection:VpnConnection": ("localIpv4NetworkCidr", "remoteIpv4NetworkCidr"),
    }
