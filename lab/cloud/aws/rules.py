"""Translates security groups into the hypervisor's rules: traffic that a group lists is allowed, and all other traffic
is denied."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any, Literal

from lab.cloud.aws.errors import AwsRefusalError
from lab.desired import DesiredRule

if TYPE_CHECKING:
    from lab.cloud.aws.moto_ec2 import LabEc2

FIRST, LAST = 100, 65000
"""Priorities of the first allow rule and of the final deny rule. AWS's rules have no priorities, so all allow rules
come first, in any order, and one rule that denies the rest comes last."""

Direction = Literal["in", "out"]
Protocol = Literal["tcp", "udp", "icmp", "any"]


PROTOCOLS: dict[str, Protocol] = {
    "tcp": "tcp",
    "6": "tcp",
    "udp": "udp",
    "17": "udp",
    "icmp": "icmp",
    "1": "icmp",
    "-1": "any",
}
_PERMISSION = frozenset(
    ("IpProtocol", "FromPort", "ToPort", "IpRanges", "UserIdGroupPairs", "CidrIpv4", "ReferencedGroupId", "Description")
)
_DESCRIBED = ("IpRanges", "UserIdGroupPairs")
"""Parts of a permission that have a description of their own."""
_DESCRIPTION = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{0,255}")
"""Pattern of the service's model for CreateSecurityGroup and IpRange. For UserIdGroupPair the model leaves out ``&``,
but EC2's error message for a rule lists it."""


def check_description(text: str, *, of: str) -> None:
    """Raise AwsRefusalError for a description of a rule or a security group that EC2 refuses."""
    if not _DESCRIPTION.fullmatch(text):
        raise AwsRefusalError(
            "InvalidParameterValue",
            f"Invalid {of} description. Valid descriptions are strings less than 256 characters from the following "
            "set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*",
        )


def check_permissions(permissions: Sequence[Mapping[str, Any]]) -> None:
    """Raise AwsRefusalError for permissions that cannot become rules of the hypervisor, and for invalid
    descriptions."""
    for permission in permissions:
        protocol = str(permission.get("IpProtocol"))
        if protocol not in PROTOCOLS:
            raise AwsRefusalError("UnsupportedParameter", f"The lab's AWS cannot filter the protocol {protocol}.")
        unknown = {key for key, value in permission.items() if value} - _PERMISSION
        if unknown:
            names = ", ".join(sorted(unknown))
            raise AwsRefusalError("UnsupportedParameter", f"The lab's AWS does not know {names} of a permission.")
        for part in (permission, *(peer for key in _DESCRIBED for peer in permission.get(key) or ())):
            check_description(str(part.get("Description") or ""), of="rule")


def rules_of(ec2: LabEc2, interface: Any) -> tuple[DesiredRule, ...]:
    """Return the rules of all groups that an interface is in."""
    groups = sorted(interface.group_set, key=lambda group: group.id)
    directions: tuple[Direction, ...] = ("in", "out")
    rules = []
    for direction in directions:
        allowed = [rule for group in groups for rule in _allowances(ec2, group, direction)]
        rules += [_numbered(rule, FIRST + index) for index, rule in enumerate(allowed)]
        rules.append(
            DesiredRule(name=f"{direction}-rest", priority=LAST, direction=direction, allow=False, protocol="any")
        )
    return tuple(rules)


def _allowances(ec2: LabEc2, group: Any, direction: Direction) -> Iterator[DesiredRule]:
    for rule in group.ingress_rules if direction == "in" else group.egress_rules:
        ranges = _ranges(ec2, rule)
        if not ranges:
            continue  # a group without members, or a range of IPv6
        anywhere = any(range_.prefixlen == 0 for range_ in ranges)
        peers = () if anywhere else ranges
        protocol, ports = _protocol(rule)
        yield DesiredRule(
            name=rule.id,
            priority=FIRST,
            direction=direction,
            allow=True,
            protocol=protocol,
            sources=peers if direction == "in" else (),
            destinations=peers if direction == "out" else (),
            ports=ports,
        )


def _ranges(ec2: LabEc2, rule: Any) -> tuple[IPv4Network, ...]:
    if rule.cidr_ipv4:
        return (IPv4Network(rule.cidr_ipv4, strict=False),)
    group = (rule.source_group or {}).get("GroupId")
    if not group:
        return ()
    members = [
        interface
        for interface in ec2.enis.values()
        if any(membership.id == group for membership in interface.group_set)
    ]
    addresses = [IPv4Network(member.private_ip_address) for member in members]
    delegated = [IPv4Network(item["Ipv4Prefix"]) for member in members for item in getattr(member, "ipv4_prefixes", [])]
    return tuple(sorted([*addresses, *delegated]))


def _protocol(rule: Any) -> tuple[Protocol, tuple[tuple[int, int], ...]]:
    protocol = PROTOCOLS[str(rule.ip_protocol)]
    ports = ((int(rule.from_port), int(rule.to_port)),) if protocol in ("tcp", "udp") else ()
    return protocol, ports


def _numbered(rule: DesiredRule, priority: int) -> DesiredRule:
    return replace(rule, priority=priority)
