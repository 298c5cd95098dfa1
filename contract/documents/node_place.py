"""Place of a node: facts that only the machine itself knows. A cloud's machine learns its place from the metadata
service, a host from a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from contract.json_object import json_object

PATH = "/etc/longhaul/place.json"

POD_PREFIX = 28
"""Prefix length of one node's pod range: 16 addresses. EC2 delegates prefixes of this length to an interface
(docs.aws.amazon.com, "Assign prefixes to Amazon EC2 network interfaces"). All other sites use the same length, so that
every node has room for the same number of pods."""


@dataclass(frozen=True, kw_only=True)
class NodePlace:
    """Place of a node."""

    name: str
    address: IPv4Address
    provider_id: str
    zone: str
    """Value of the node's zone label."""
    pods: tuple[IPv4Network, ...]
    """Ranges of addresses of the node's pods, disjoint, ascending."""


def to_text(place: NodePlace) -> str:
    """Return the content of a host's file. A host has exactly one range."""
    (pods,) = place.pods
    fields = {
        "name": place.name,
        "address": str(place.address),
        "provider_id": place.provider_id,
        "zone": place.zone,
        "pods": str(pods),
    }
    return json.dumps(fields, indent=1) + "\n"


def of_text(text: str) -> NodePlace:
    """Read the content of a host's file. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the content is
    malformed."""
    raw = json_object(text)
    return NodePlace(
        name=raw["name"],
        address=IPv4Address(raw["address"]),
        provider_id=raw["provider_id"],
        zone=raw["zone"],
        pods=(IPv4Network(raw["pods"]),),
    )
