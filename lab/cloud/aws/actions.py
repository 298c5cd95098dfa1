"""Every action that the lab's AWS has, with the parameters that it honours.

moto ignores parameters that it does not know. Here an action or a parameter that is not listed is an error, so no
parameter is accepted and then ignored. Names are those of botocore's service models.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from lab.cloud.aws.errors import AwsRefusalError

_PAGES = "MaxResults NextToken"
_EC2 = {
    "CreateVpc": "CidrBlock InstanceTenancy TagSpecifications",
    "ModifyVpcAttribute": "VpcId EnableDnsHostnames EnableDnsSupport",
    "DescribeVpcAttribute": "VpcId Attribute",
    "DescribeVpcs": f"VpcIds Filters {_PAGES}",
    "DeleteVpc": "VpcId",
    "AssociateVpcCidrBlock": "VpcId CidrBlock",
    "DisassociateVpcCidrBlock": "AssociationId",
    "CreateInternetGateway": "TagSpecifications",
    "AttachInternetGateway": "InternetGatewayId VpcId",
    "DetachInternetGateway": "InternetGatewayId VpcId",
    "DeleteInternetGateway": "InternetGatewayId",
    "DescribeInternetGateways": f"InternetGatewayIds Filters {_PAGES}",
    "CreateRouteTable": "VpcId TagSpecifications ClientToken",
    "DeleteRouteTable": "RouteTableId",
    "DescribeRouteTables": f"RouteTableIds Filters {_PAGES}",
    "CreateRoute": "RouteTableId DestinationCidrBlock GatewayId NatGatewayId VpcPeeringConnectionId",
    "ReplaceRoute": "RouteTableId DestinationCidrBlock GatewayId NatGatewayId VpcPeeringConnectionId",
    "DeleteRoute": "RouteTableId DestinationCidrBlock",
    "AssociateRouteTable": "RouteTableId SubnetId",
    "ReplaceRouteTableAssociation": "AssociationId RouteTableId",
    "DisassociateRouteTable": "AssociationId",
    "CreateSubnet": "VpcId CidrBlock AvailabilityZone TagSpecifications",
    "ModifySubnetAttribute": "SubnetId MapPublicIpOnLaunch",
    "DeleteSubnet": "SubnetId",
    "DescribeSubnets": f"SubnetIds Filters {_PAGES}",
    "CreateSubnetCidrReservation": "SubnetId Cidr ReservationType Description TagSpecifications",
    "GetSubnetCidrReservations": f"SubnetId Filters {_PAGES}",
    "DeleteSubnetCidrReservation": "SubnetCidrReservationId",
    "AllocateAddress": "Domain TagSpecifications",
    "ReleaseAddress": "AllocationId",
    "DescribeAddresses": "AllocationIds PublicIps Filters",
    "CreateNatGateway": "SubnetId AllocationId SecondaryAllocationIds ConnectivityType ClientToken TagSpecifications",
    "AssociateNatGatewayAddress": "NatGatewayId AllocationIds",
    "DisassociateNatGatewayAddress": "NatGatewayId AssociationIds",
    "DeleteNatGateway": "NatGatewayId",
    "DescribeNatGateways": f"NatGatewayIds Filter {_PAGES}",
    "CreateVpcEndpoint": "VpcId ServiceName VpcEndpointType RouteTableIds ClientToken TagSpecifications",
    "ModifyVpcEndpoint": "VpcEndpointId AddRouteTableIds RemoveRouteTableIds",
    "DeleteVpcEndpoints": "VpcEndpointIds",
    "DescribeVpcEndpoints": f"VpcEndpointIds Filters {_PAGES}",
    "DescribePrefixLists": f"PrefixListIds Filters {_PAGES}",
    "CreateSecurityGroup": "GroupName Description VpcId TagSpecifications",
    "DeleteSecurityGroup": "GroupId",
    "DescribeSecurityGroups": f"GroupIds Filters {_PAGES}",
    "AuthorizeSecurityGroupIngress": "GroupId IpPermissions TagSpecifications",
    "AuthorizeSecurityGroupEgress": "GroupId IpPermissions TagSpecifications",
    "RevokeSecurityGroupIngress": "GroupId IpPermissions SecurityGroupRuleIds",
    "RevokeSecurityGroupEgress": "GroupId IpPermissions SecurityGroupRuleIds",
    "ModifySecurityGroupRules": "GroupId SecurityGroupRules",
    "DescribeSecurityGroupRules": f"SecurityGroupRuleIds Filters {_PAGES}",
    "CreateLaunchTemplate": "LaunchTemplateName VersionDescription LaunchTemplateData ClientToken TagSpecifications",
    "CreateLaunchTemplateVersion": "LaunchTemplateId LaunchTemplateName VersionDescription LaunchTemplateData "
    "ClientToken",
    "ModifyLaunchTemplate": "LaunchTemplateId LaunchTemplateName DefaultVersion ClientToken",
    "DeleteLaunchTemplate": "LaunchTemplateId LaunchTemplateName",
    "DescribeLaunchTemplates": f"LaunchTemplateIds LaunchTemplateNames Filters {_PAGES}",
    "DescribeLaunchTemplateVersions": f"LaunchTemplateId LaunchTemplateName Versions MinVersion MaxVersion {_PAGES}",
    "DescribeInstances": f"InstanceIds Filters {_PAGES}",
    "DescribeInstanceStatus": f"InstanceIds IncludeAllInstances Filters {_PAGES}",
    "DescribeInstanceAttribute": "InstanceId Attribute",
    "DescribeInstanceTypes": f"InstanceTypes Filters {_PAGES}",
    "DescribeInstanceTypeOfferings": f"LocationType Filters {_PAGES}",
    "DescribeNetworkInterfaces": f"NetworkInterfaceIds Filters {_PAGES}",
    "DescribeVolumes": f"VolumeIds Filters {_PAGES}",
    "DescribeAvailabilityZones": "ZoneNames ZoneIds AllAvailabilityZones Filters",
    "DescribeRegions": "RegionNames AllRegions Filters",
    "ModifyInstanceAttribute": "InstanceId BlockDeviceMappings",
    "ModifyNetworkInterfaceAttribute": "NetworkInterfaceId Groups",
    "TerminateInstances": "InstanceIds",
    "DeleteVolume": "VolumeId",
    "CreateTags": "Resources Tags",
    "DeleteTags": "Resources Tags",
    "DescribeTags": f"Filters {_PAGES}",
    "CreateVpnGateway": "Type AmazonSideAsn AvailabilityZone TagSpecifications",
    "AttachVpnGateway": "VpcId VpnGatewayId",
    "DetachVpnGateway": "VpcId VpnGatewayId",
    "DeleteVpnGateway": "VpnGatewayId",
    "DescribeVpnGateways": "VpnGatewayIds Filters",
    "CreateCustomerGateway": "Type BgpAsn IpAddress DeviceName TagSpecifications",
    "DeleteCustomerGateway": "CustomerGatewayId",
    "DescribeCustomerGateways": "CustomerGatewayIds Filters",
    "CreateVpnConnection": "Type CustomerGatewayId VpnGatewayId Options TagSpecifications",
    "ModifyVpnTunnelOptions": "VpnConnectionId VpnTunnelOutsideIpAddress TunnelOptions",
    "DeleteVpnConnection": "VpnConnectionId",
    "DescribeVpnConnections": "VpnConnectionIds Filters",
    "CreateVpnConnectionRoute": "VpnConnectionId DestinationCidrBlock",
    "DeleteVpnConnectionRoute": "VpnConnectionId DestinationCidrBlock",
    "CreateVpcPeeringConnection": "VpcId PeerVpcId PeerOwnerId PeerRegion TagSpecifications",
    "AcceptVpcPeeringConnection": "VpcPeeringConnectionId",
    "DeleteVpcPeeringConnection": "VpcPeeringConnectionId",
    "DescribeVpcPeeringConnections": f"VpcPeeringConnectionIds Filters {_PAGES}",
}
_AUTOSCALING = {
    "CreateAutoScalingGroup": "AutoScalingGroupName MinSize MaxSize DesiredCapacity VPCZoneIdentifier LaunchTemplate "
    "HealthCheckType HealthCheckGracePeriod CapacityRebalance NewInstancesProtectedFromScaleIn Tags",
    "UpdateAutoScalingGroup": "AutoScalingGroupName MinSize MaxSize DesiredCapacity VPCZoneIdentifier LaunchTemplate "
    "HealthCheckType HealthCheckGracePeriod CapacityRebalance NewInstancesProtectedFromScaleIn",
    "DeleteAutoScalingGroup": "AutoScalingGroupName ForceDelete",
    "DescribeAutoScalingGroups": "AutoScalingGroupNames Filters MaxRecords NextToken",
    "DescribeAutoScalingInstances": "InstanceIds MaxRecords NextToken",
    "DescribeScalingActivities": "ActivityIds AutoScalingGroupName MaxRecords NextToken",
    "SetDesiredCapacity": "AutoScalingGroupName DesiredCapacity HonorCooldown",
    "SetInstanceProtection": "AutoScalingGroupName InstanceIds ProtectedFromScaleIn",
    "DetachInstances": "AutoScalingGroupName InstanceIds ShouldDecrementDesiredCapacity",
    "TerminateInstanceInAutoScalingGroup": "InstanceId InstanceIds AutoScalingGroupName ShouldDecrementDesiredCapacity",
    "SuspendProcesses": "AutoScalingGroupName ScalingProcesses",
    "ResumeProcesses": "AutoScalingGroupName ScalingProcesses",
    "CreateOrUpdateTags": "Tags",
    "DeleteTags": "Tags",
    "DescribeTags": "Filters MaxRecords NextToken",
}
_IAM_PAGES = "MaxItems Marker"
_IAM = {
    "CreateRole": "RoleName Path AssumeRolePolicyDocument Description MaxSessionDuration Tags",
    "GetRole": "RoleName",
    "UpdateRole": "RoleName Description MaxSessionDuration",
    "UpdateAssumeRolePolicy": "RoleName PolicyDocument",
    "DeleteRole": "RoleName",
    "TagRole": "RoleName Tags",
    "UntagRole": "RoleName TagKeys",
    "ListRoles": f"PathPrefix {_IAM_PAGES}",
    "ListRoleTags": f"RoleName {_IAM_PAGES}",
    "PutRolePolicy": "RoleName PolicyName PolicyDocument",
    "GetRolePolicy": "RoleName PolicyName",
    "DeleteRolePolicy": "RoleName PolicyName",
    "ListRolePolicies": f"RoleName {_IAM_PAGES}",
    "ListAttachedRolePolicies": f"RoleName PathPrefix {_IAM_PAGES}",
    "ListInstanceProfilesForRole": f"RoleName {_IAM_PAGES}",
    "CreateInstanceProfile": "InstanceProfileName Path Tags",
    "GetInstanceProfile": "InstanceProfileName",
    "DeleteInstanceProfile": "InstanceProfileName",
    "AddRoleToInstanceProfile": "InstanceProfileName RoleName",
    "RemoveRoleFromInstanceProfile": "InstanceProfileName RoleName",
    "TagInstanceProfile": "InstanceProfileName Tags",
    "UntagInstanceProfile": "InstanceProfileName TagKeys",
    "CreateOpenIDConnectProvider": "Url ClientIDList ThumbprintList Tags",
    "GetOpenIDConnectProvider": "OpenIDConnectProviderArn",
    "ListOpenIDConnectProviders": "",
    "AddClientIDToOpenIDConnectProvider": "OpenIDConnectProviderArn ClientID",
    "RemoveClientIDFromOpenIDConnectProvider": "OpenIDConnectProviderArn ClientID",
    "UpdateOpenIDConnectProviderThumbprint": "OpenIDConnectProviderArn ThumbprintList",
    "TagOpenIDConnectProvider": "OpenIDConnectProviderArn Tags",
    "UntagOpenIDConnectProvider": "OpenIDConnectProviderArn TagKeys",
    "DeleteOpenIDConnectProvider": "OpenIDConnectProviderArn",
}
_STS = {
    "GetCallerIdentity": "",
    "AssumeRoleWithWebIdentity": "RoleArn RoleSessionName WebIdentityToken DurationSeconds",
}
_TEMPLATE = (
    "ImageId InstanceType IamInstanceProfile MetadataOptions NetworkInterfaces BlockDeviceMappings EbsOptimized "
    "InstanceInitiatedShutdownBehavior InstanceMarketOptions TagSpecifications UserData"
)
_INTERFACE = "DeviceIndex Ipv4PrefixCount AssociatePublicIpAddress DeleteOnTermination Groups Description"
UNSIGNED = frozenset({("sts", "AssumeRoleWithWebIdentity")})
"""Actions for callers without AWS credentials: the token in the request identifies the caller."""
_READS = ("Describe", "Get", "List")


@functools.cache
def known_actions() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the parameters by service and action."""
    tables = {"ec2": _EC2, "autoscaling": _AUTOSCALING, "iam": _IAM, "sts": _STS}
    return {
        service: {action: frozenset(names.split()) for action, names in table.items()}
        for service, table in tables.items()
    }


def changes(action: str) -> bool:
    """Return whether an action may change anything."""
    return not action.startswith(_READS)


def check_action(service: str, action: str) -> None:
    """Raise AwsRefusalError for an action that the lab's AWS does not have."""
    if action not in known_actions()[service]:
        code = "InvalidAction" if service == "ec2" else "UnsupportedOperation"
        raise AwsRefusalError(
            code, f"The lab's AWS does not have {service}:{action}; lab/cloud/aws/actions.py lists what it has."
        )


def check_parameters(service: str, action: str, parameters: Mapping[str, object]) -> None:
    """Raise AwsRefusalError for parameters that the lab's AWS would not honour."""
    unknown = {name for name, value in parameters.items() if value is not None} - known_actions()[service][action]
    template = parameters.get("LaunchTemplateData")
    if isinstance(template, Mapping):
        unknown |= {f"LaunchTemplateData.{name}" for name in template.keys() - set(_TEMPLATE.split())}
        for interface in template.get("NetworkInterfaces", []):
            unknown |= {
                f"LaunchTemplateData.NetworkInterfaces.{name}" for name in interface.keys() - set(_INTERFACE.split())
            }
    if unknown:
        names = ", ".join(sorted(unknown))
        raise AwsRefusalError("UnsupportedParameter", f"The lab's AWS does not know {names} of {service}:{action}.")
