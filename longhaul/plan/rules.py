"""Security rules in a line each, of groups that are new or go: of others, the properties that change are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from longhaul.plan.changes import Change
from longhaul.plan.masking import masked

_AWS_DIRECTIONS: Mapping[str, str] = {"SecurityGroupIngressRule": "in", "SecurityGroupEgressRule": "out"}
_AWS_ENDS = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
"""Where the other end of a rule of AWS is (``pulumi_aws.vpc.SecurityGroupIngressRule``)."""


def rules(change: Change) -> tuple[str, ...]:
    """The rules of a security group, or the one that a resource is: direction, ports, ranges. None of another type."""
    inputs = masked(dict(change.after or change.before))
    if change.short_type in _AWS_DIRECTIONS:
        return (f"{change.name}: {_of_aws(inputs, _AWS_DIRECTIONS[change.short_type])}",)
    return tuple(f"{change.name}: {_of_azure(rule)}" for rule in _listed(inputs, "securityRules"))


def _of_aws(rule: Mapping[str, Any], direction: str) -> str:
    """A rule of AWS, where -1 is any protocol and without ports any port."""
    protocol = "any" if str(rule.get("ipProtocol")) == "-1" else str(rule.get("ipProtocol"))
    first, last = rule.get("fromPort"), rule.get("toPort")
    ports = "any port" if first is None else f"ports {first}" if first == last else f"ports {first}-{last}"
    ends = ", ".join(str(rule[key]) for key in _AWS_ENDS if rule.get(key)) or "nobody"
    said = f" ({rule['description']})" if rule.get("description") else ""
    return f"allow {direction}, {protocol}, {ports}, {'from' if direction == 'in' else 'to'} {ends}{said}"


def _of_azure(rule: Mapping[str, Any]) -> str:
    """A rule of Azure: who and where to are each one value or several."""
    protocol = "any" if rule.get("protocol") == "*" else str(rule.get("protocol")).lower()
    direction = {"Inbound": "in", "Outbound": "out"}.get(str(rule.get("direction")), str(rule.get("direction")))
    source, target = (_several(rule, f"{end}AddressPrefix", "es") for end in ("source", "destination"))
    ports = _several(rule, "destinationPortRange", "s")
    return (
        f"{str(rule.get('access')).lower()} {direction}, {protocol}, ports {ports}, from {source} to {target} "
        f"({rule.get('name')})"
    )


def _several(rule: Mapping[str, Any], key: str, plural: str) -> str:
    return ", ".join(map(str, [*([rule[key]] if rule.get(key) else []), *(rule.get(f"{key}{plural}") or [])])) or "any"


def _listed(inputs: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    found = inputs.get(key)
    yield from (one for one in found if isinstance(one, Mapping)) if isinstance(found, list) else ()
