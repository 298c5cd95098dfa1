"""Whose a resource is can be read off it: bills, inventories and who looks for strays go by tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from longhaul.policy.declared import Declared
from longhaul.policy.resource import (
    AWS_BALANCER,
    AZURE_BALANCER,
    INSTANCE,
    LAUNCH_TEMPLATE,
    ROLE,
    SCALE_SET,
    STORAGE_ACCOUNT,
    VAULT,
    VIRTUAL_MACHINE,
    Resource,
)
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.values import is_true, is_unknown, sections, shown

ENVIRONMENT, SITE, POOL, MACHINE = "longhaul-environment", "longhaul-site", "longhaul-pool", "longhaul-role"

GROUP = "aws:autoscaling/group:Group"

NO_SITE = frozenset(
    {
        ROLE,
        "aws:iam/instanceProfile:InstanceProfile",
        "aws:iam/openIdConnectProvider:OpenIdConnectProvider",
        "aws:iam/policy:Policy",
        "aws:ec2/vpcPeeringConnection:VpcPeeringConnection",
        "aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter",
    }
)
"""Kinds that may be of the whole environment: the account's, and those between two sites."""

MORE: Mapping[str, tuple[str, ...]] = {
    LAUNCH_TEMPLATE: (POOL,),
    GROUP: (POOL,),
    SCALE_SET: (POOL,),
    VIRTUAL_MACHINE: (MACHINE,),
}
"""By kind, what it is to say besides."""

TAGGED = NO_SITE | {
    *MORE,
    AWS_BALANCER,
    AZURE_BALANCER,
    INSTANCE,
    STORAGE_ACCOUNT,
    VAULT,
    "aws:ebs/volume:Volume",
    "aws:ec2/customerGateway:CustomerGateway",
    "aws:ec2/eip:Eip",
    "aws:ec2/internetGateway:InternetGateway",
    "aws:ec2/natGateway:NatGateway",
    "aws:ec2/routeTable:RouteTable",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint",
    "aws:ec2/vpnConnection:VpnConnection",
    "aws:ec2/vpnGateway:VpnGateway",
    "aws:efs/fileSystem:FileSystem",
    "aws:kms/key:Key",
    "aws:lb/listener:Listener",
    "aws:lb/targetGroup:TargetGroup",
    "aws:route53/zone:Zone",
    "aws:s3/bucket:Bucket",
    "aws:secretsmanager/secret:Secret",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "azure-native:compute:Disk",
    "azure-native:managedidentity:UserAssignedIdentity",
    "azure-native:network:LocalNetworkGateway",
    "azure-native:network:NatGateway",
    "azure-native:network:NetworkInterface",
    "azure-native:network:NetworkSecurityGroup",
    "azure-native:network:PublicIPAddress",
    "azure-native:network:VirtualNetwork",
    "azure-native:network:VirtualNetworkGateway",
    "azure-native:network:VirtualNetworkGatewayConnection",
    "azure-native:privatedns:PrivateZone",
    "azure-native:privatedns:VirtualNetworkLink",
    "azure-native:resources:ResourceGroup",
}
"""Kinds that take tags (the SDKs' `tags`; tests compare)."""


def _tags(resource: Resource, declared: Declared) -> Iterator[Fault]:
    wanted = (*(() if resource.kind in NO_SITE else (SITE,)), *MORE.get(resource.kind, ()))
    found = _group_tags(resource.inputs) if resource.kind == GROUP else resource.inputs.get("tags")
    yield from _missing("tags", found, wanted, declared)
    if resource.kind == LAUNCH_TEMPLATE:
        yield from _specified(resource, wanted, declared)


def _group_tags(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A group's own tags reach its machines only if they are told to."""
    return {
        str(tag.get("key")): tag.get("value")
        for _, tag in sections(inputs, "tags")
        if is_true(tag.get("propagateAtLaunch"))
    }


def _specified(resource: Resource, wanted: tuple[str, ...], declared: Declared) -> Iterator[Fault]:
    specifications = sections(resource.inputs, "tagSpecifications")
    for place, one in specifications:
        yield from _missing(f"{place}.tags", one.get("tags"), wanted, declared)
    if "volume" not in [one.get("resourceType") for _, one in specifications]:
        yield Fault(what="tagSpecifications name no tags of volumes", write="tagSpecifications for volume")


def _missing(place: str, tags: Any, wanted: tuple[str, ...], declared: Declared) -> Iterator[Fault]:
    tags = tags if isinstance(tags, Mapping) else {}
    for key, value in {**declared.tags, ENVIRONMENT: declared.environment}.items():
        if tags.get(key) != value:
            yield Fault(what=f"{place}: {key} is {shown(tags.get(key))}", write=f"{key}: {value}")
    for key in wanted:
        value = tags.get(key)
        said = isinstance(value, str) and not is_unknown(value) and (key != SITE or value in declared.sites)
        if not said:
            yield Fault(what=f"{place}: {key} is {shown(value)}", write=f"{key}: the name of what it belongs to")


RULES = (
    Rule(
        id="tags",
        reason=(
            "Whatever takes tags says its environment, its site, and of machines their pool or role, besides the "
            "environment's own tags: what has none is found by nobody."
        ),
        source="the environment file's `tags`; components/aws/account.py, components/azure/names.py",
        kinds=frozenset(TAGGED),
        look=_tags,
    ),
)
