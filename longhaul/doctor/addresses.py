"""Does the address plan overlap what is in the accounts already: such networks can never be joined to this one. Those
that the environment names are judged elsewhere (:mod:`longhaul.doctor.existing`)."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network

from clouds.azure.names import resource_group
from clouds.base.findings import Finding, ok, warning
from components.model.places import place_of
from longhaul.doctor.aws import Aws, asked, tagged, vpc_blocks
from longhaul.doctor.azure import NETWORK_VERSION, Azure
from longhaul.doctor.subject import Subject

DO = "nothing, if the two are never to reach each other; otherwise another supernet, before anything is made"


def azure(subject: Subject, client: Azure, subscription: str) -> Iterator[Finding]:
    """Virtual networks of the subscription, in whatever region: learn.microsoft.com, "Virtual Networks - List All"
    (``properties.addressSpace.addressPrefixes``)."""
    names = subject.subscriptions()[subscription]
    made = [name for name in names if subject.azure()[name].existing.network is None]
    ours = {resource_group(place_of(subject.environment, name)).lower() for name in made}
    named = {(subject.azure()[name].existing.network or "").lower() for name in names}
    path = f"/subscriptions/{subscription}/providers/Microsoft.Network/virtualNetworks"
    others = [
        (f"the virtual network {network['name']} in {_group(network['id'])}, {network['location']}", prefixes)
        for network in client.pages(path, version=NETWORK_VERSION)
        if _group(network["id"]).lower() not in ours and network["id"].lower() not in named
        for prefixes in ((network["properties"].get("addressSpace") or {}).get("addressPrefixes") or [],)
    ]
    yield from _compared(subject, others, f"virtual networks in the subscription {subscription}")


def aws(subject: Subject, client: Aws, region: str) -> Iterator[Finding]:
    """VPCs of a region: EC2's ``DescribeVpcs`` (``CidrBlockAssociationSet``)."""
    others: list[tuple[str, list[str]]] = []
    named = {site.existing.vpc for site in subject.aws().values()}
    ec2 = client.client("ec2", region)
    with asked("the VPCs that there are", needs="ec2:DescribeVpcs"):
        for page in ec2.get_paginator("describe_vpcs").paginate():
            for vpc in page["Vpcs"]:
                if not tagged(vpc, subject.name) and vpc["VpcId"] not in named:
                    words = "the default VPC" if vpc.get("IsDefault") else "the VPC"
                    others.append((f"{words} {vpc['VpcId']} in {region}", vpc_blocks(vpc)))
    yield from _compared(subject, others, f"VPCs in {region}")


def _compared(subject: Subject, others: list[tuple[str, list[str]]], what: str) -> Iterator[Finding]:
    supernet, clash = subject.environment.supernet, False
    for name, blocks in others:
        for block in blocks:
            range_ = ip_network(block)
            if isinstance(range_, IPv4Network) and range_.overlaps(supernet):
                clash = True
                yield warning(f"{name} has {range_}, inside or around {supernet}", subject.at("supernet"), do=DO)
    if not clash:
        yield ok(f"none of {len(others)} other {what} overlaps {supernet}", subject.at("supernet"))


def _group(resource: str) -> str:
    """The resource group in a resource's id."""
    parts = resource.split("/")
    return parts[4] if len(parts) > 4 else ""
