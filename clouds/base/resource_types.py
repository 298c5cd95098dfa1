"""Types and kinds of the program's resources, for the plan and for previews."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_VERSION = re.compile(r"/v\d+\w*(?=:)")


def without_version(token: str) -> str:
    """Return the type's token without the version of its cloud's interface
    (`azure-native:network/v20240501:Subnet`)."""
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
    """True when such a resource is deleted with its site; otherwise only with the whole environment."""
    with_learner: bool = False
    """True when it is deleted together with the learner, once the file drops the learner."""


class ResourceTypes:
    """Types of the program's resources in a cloud. There are none by default."""

    def kinds(self) -> Mapping[str, ResourceKind]:
        """Return the kind of each resource type. The plan treats any other type as ``ResourceKind.OTHER``."""
        return {}

    def ranges(self) -> Mapping[str, tuple[str, ...]]:
        """Return, for each resource type, the dotted paths of the properties that hold its ranges. Types of whole
        networks come first."""
        return {}

    def lasting(self) -> Mapping[str, Lasting]:
        """Return the types whose resources are not deleted while the environment is in use. A resource that is deleted
        with its site has the site's tag."""
        return {}

    def sealed(self) -> tuple[str, ...]:
        """Return the types that a search for drift leaves out: a refresh would read a tunnel's key, which the role
        forbids."""
        return ()

    def refusal(self, type_: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """Return, in one sentence, why the cloud refuses to change a resource in place from these inputs to those;
        empty when it does not, or when nobody looked."""
        return ""

    def rules(self, type_: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the security rules of a resource, one line each: direction, ports, ranges. Empty for another type."""
        return ()
