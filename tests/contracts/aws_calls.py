"""Operations that make each AWS resource type, and the place of each input in their parameters.

The lab's plugin has such a table too. This one takes nothing from it, so that an error in either is noticed. Names of
operations and members are AWS's own: a wrong one is unknown to botocore's model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from tests.contracts.aws_operations import Member, Operation, flag, listed, tagged, upper

ELSEWHERE = {
    "region": "chooses the endpoint; the environment's model checks it",
    "updateDefaultVersion": "asks for one more call when a later version is made",
    "waitForCapacityTimeout": "the provider's own patience",
    "autoAccept": "asks the provider to call at all",
}
"""Inputs that no operation takes, with their purpose."""

IAM_TAGS = Member(path="Tags", convert=listed)

_INTERFACES = Member(
    path="LaunchTemplateData.NetworkInterfaces",
    convert=partial(
        upper,
        renamed={"securityGroups": "Groups"},
        flags=frozenset({"associatePublicIpAddress", "deleteOnTermination"}),
    ),
)
_DISKS = Member(
    path="LaunchTemplateData.BlockDeviceMappings",
    convert=partial(upper, flags=frozenset({"encrypted", "deleteOnTermination"})),
)
_NESTED_TAGS = Member(
    path="LaunchTemplateData.TagSpecifications",
    convert=lambda given: [{"ResourceType": one["resourceType"], "Tags": listed(one["tags"])} for one in given],
)
_TEMPLATE: Mapping[str, str | Member] = {
    "name": "LaunchTemplateName",
    "tags": tagged("launch-template"),
    "imageId": "LaunchTemplateData.ImageId",
    "instanceType": "LaunchTemplateData.InstanceType",
    "userData": "LaunchTemplateData.UserData",
    "instanceInitiatedShutdownBehavior": "LaunchTemplateData.InstanceInitiatedShutdownBehavior",
    "ebsOptimized": Member(path="LaunchTemplateData.EbsOptimized", convert=flag),
    "iamInstanceProfile": Member(path="LaunchTemplateData.IamInstanceProfile", convert=upper),
    "metadataOptions": Member(path="LaunchTemplateData.MetadataOptions", convert=upper),
    "instanceMarketOptions": Member(path="LaunchTemplateData.InstanceMarketOptions", convert=upper),
    "capacityReservationSpecification": Member(
        path="LaunchTemplateData.CapacityReservationSpecification", convert=upper
    ),
    "networkInterfaces": _INTERFACES,
    "blockDeviceMappings": _DISKS,
    "tagSpecifications": _NESTED_TAGS,
}
_GROUP: Mapping[str, str | Member] = {
    "name": "AutoScalingGroupName",
    "minSize": "MinSize",
    "maxSize": "MaxSize",
    "desiredCapacity": "DesiredCapacity",
    "healthCheckType": "HealthCheckType",
    "placementGroup": "PlacementGroup",
    "capacityRebalance": "CapacityRebalance",
    "protectFromScaleIn": "NewInstancesProtectedFromScaleIn",
    "vpcZoneIdentifiers": Member(path="VPCZoneIdentifier", convert=",".join),
    "launchTemplate": Member(
        path="LaunchTemplate",
        convert=partial(upper, renamed={"id": "LaunchTemplateId", "name": "LaunchTemplateName"}),
    ),
    "tags": Member(path="Tags", convert=upper),
}


def _tunnels() -> Iterator[tuple[str, str | Member]]:
    plain = {
        "presharedKey": "PreSharedKey",
        "startupAction": "StartupAction",
        "dpdTimeoutAction": "DPDTimeoutAction",
        "dpdTimeoutSeconds": "DPDTimeoutSeconds",
        "phase1LifetimeSeconds": "Phase1LifetimeSeconds",
        "phase2LifetimeSeconds": "Phase2LifetimeSeconds",
    }
    several = {
        "ikeVersions": "IKEVersions",
        **{
            f"phase{phase}{name}": f"Phase{phase}{theirs}"
            for phase in (1, 2)
            for name, theirs in (
                ("DhGroupNumbers", "DHGroupNumbers"),
                ("EncryptionAlgorithms", "EncryptionAlgorithms"),
                ("IntegrityAlgorithms", "IntegrityAlgorithms"),
            )
        },
    }
    for index, own in enumerate(("tunnel1", "tunnel2")):
        where = f"Options.TunnelOptions[{index}]"
        for name, theirs in plain.items():
            yield own + name[0].upper() + name[1:], f"{where}.{theirs}"
        for name, theirs in several.items():
            values = Member(path=f"{where}.{theirs}", convert=lambda given: [{"Value": one} for one in given])
            yield own + name[0].upper() + name[1:], values


def _rule(direction: str) -> tuple[Operation, ...]:
    members: dict[str, str | Member] = {
        "securityGroupId": "GroupId",
        "ipProtocol": "IpPermissions[0].IpProtocol",
        "cidrIpv4": "IpPermissions[0].IpRanges[0].CidrIp",
        "referencedSecurityGroupId": "IpPermissions[0].UserIdGroupPairs[0].GroupId",
        "description": "IpPermissions[0].IpRanges[0].Description",
        "fromPort": "IpPermissions[0].FromPort",
        "toPort": "IpPermissions[0].ToPort",
        "tags": tagged("security-group-rule"),
    }
    return (Operation(name=f"AuthorizeSecurityGroup{direction}", members=members),)


def _iam(name: str, members: Mapping[str, str | Member], **given: Any) -> Operation:
    return Operation(service="iam", name=name, members=members, given=given)


CALLS: Mapping[str, tuple[Operation, ...]] = {
    "aws:ec2/vpc:Vpc": (
        Operation(name="CreateVpc", members={"cidrBlock": "CidrBlock", "tags": tagged("vpc")}),
        Operation(
            name="ModifyVpcAttribute",
            members={"enableDnsSupport": "EnableDnsSupport.Value", "enableDnsHostnames": "EnableDnsHostnames.Value"},
            given={"VpcId": "vpc-0"},
        ),
    ),
    "aws:ec2/internetGateway:InternetGateway": (
        Operation(name="CreateInternetGateway", members={"tags": tagged("internet-gateway")}),
        Operation(name="AttachInternetGateway", members={"vpcId": "VpcId"}, given={"InternetGatewayId": "igw-0"}),
    ),
    "aws:ec2/subnet:Subnet": (
        Operation(
            name="CreateSubnet",
            members={
                "vpcId": "VpcId",
                "cidrBlock": "CidrBlock",
                "availabilityZone": "AvailabilityZone",
                "tags": tagged("subnet"),
            },
        ),
        Operation(
            name="ModifySubnetAttribute",
            members={"mapPublicIpOnLaunch": "MapPublicIpOnLaunch.Value"},
            given={"SubnetId": "subnet-0"},
        ),
    ),
    "aws:ec2/subnetCidrReservation:SubnetCidrReservation": (
        Operation(
            name="CreateSubnetCidrReservation",
            members={
                "subnetId": "SubnetId",
                "cidrBlock": "Cidr",
                "reservationType": "ReservationType",
                "description": "Description",
            },
        ),
    ),
    "aws:ec2/eip:Eip": (Operation(name="AllocateAddress", members={"domain": "Domain", "tags": tagged("elastic-ip")}),),
    "aws:ec2/natGateway:NatGateway": (
        Operation(
            name="CreateNatGateway",
            members={
                "allocationId": "AllocationId",
                "secondaryAllocationIds": "SecondaryAllocationIds",
                "subnetId": "SubnetId",
                "tags": tagged("natgateway"),
            },
        ),
    ),
    "aws:ec2/routeTable:RouteTable": (
        Operation(name="CreateRouteTable", members={"vpcId": "VpcId", "tags": tagged("route-table")}),
    ),
    "aws:ec2/route:Route": (
        Operation(
            name="CreateRoute",
            members={
                "routeTableId": "RouteTableId",
                "destinationCidrBlock": "DestinationCidrBlock",
                "gatewayId": "GatewayId",
                "natGatewayId": "NatGatewayId",
                "vpcPeeringConnectionId": "VpcPeeringConnectionId",
            },
        ),
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": (
        Operation(name="AssociateRouteTable", members={"routeTableId": "RouteTableId", "subnetId": "SubnetId"}),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": (
        Operation(
            name="CreateVpcEndpoint",
            members={
                "vpcId": "VpcId",
                "serviceName": "ServiceName",
                "vpcEndpointType": "VpcEndpointType",
                "routeTableIds": "RouteTableIds",
                "tags": tagged("vpc-endpoint"),
            },
        ),
    ),
    "aws:ec2/securityGroup:SecurityGroup": (
        Operation(
            name="CreateSecurityGroup",
            members={
                "name": "GroupName",
                "description": "Description",
                "vpcId": "VpcId",
                "tags": tagged("security-group"),
            },
        ),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("Ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("Egress"),
    "aws:ec2/vpcPeeringConnection:VpcPeeringConnection": (
        Operation(
            name="CreateVpcPeeringConnection",
            members={
                "vpcId": "VpcId",
                "peerVpcId": "PeerVpcId",
                "peerRegion": "PeerRegion",
                "tags": tagged("vpc-peering-connection"),
            },
        ),
    ),
    "aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter": (
        Operation(
            name="AcceptVpcPeeringConnection",
            members={"vpcPeeringConnectionId": "VpcPeeringConnectionId"},
        ),
        Operation(name="CreateTags", members={"tags": IAM_TAGS}, given={"Resources": ["pcx-0"]}),
    ),
    "aws:ec2/vpnGateway:VpnGateway": (
        Operation(name="CreateVpnGateway", members={"tags": tagged("vpn-gateway")}, given={"Type": "ipsec.1"}),
        Operation(name="AttachVpnGateway", members={"vpcId": "VpcId"}, given={"VpnGatewayId": "vgw-0"}),
    ),
    "aws:ec2/customerGateway:CustomerGateway": (
        Operation(
            name="CreateCustomerGateway",
            members={
                "bgpAsn": Member(path="BgpAsn", convert=int),
                "deviceName": "DeviceName",
                "ipAddress": "IpAddress",
                "type": "Type",
                "tags": tagged("customer-gateway"),
            },
        ),
    ),
    "aws:ec2/vpnConnection:VpnConnection": (
        Operation(
            name="CreateVpnConnection",
            members={
                "type": "Type",
                "customerGatewayId": "CustomerGatewayId",
                "vpnGatewayId": "VpnGatewayId",
                "staticRoutesOnly": "Options.StaticRoutesOnly",
                "localIpv4NetworkCidr": "Options.LocalIpv4NetworkCidr",
                "remoteIpv4NetworkCidr": "Options.RemoteIpv4NetworkCidr",
                "tags": tagged("vpn-connection"),
                **dict(_tunnels()),
            },
        ),
    ),
    "aws:ec2/vpnConnectionRoute:VpnConnectionRoute": (
        Operation(
            name="CreateVpnConnectionRoute",
            members={"vpnConnectionId": "VpnConnectionId", "destinationCidrBlock": "DestinationCidrBlock"},
        ),
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": (Operation(name="CreateLaunchTemplate", members=_TEMPLATE),),
    "aws:ec2/placementGroup:PlacementGroup": (
        Operation(
            name="CreatePlacementGroup",
            members={"name": "GroupName", "strategy": "Strategy", "tags": tagged("placement-group")},
        ),
    ),
    "aws:autoscaling/group:Group": (
        Operation(service="autoscaling", name="CreateAutoScalingGroup", members=_GROUP),
        Operation(
            service="autoscaling",
            name="SuspendProcesses",
            members={"suspendedProcesses": "ScalingProcesses"},
            given={"AutoScalingGroupName": "group"},
        ),
    ),
    "aws:iam/role:Role": (
        _iam(
            "CreateRole",
            {
                "name": "RoleName",
                "description": "Description",
                "assumeRolePolicy": "AssumeRolePolicyDocument",
                "maxSessionDuration": "MaxSessionDuration",
                "permissionsBoundary": "PermissionsBoundary",
                "tags": IAM_TAGS,
            },
        ),
    ),
    "aws:iam/rolePolicy:RolePolicy": (
        _iam("PutRolePolicy", {"role": "RoleName", "name": "PolicyName", "policy": "PolicyDocument"}),
    ),
    "aws:iam/instanceProfile:InstanceProfile": (
        _iam("CreateInstanceProfile", {"name": "InstanceProfileName", "tags": IAM_TAGS}),
        _iam("AddRoleToInstanceProfile", {"role": "RoleName"}, InstanceProfileName="profile"),
    ),
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": (
        _iam("CreateOpenIDConnectProvider", {"url": "Url", "clientIdLists": "ClientIDList", "tags": IAM_TAGS}),
    ),
}
