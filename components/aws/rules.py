"""Security group of a site on AWS: AWS's rules of the allowed traffic (``model/network/allowed_traffic.py``)."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import Output, ResourceOptions

from components.model import AddressPlan, Environment
from components.model.access.source_ranges import operators_inside
from components.model.network.allowed_traffic import QUARANTINE, Direction, Peer, Protocol, flows
from components.model.sites.cloud_names import cloud_name

PROTOCOLS = {Protocol.TCP: "tcp", Protocol.UDP: "udp", Protocol.ANY: "-1"}

WORDS = {
    Peer.ENVIRONMENT: ("in", "the environment"),
    # EC2 accepts no apostrophe here.
    Peer.ANYWHERE: ("out", "anywhere, by the NAT gateway of the zone"),
}
"""Suffix of a rule's name in the program and the rule's description, by peer."""

MEMBERS: Mapping[str, type[aws.vpc.SecurityGroupIngressRule | aws.vpc.SecurityGroupEgressRule]] = {
    "in": aws.vpc.SecurityGroupIngressRule,
    "out": aws.vpc.SecurityGroupEgressRule,
}
"""Rules between members of the group, by suffix of their names in the program."""


def node_rules(
    name: str,
    environment: Environment,
    addresses: AddressPlan,
    *,
    region: str,
    vpc_id: Output[str],
    efa: bool = False,
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> Output[str]:
    """Make the security group of every node and return its id. With ``efa``, its members may also send each other
    packets without IP addresses: an Elastic Fabric Adapter needs a group that allows all traffic to and from itself
    (docs.aws.amazon.com, "Get started with EFA and MPI", step 1); rules for ranges do not suffice."""
    group = aws.ec2.SecurityGroup(
        name,
        region=region,
        name=cloud_name(environment, name),
        description="Longhaul nodes",
        vpc_id=vpc_id,
        tags=tags,
        opts=opts,
    )
    ranges = {Peer.ENVIRONMENT: str(addresses.supernet), Peer.ANYWHERE: "0.0.0.0/0"}
    for flow in flows(environment, "nodes"):
        rule = aws.vpc.SecurityGroupIngressRule if flow.direction is Direction.IN else aws.vpc.SecurityGroupEgressRule
        if flow.ports:
            raise NotImplementedError(f"{flow.name}: nodes are open to each other on every port")
        end, description = WORDS[flow.peer]
        rule(
            f"{name}-{end}",
            region=region,
            security_group_id=group.id,
            cidr_ipv4=ranges[flow.peer],
            ip_protocol=PROTOCOLS[flow.protocol],
            description=description,
            tags=tags,
            opts=opts,
        )
    for end, between in MEMBERS.items() if efa else ():
        between(
            f"{name}-fabric-{end}",
            region=region,
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            description="Elastic Fabric Adapters of the nodes",
            tags=tags,
            opts=opts,
        )
    return group.id


def quarantine_rules(
    name: str,
    environment: Environment,
    addresses: AddressPlan,
    *,
    region: str,
    vpc_id: Output[str],
    tags: Mapping[str, str],
    opts: ResourceOptions,
) -> None:
    """Make the security group of machines in quarantine, which `longhaul machine quarantine` finds by its name. It has
    no outbound rule."""
    group = aws.ec2.SecurityGroup(
        name,
        region=region,
        name=cloud_name(environment, name),
        description="Longhaul machines in quarantine",
        vpc_id=vpc_id,
        tags=tags,
        opts=opts,
    )
    for flow in flows(environment, QUARANTINE):
        if flow.peer is not Peer.OPERATORS_INSIDE:
            raise NotImplementedError(f"{flow.name}: only operators reach a machine in quarantine")
        for port in flow.ports:
            for index, range_ in enumerate(operators_inside(environment, addresses)):
                aws.vpc.SecurityGroupIngressRule(
                    f"{name}-{port}-{index}",
                    region=region,
                    security_group_id=group.id,
                    cidr_ipv4=str(range_),
                    ip_protocol=PROTOCOLS[flow.protocol],
                    from_port=int(port),
                    to_port=int(port),
                    description="operators",
                    tags=tags,
                    opts=opts,
                )
