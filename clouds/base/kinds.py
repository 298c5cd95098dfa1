"""Kinds of resources, the same for all clouds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_VERSION = re.compile(r"/v\d+\w*(?=:)")


def without_version(token: str) -> str:
    """The type's token without a version of its cloud's interface: `azure-native:network/v20240501:Subnet`."""
    return _VERSION.sub("", token)


class ResourceKind(StrEnum):
    """Kind of a resource, in words for a reader."""

    MACHINE = "machine"
    POOL = "pool's group"
    VAULT = "vault"
    AUTHORITY = "authority"
    KEY = "shared key"
    CERTIFICATE = "certificate"
    DATA = "data store"
    GROUP = "resource group"
    GUARD = "guard against destruction"
    BALANCER = "load balancer"
    VPN_GATEWAY = "VPN gateway"
    EGRESS = "egress gateway"
    ADDRESS = "public address"
    TUNNEL = "tunnel part"
    PEERING = "peering"
    NETWORK = "network"
    ROUTE = "route"
    RULE = "security rule"
    NAME = "name"
    RIGHT = "right"
    QUIET = "note of Longhaul's own"
    """Resources that only wait or only record something; nothing else uses them."""
    OTHER = "resource"


@dataclass(frozen=True, kw_only=True)
class Lasting:
    """Marks a type of resources that are not deleted while the environment is in use."""

    why: str
    """Reason, as the end of a sentence."""
    with_site: bool = False
    """True when such a resource goes with its site; otherwise it goes with the whole environment alone."""
    with_learner: bool = False
    """True when it goes with the learner that is taken out of the file."""
