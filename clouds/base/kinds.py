"""What a resource is to the cluster, whichever cloud's."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a resource is, in a reader's words."""

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
    """Nothing that anybody uses: what waits, and what remembers."""
    OTHER = "resource"
