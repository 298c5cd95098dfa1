"""Checks of AWS's resources against the rules of docs/policy.md, by pulumi-aws's types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any, Final

from clouds.aws import identity
from clouds.aws.identity import ROLE
from clouds.aws.parts import egress_parts, made_zones
from clouds.aws.site import AwsSite
from clouds.base import policy_rules
from clouds.base.ingress_policy import Ingress, ingress_breaches
from clouds.base.inputs import at, is_true, is_unknown, sections, shown, texts
from clouds.base.missing_tags import missing_tags
from clouds.base.place import Place
from clouds.base.policy import Breach, Check, Declared, PolicyChecks, Resource, unaccounted_address
from clouds.base.ranges import PRIVATE, parse_range
from clouds.base.secret_checks import user_data_check
from contract.tag_keys import POOL, SITE

BALANCER: Final = "aws:lb/loadBalancer:LoadBalancer"
GROUP: Final = "aws:autoscaling/group:Group"
INSTANCE: Final = "aws:ec2/instance:Instance"
LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
LISTENER: Final = "aws:lb/listener:Listener"
ROUTE: Final = "aws:ec2/route:Route"

WHOLE = ("aws:ebs/volume:Volume", "aws:efs/fileSystem:FileSystem")
"""Kinds of resources with one setting for encryption."""

_GROUP_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_OLD_GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
_GROUPS = ("aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
_BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"

TARGETS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "cidrBlock", "ipv6CidrBlock")
"""Properties with a route's destination, in a separate route and in a route table."""

NO_GATEWAY = ("vgw-", "local")
"""First letters of a route's ``gatewayId`` that is not an internet gateway: a virtual private gateway, or the VPC
itself."""

_BLOCKED = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
"""The four settings of S3's Block Public Access (docs.aws.amazon.com, "Blocking public access to your Amazon S3
storage")."""

OPEN_ACLS = ("public-read", "public-read-write", "authenticated-read")
"""Canned ACLs that admit others than the account itself (docs.aws.amazon.com, "Access control list (ACL) overview")."""

MODERN_POLICY = re.compile(r"-TLS13-1-[23]-|-TLS-1-2-")
"""Predefined security policies whose oldest protocol is TLS 1.2 (docs.aws.amazon.com, "Security policies for your
Network Load Balancer"). A listener without a named policy uses ELBSecurityPolicy-2016-08, which allows TLS 1.0."""

USER_DATA: Mapping[str, tuple[str, ...]] = {INSTANCE: ("userData", "userDataBase64"), LAUNCH_TEMPLATE: ("userData",)}
"""Properties that hold user data, by kind."""

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
"""Kinds that need no site's tag, because they belong to the account or connect two sites."""

MORE_TAGS: Mapping[str, tuple[str, ...]] = {LAUNCH_TEMPLATE: (POOL,), GROUP: (POOL,)}
"""Tags that a kind must have besides the usual ones, by kind."""

TAGGED = (
    NO_SITE
    | MORE_TAGS.keys()
    | {
        BALANCER,
        INSTANCE,
        LISTENER,
        "aws:ebs/volume:Volume",
        "aws:ec2/customerGateway:CustomerGateway",
        "aws:ec2/eip:Eip",
        "aws:ec2/internetGateway:InternetGateway",
        "aws:ec2/natGateway:NatGateway",
        "aws:ec2/placementGroup:PlacementGroup",
        "aws:ec2/routeTable:RouteTable",
        "aws:ec2/securityGroup:SecurityGroup",
        "aws:ec2/subnet:Subnet",
        "aws:ec2/vpc:Vpc",
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        "aws:ec2/vpnConnection:VpnConnection",
        "aws:ec2/vpnGateway:VpnGateway",
        "aws:efs/fileSystem:FileSystem",
        "aws:kms/key:Key",
        "aws:lb/targetGroup:TargetGroup",
        "aws:route53/zone:Zone",
        "aws:s3/bucket:Bucket",
        "aws:secretsmanager/secret:Secret",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    }
)
"""Kinds that can have tags (the SDK's `tags`; a test compares the two)."""


def _interface(resource: Resource, _: Declared) -> Iterator[Breach]:
    key = "associatePublicIpAddress"
    if resource.kind == INSTANCE:
        settings = [(key, resource.inputs.get(key))]
    else:
        interfaces = list(sections(resource.inputs, "networkInterfaces"))
        # With a second interface EC2 refuses the parameter and gives no public address.
        left_out = "false" if len(interfaces) > 1 else None
        settings = [(f"{place}.{key}", interface.get(key, left_out)) for place, interface in interfaces]
    if not settings:
        yield Breach(
            what="no networkInterfaces: whether machines get public addresses is left to the subnet",
            write=f"networkInterfaces with {key}: false",
        )
    for place, value in settings:
        if value is not False and str(value).lower() != "false":
            yield Breach(what=f"{place} is {shown(value)}", write=f"{key}: false")


def _balancer(resource: Resource, _: Declared) -> Iterator[Breach]:
    if not is_true(resource.inputs.get("internal")):
        yield Breach(what=f"internal is {shown(resource.inputs.get('internal'))}", write="internal: true")


def _route(resource: Resource, declared: Declared) -> Iterator[Breach]:
    if resource.name in declared.public:
        return
    routes = [("", resource.inputs)] if resource.kind == ROUTE else sections(resource.inputs, "routes")
    for place, route in routes:
        gateway = route.get("gatewayId")
        if not gateway or str(gateway).startswith(NO_GATEWAY):
            continue
        for target in (route.get(key) for key in TARGETS):
            if target is not None and not _private(target):
                yield Breach(
                    what=f"{f'{place}: ' if place else ''}a route for {shown(target)} by an internet gateway",
                    write="a route by the zone's NAT gateway; only the NAT gateways' own subnets reach the internet",
                )


def _private(target: object) -> bool:
    """Return whether a route's destination can be another site. An internet gateway's id is unknown before the gateway
    is made, so a route to it is recognised by the destination."""
    network = parse_range(str(target))
    return isinstance(network, IPv4Network) and any(network.subnet_of(range_) for range_ in PRIVATE)


def _subnet(resource: Resource, _: Declared) -> Iterator[Breach]:
    for key in ("mapPublicIpOnLaunch", "assignIpv6AddressOnCreation"):
        value = resource.inputs.get(key)
        if is_true(value) or is_unknown(value):
            yield Breach(what=f"{key} is {shown(value)}: whatever starts in it is public", write=f"{key}: false")


def _ingress(resource: Resource, declared: Declared) -> Iterator[Breach]:
    yield from ingress_breaches(resource, declared, list(_rules(resource)), key="ingress")


def _rules(resource: Resource) -> Iterator[Ingress]:
    """Yield every rule of ``resource`` that allows inbound traffic."""
    inputs = resource.inputs
    if resource.kind == _GROUP_RULE:
        yield _rule("", inputs, protocol="ipProtocol", ranges=("cidrIpv4", "cidrIpv6", "prefixListId"))
    elif resource.kind != _OLD_GROUP_RULE or inputs.get("type") == "ingress":
        listed = [("", inputs)] if resource.kind == _OLD_GROUP_RULE else sections(inputs, "ingress")
        for place, rule in listed:
            yield _rule(place, rule, protocol="protocol", ranges=("cidrBlocks", "ipv6CidrBlocks", "prefixListIds"))


def _rule(place: str, rule: Mapping[str, Any], *, protocol: str, ranges: tuple[str, ...]) -> Ingress:
    first, last = (_number(rule.get(key)) for key in ("fromPort", "toPort"))
    return Ingress(
        place=place,
        sources=tuple(source for key in ranges for source in texts(rule, key)),
        protocol=str(rule.get(protocol)),
        ports=frozenset({first if first == last else f"{first}-{last}"}),
    )


def _number(port: object) -> str:
    """Return a port as text. JSON does not distinguish 500 and 500.0."""
    return str(int(port)) if isinstance(port, float) else str(port)


def _anonymous(resource: Resource, _: Declared) -> Iterator[Breach]:
    if resource.kind == _BLOCK:
        for key in _BLOCKED:
            if not is_true(resource.inputs.get(key)):
                yield Breach(what=f"{key} is {shown(resource.inputs.get(key))}", write=f"{key}: true")
    elif resource.inputs.get("acl") in OPEN_ACLS:
        yield Breach(what=f"acl is {resource.inputs['acl']}", write="no list: buckets made since April 2023 have none")


def _disk(resource: Resource, _: Declared) -> Iterator[Breach]:
    inputs = resource.inputs
    if resource.kind in WHOLE:
        places = [("", inputs)]
    elif resource.kind == INSTANCE:
        # An instance with a launch template takes its disks from the template.
        root = [] if inputs.get("launchTemplate") and not inputs.get("rootBlockDevice") else ["rootBlockDevice"]
        places = [(name, at(inputs, name)) for name in root] + sections(inputs, "ebsBlockDevices")
    else:
        mappings = sections(inputs, "blockDeviceMappings")
        places = [(f"{place}.ebs", mapping["ebs"]) for place, mapping in mappings if mapping.get("ebs")]
        if not places:
            yield Breach(
                what="no blockDeviceMappings: whether the root disk is encrypted is left to its image",
                write="a mapping of the root device with encrypted: true",
            )
    for place, disk in places:
        encrypted = at(disk, "encrypted")
        if not is_true(encrypted):
            name = f"{place}.encrypted" if place else "encrypted"
            yield Breach(what=f"{name} is {shown(encrypted)}", write="encrypted: true")


def _tls(resource: Resource, _: Declared) -> Iterator[Breach]:
    protocol = resource.inputs.get("protocol")
    policy = resource.inputs.get("sslPolicy")
    if protocol == "HTTP":
        yield Breach(what="the listener speaks HTTP", write="protocol: HTTPS, or TCP for a target that ends TLS itself")
    elif protocol in ("HTTPS", "TLS") and not MODERN_POLICY.search(str(policy)):
        yield Breach(what=f"sslPolicy is {shown(policy)}", write="sslPolicy: ELBSecurityPolicy-TLS13-1-2-2021-06")


def _has_metadata(resource: Resource) -> bool:
    """Return whether the resource's own metadata options apply. They do not when the metadata service is off, or when
    an instance uses the options of its template."""
    if at(resource.inputs, "metadataOptions.httpEndpoint") == "disabled":
        return False
    from_template = resource.kind == INSTANCE and resource.inputs.get("launchTemplate")
    return not (from_template and resource.inputs.get("metadataOptions") is None)


def _tokens(resource: Resource, _: Declared) -> Iterator[Breach]:
    tokens = at(resource.inputs, "metadataOptions.httpTokens")
    if _has_metadata(resource) and tokens != "required":
        yield Breach(what=f"metadataOptions.httpTokens is {shown(tokens)}", write="httpTokens: required")


def _hops(resource: Resource, _: Declared) -> Iterator[Breach]:
    limit = "httpPutResponseHopLimit"
    hops = at(resource.inputs, f"metadataOptions.{limit}")
    if _has_metadata(resource) and hops != 1:
        yield Breach(what=f"metadataOptions.{limit} is {shown(hops)}", write=f"{limit}: 1")


def _tags(resource: Resource, declared: Declared) -> Iterator[Breach]:
    wanted = (*(() if resource.kind in NO_SITE else (SITE,)), *MORE_TAGS.get(resource.kind, ()))
    tags = _group_tags(resource.inputs) if resource.kind == GROUP else resource.inputs.get("tags")
    yield from missing_tags("tags", tags, wanted, declared)
    if resource.kind != LAUNCH_TEMPLATE:
        return
    specifications = sections(resource.inputs, "tagSpecifications")
    for place, specification in specifications:
        yield from missing_tags(f"{place}.tags", specification.get("tags"), wanted, declared)
    if "volume" not in [specification.get("resourceType") for _, specification in specifications]:
        yield Breach(what="tagSpecifications name no tags of volumes", write="tagSpecifications for volume")


def _group_tags(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the group's tags that are propagated to its machines; the other tags do not reach them."""
    return {
        str(tag.get("key")): tag.get("value")
        for _, tag in sections(inputs, "tags")
        if is_true(tag.get("propagateAtLaunch"))
    }


_MACHINES = frozenset({INSTANCE, LAUNCH_TEMPLATE})
_BALANCERS = frozenset({BALANCER, "aws:elb/loadBalancer:LoadBalancer"})
_ROUTES = frozenset({ROUTE, "aws:ec2/routeTable:RouteTable", "aws:ec2/defaultRouteTable:DefaultRouteTable"})
_BUCKETS = frozenset({_BLOCK, "aws:s3/bucketAcl:BucketAcl", "aws:s3/bucketAclV2:BucketAclV2"})


class AwsPolicyChecks(PolicyChecks[AwsSite]):
    """Checks of resources in AWS."""

    def public(self, place: Place[AwsSite]) -> frozenset[str]:
        """Return the names of the route and the addresses of the site's egress (`components/aws/network.py`)."""
        network, zones = f"{place.environment}-{place.name}-network", made_zones(place.site)
        routes = {f"{network}-public-default"} if zones else set()
        addresses = {f"{network}-{part}" for zone in zones for part in egress_parts(place, zone)}
        return frozenset(routes | addresses)

    def checks(self) -> tuple[Check, ...]:
        """Return every check of AWS's resources."""
        return (
            Check(rule=policy_rules.PUBLIC_ADDRESS, kinds=frozenset({"aws:ec2/eip:Eip"}), look=unaccounted_address),
            Check(rule=policy_rules.PUBLIC_INTERFACE, kinds=_MACHINES, look=_interface),
            Check(rule=policy_rules.PUBLIC_LOAD_BALANCER, kinds=_BALANCERS, look=_balancer),
            Check(rule=policy_rules.PUBLIC_ROUTE, kinds=_ROUTES, look=_route),
            Check(rule=policy_rules.PUBLIC_SUBNET, kinds=frozenset({"aws:ec2/subnet:Subnet"}), look=_subnet),
            Check(rule=policy_rules.INGRESS, kinds=frozenset({_GROUP_RULE, _OLD_GROUP_RULE, *_GROUPS}), look=_ingress),
            Check(rule=policy_rules.STORE_ANONYMOUS, kinds=_BUCKETS, look=_anonymous),
            Check(rule=policy_rules.DISK_ENCRYPTED, kinds=_MACHINES | set(WHOLE), look=_disk),
            Check(rule=policy_rules.TLS, kinds=frozenset({LISTENER}), look=_tls),
            Check(rule=policy_rules.IMDSV2, kinds=_MACHINES, look=_tokens),
            Check(rule=policy_rules.METADATA_HOP_LIMIT, kinds=_MACHINES, look=_hops),
            *identity.CHECKS,
            user_data_check(USER_DATA),
            Check(rule=policy_rules.TAGS, kinds=frozenset(TAGGED), look=_tags),
        )
