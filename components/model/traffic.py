"""Who may talk to whom: one table, which each cloud says as security rules of its own. What is not in it is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from components.model.environment import Environment
from components.model.joining import JOIN_PORT


class Direction(StrEnum):
    """From the view of the part that the rule is of."""

    IN = "in"
    OUT = "out"


class Peer(StrEnum):
    """The other end."""

    MEMBERS = "members"
    """The other members of the same store."""
    API_SERVERS = "API servers"
    ENVIRONMENT = "environment"
    """Every address of the environment: nodes, pods and operators of all sites, also those that come over a VPN."""
    POOLS = "pools"
    """Where machines of pools are."""
    OPERATORS = "operators"
    """The ranges that the file names under ``access.operators``."""
    BALANCER = "load balancer"
    """What asks whether API servers are ready."""
    VAULT = "vault"
    CLOUD = "cloud"
    """The cloud's own addresses in the region."""
    AZURE_API = "Azure's API"
    AZURE_DIRECTORY = "Azure's directory"
    AWS_API = "AWS's API"
    ANYWHERE = "anywhere"


class Protocol(StrEnum):
    """What is spoken."""

    TCP = "tcp"
    UDP = "udp"
    ANY = "any"


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One kind of traffic that is let through."""

    name: str
    """Unique in its part: clouds name their rule so."""
    parts: tuple[str, ...]
    """Whose rule it is: parts of a site in the address plan, or ``gateway``, an on-prem site's."""
    direction: Direction
    peer: Peer
    ports: tuple[str, ...] = ()
    """Numbers or ranges; every port without any."""
    protocol: Protocol = Protocol.TCP
    rank: int
    """Its place among those of its part, where a cloud numbers rules: that of others stays when one comes or goes."""
    cloud: str = ""
    """Only where the environment has a site of this kind."""
    for_pools: bool = False
    """Only for the sake of pools: of sites that have some."""
    why: str


API = "api"
"""Stands for the API servers' port, which the file says."""

STORES = ("etcd", "events")
CONTROL_PLANE = (*STORES, "api")
HTTPS = ("443",)

FLOWS = (
    Flow(
        name="peers",
        parts=STORES,
        direction=Direction.IN,
        peer=Peer.MEMBERS,
        ports=("2379-2380",),
        rank=100,
        why="members talk to each other",
    ),
    Flow(
        name="api-servers",
        parts=STORES,
        direction=Direction.IN,
        peer=Peer.API_SERVERS,
        ports=("2379",),
        rank=110,
        why="the stores are theirs alone",
    ),
    Flow(
        name="api",
        parts=("api",),
        direction=Direction.IN,
        peer=Peer.ENVIRONMENT,
        ports=(API,),
        rank=100,
        why="nodes, pods and operators of every site use the API",
    ),
    Flow(
        name="join",
        parts=("api",),
        direction=Direction.IN,
        peer=Peer.POOLS,
        ports=(str(JOIN_PORT),),
        rank=105,
        for_pools=True,
        why="a cloud's machine proves what it is before it is a node",
    ),
    Flow(
        name="probes",
        parts=("api",),
        direction=Direction.IN,
        peer=Peer.BALANCER,
        ports=(API, str(JOIN_PORT)),
        rank=110,
        why="a server that is not ready gets no new connection",
    ),
    Flow(
        name="environment",
        parts=("nodes",),
        direction=Direction.IN,
        peer=Peer.ENVIRONMENT,
        protocol=Protocol.ANY,
        rank=100,
        why="nodes and pods of every site are one flat network",
    ),
    Flow(
        name="tunnels",
        parts=("gateway",),
        direction=Direction.IN,
        peer=Peer.ANYWHERE,
        ports=("500", "4500"),
        protocol=Protocol.UDP,
        rank=100,
        why="IKE, and ESP in UDP; who has no key gets no tunnel",
    ),
    Flow(
        name="ssh",
        parts=("gateway",),
        direction=Direction.IN,
        peer=Peer.ENVIRONMENT,
        ports=("22",),
        rank=110,
        why="racks are prepared from inside",
    ),
    Flow(
        name="ssh-operators",
        parts=("gateway",),
        direction=Direction.IN,
        peer=Peer.OPERATORS,
        ports=("22",),
        rank=120,
        why="and from outside while there is no tunnel yet",
    ),
    Flow(
        name="peers-out",
        parts=STORES,
        direction=Direction.OUT,
        peer=Peer.MEMBERS,
        ports=("2379-2380",),
        rank=100,
        why="members talk to each other",
    ),
    Flow(
        name="environment-out",
        parts=("api",),
        direction=Direction.OUT,
        peer=Peer.ENVIRONMENT,
        protocol=Protocol.ANY,
        rank=100,
        why="stores, kubelets, and pods, of which any may be a webhook on any port",
    ),
    Flow(
        name="vault",
        parts=CONTROL_PLANE,
        direction=Direction.OUT,
        peer=Peer.VAULT,
        ports=HTTPS,
        rank=110,
        why="machines fetch their secrets",
    ),
    Flow(
        name="agent",
        parts=CONTROL_PLANE,
        direction=Direction.OUT,
        peer=Peer.CLOUD,
        ports=HTTPS,
        rank=120,
        # learn.microsoft.com, "Run scripts in your Linux VM by using action Run Commands".
        why="the cloud's agent returns the results of run commands there",
    ),
    Flow(
        name="azure-api",
        parts=("api",),
        direction=Direction.OUT,
        peer=Peer.AZURE_API,
        ports=HTTPS,
        rank=130,
        cloud="azure",
        for_pools=True,
        why="the node controller lists the machines of pools",
    ),
    Flow(
        name="azure-directory",
        parts=("api",),
        direction=Direction.OUT,
        peer=Peer.AZURE_DIRECTORY,
        ports=HTTPS,
        rank=135,
        cloud="azure",
        for_pools=True,
        why="it tells the join service what machines' tokens are signed with",
    ),
    Flow(
        name="aws-api",
        parts=("api",),
        direction=Direction.OUT,
        peer=Peer.AWS_API,
        ports=HTTPS,
        rank=140,
        cloud="aws",
        why="the node controller lists the machines of pools",
    ),
    Flow(
        name="anywhere",
        parts=("nodes",),
        direction=Direction.OUT,
        peer=Peer.ANYWHERE,
        protocol=Protocol.ANY,
        rank=100,
        why="data and images may be anywhere; the way there is the site's NAT",
    ),
)
"""The table, in the order in which rules are written."""


def flows(environment: Environment, part: str) -> Iterator[Flow]:
    """Those of one part that this environment has, ports as numbers."""
    api = str(environment.control_plane.api.port)
    for flow in FLOWS:
        if part in flow.parts and _is_there(environment, flow):
            yield replace(flow, ports=tuple(api if port == API else port for port in flow.ports))


def _is_there(environment: Environment, flow: Flow) -> bool:
    named = {pool.site for pool in environment.pools.values()} if flow.for_pools else environment.sites
    kinds = {environment.sites[name].kind for name in named}
    return flow.cloud in kinds if flow.cloud else bool(kinds)
