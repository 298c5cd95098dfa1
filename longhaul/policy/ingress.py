"""What comes in comes from the environment's own addresses or from its operators', whichever cloud's rule admits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longhaul.policy.declared import Declared, parse_range
from longhaul.policy.resource import Resource
from longhaul.policy.rule import Fault, Rule
from longhaul.policy.values import at, is_unknown, sections, texts, unseen

ANYONE = ("*", "any", "internet", "0.0.0.0/0", "::/0")
"""Sources that are the whole internet, in small letters."""

OWN_TAGS = ("VirtualNetwork", "AzureLoadBalancer")
"""Azure's service tags that stand for nobody's addresses but the network's and its probes' (learn.microsoft.com,
"Virtual network service tags"); `AzureCloud` and its like are other customers' machines too."""

IPSEC_PORTS = frozenset({"500", "4500"})
"""UDP ports of IKE and of ESP behind NAT (RFC 7296, 2; RFC 3948, 2.1)."""

ESP = ("esp", "50")
"""The protocol by its name in Azure and by its number (IANA, "Protocol Numbers")."""

WITHOUT_RULES = ("GatewaySubnet",)
"""Subnets that take no security group (learn.microsoft.com, "About VPN Gateway configuration settings", Gateway
subnet)."""

_GROUP_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_OLD_GROUP_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
_GROUPS = ("aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
_AZURE_GROUP = "azure-native:network:NetworkSecurityGroup"
_AZURE_RULE = "azure-native:network:SecurityRule"


@dataclass(frozen=True, kw_only=True)
class Ingress:
    """One rule that lets something in."""

    place: str
    """Where it is in its resource; empty when it is a resource of its own."""
    sources: tuple[str, ...]
    protocol: str
    ports: frozenset[str]
    """Ports or ranges of them as they are written."""

    @property
    def is_ipsec(self) -> bool:
        """Whether it admits nothing but IKE and ESP, which end in a gateway that knows its peers by their keys."""
        if self.protocol.lower() in ESP:
            return True
        return self.protocol.lower() == "udp" and bool(self.ports) and self.ports <= IPSEC_PORTS


def ingress(resource: Resource) -> Iterator[Ingress]:
    """Every rule of ``resource`` that lets something in."""
    inputs = resource.inputs
    if resource.kind == _GROUP_RULE:
        yield _aws("", inputs, protocol="ipProtocol", ranges=("cidrIpv4", "cidrIpv6", "prefixListId"))
    elif resource.kind == _OLD_GROUP_RULE:
        if inputs.get("type") == "ingress":
            yield _aws("", inputs, protocol="protocol", ranges=("cidrBlocks", "ipv6CidrBlocks", "prefixListIds"))
    elif resource.kind in _GROUPS:
        for place, rule in sections(inputs, "ingress"):
            yield _aws(place, rule, protocol="protocol", ranges=("cidrBlocks", "ipv6CidrBlocks", "prefixListIds"))
    elif resource.kind == _AZURE_RULE:
        yield from _azure("", inputs)
    else:
        for place, rule in sections(inputs, "securityRules"):
            yield from _azure(f"{place} ({rule.get('name', 'no name')})", rule)


def _aws(place: str, rule: Mapping[str, Any], *, protocol: str, ranges: tuple[str, ...]) -> Ingress:
    first, last = rule.get("fromPort"), rule.get("toPort")
    port = _number(first) if first == last else f"{_number(first)}-{_number(last)}"
    return Ingress(
        place=place,
        sources=tuple(source for key in ranges for source in texts(rule, key)),
        protocol=str(rule.get(protocol)),
        ports=frozenset({port}),
    )


def _number(port: object) -> str:
    """JSON's numbers come without a kind: 500 and 500.0 are the same port."""
    return str(int(port)) if isinstance(port, float) else str(port)


def _azure(place: str, rule: Mapping[str, Any]) -> Iterator[Ingress]:
    if str(rule.get("direction")).lower() != "inbound" or str(rule.get("access")).lower() != "allow":
        return
    yield Ingress(
        place=place,
        sources=(*texts(rule, "sourceAddressPrefix"), *texts(rule, "sourceAddressPrefixes")),
        protocol=str(rule.get("protocol")),
        ports=frozenset((*texts(rule, "destinationPortRange"), *texts(rule, "destinationPortRanges"))),
    )


def _ingress(resource: Resource, declared: Declared) -> Iterator[Fault]:
    for key in ("ingress", "securityRules"):
        if unseen(resource.inputs, key):
            yield Fault(what=f"{key} cannot be judged before it is made", write="rules that do not wait for anything")
    for rule in ingress(resource):
        for source in rule.sources:
            wrong = _wrong(source, declared)
            if wrong and not rule.is_ipsec:
                yield Fault(
                    what=f"{rule.place}: {wrong}" if rule.place else wrong,
                    write=f"a source inside {declared.supernet}, or a range that access.operators declares",
                )


def _wrong(source: str, declared: Declared) -> str:
    """What is wrong with a source; empty when nothing is."""
    if source.lower() in ANYONE:
        return f"lets in {source}, which is everyone"
    if is_unknown(source):
        return "lets in a source that is not known before it is made"
    network = parse_range(source)
    if network is None:
        return "" if source in OWN_TAGS else f"lets in {source}, whose addresses are not the environment's alone"
    return "" if declared.admits(network) else f"lets in {source}, which the environment does not declare"


def _subnet(resource: Resource, _: Declared) -> Iterator[Fault]:
    if at(resource.inputs, "networkSecurityGroup") is None and resource.inputs.get("subnetName") not in WITHOUT_RULES:
        yield Fault(
            what="no networkSecurityGroup: Azure's own rules let in every network that is peered or linked",
            write="networkSecurityGroup with the subnet's own rules",
        )


RULES = (
    Rule(
        id="ingress",
        reason=(
            "What is let in comes from the environment's supernet or from a declared operator range; only IKE and ESP "
            "may come from anywhere."
        ),
        source="CIS AWS v5.0.0, 5.3 and 5.4; CIS Azure v4.0.0, 8.1 to 8.4; docs/lessons.md, 9",
        kinds=frozenset({_GROUP_RULE, _OLD_GROUP_RULE, *_GROUPS, _AZURE_GROUP, _AZURE_RULE}),
        look=_ingress,
    ),
    Rule(
        id="subnet-without-rules",
        reason="Every subnet on Azure has a security group: without one, nothing narrows what peers and links bring.",
        source="learn.microsoft.com, Network security groups, Default security rules",
        kinds=frozenset({"azure-native:network:Subnet"}),
        look=_subnet,
    ),
)
