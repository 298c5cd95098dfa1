"""Allowed traffic: one table, which each cloud renders as its own security rules. All other traffic is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from clouds.base.openvpn import PORT, SIGN_IN_PORT
from components.model.control_plane.machines import Role
from components.model.environment import Environment
from contract.ports import ETCD_CLIENT_PORT, ETCD_PEER_PORT, JOIN_PORT


class Direction(StrEnum):
    """Direction of a flow, as seen from the part that the rule belongs to."""

    IN = "in"
    OUT = "out"


class Peer(StrEnum):
    """The other end of a flow."""

    MEMBERS = "members"
    """The other members of the same etcd cluster."""
    API_SERVERS = "API servers"
    ENVIRONMENT = "environment"
    """Every address of the environment: nodes, pods and operators of all sites, also those that arrive through a
    VPN."""
    POOLS = "pools"
    """Ranges of pools' machines."""
    OPERATORS = "operators"
    """The ranges that the file names under ``access.operators``."""
    OPERATORS_INSIDE = "operators inside"
    """The ranges of ``access.operators_inside`` and the plan's own range of operators."""
    BALANCER = "load balancer"
    """Load balancer that checks whether API servers are ready."""
    VAULT = "vault"
    CLOUD = "cloud"
    """The cloud's own addresses in the region."""
    AZURE_API = "Azure's API"
    AZURE_DIRECTORY = "Azure's directory"
    AWS_API = "AWS's API"
    ISSUERS = "issuers of people's tokens"
    LAPTOPS = "laptops"
    """The ranges that the file names under ``vpn.sources``."""
    ANYWHERE = "anywhere"


class Protocol(StrEnum):
    """Protocol of a flow."""

    TCP = "tcp"
    UDP = "udp"
    ANY = "any"


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One kind of allowed traffic."""

    name: str
    """Name, unique in its part; clouds use it as the rule's name."""
    parts: tuple[str, ...]
    """Parts whose machines the rule applies to: parts of a site in the address plan, ``gateway`` for gateways of an
    on-premises site, or :data:`QUARANTINE` for machines in quarantine, wherever they are."""
    direction: Direction
    peer: Peer
    ports: tuple[str, ...] = ()
    """Port numbers or ranges; empty for every port."""
    protocol: Protocol = Protocol.TCP
    rank: int
    """Number of the rule within its part, where a cloud numbers rules. It is fixed, so that other rules keep their
    numbers when one is added or removed."""
    cloud: str = ""
    """Kind of cloud that the flow is for: it exists only where the environment has a site of this kind. Empty for
    any."""
    for_pools: bool = False
    """True when the flow is for pools: it exists only where the environment has pools, in ``cloud`` if that is set."""
    for_issuers: bool = False
    """True when the flow is for the issuers whose tokens people sign in with: it exists only where there are some."""
    why: str


API, ISSUERS = "the API servers' port", "the issuers' ports"
"""Placeholders for ports that the file declares."""

ETCD_ROLES = ("etcd", "events")
CONTROL_PLANE = (*ETCD_ROLES, "api")
VPN = str(Role.VPN)
HTTPS = ("443",)
QUARANTINE = "quarantine"

FLOWS = (
    Flow(
        name="peers",
        parts=ETCD_ROLES,
        direction=Direction.IN,
        peer=Peer.MEMBERS,
        ports=(f"{ETCD_CLIENT_PORT}-{ETCD_PEER_PORT}",),
        rank=100,
        why="members talk to each other",
    ),
    Flow(
        name="api-servers",
        parts=ETCD_ROLES,
        direction=Direction.IN,
        peer=Peer.API_SERVERS,
        ports=(str(ETCD_CLIENT_PORT),),
        rank=110,
        why="only API servers use the etcd clusters",
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
        why="a cloud's machine proves its identity before it becomes a node",
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
        name="laptops",
        parts=(VPN,),
        direction=Direction.IN,
        peer=Peer.LAPTOPS,
        ports=(str(PORT),),
        protocol=Protocol.UDP,
        rank=100,
        why="OpenVPN; without a certificate there is no tunnel",
    ),
    Flow(
        name="sign-in",
        parts=(VPN,),
        direction=Direction.IN,
        peer=Peer.LAPTOPS,
        ports=(str(SIGN_IN_PORT),),
        rank=110,
        why="a laptop gets its certificate for a person's token",
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
        why="IKE, and ESP in UDP; without a key there is no tunnel",
    ),
    Flow(
        name="ssh",
        parts=("gateway",),
        direction=Direction.IN,
        peer=Peer.OPERATORS_INSIDE,
        ports=("22",),
        rank=110,
        why="operators prepare racks from inside the environment; pods cannot",
    ),
    Flow(
        name="ssh-operators",
        parts=("gateway",),
        direction=Direction.IN,
        peer=Peer.OPERATORS,
        ports=("22",),
        rank=120,
        why="operators prepare gateways from outside while there is no tunnel yet",
    ),
    Flow(
        name="peers-out",
        parts=ETCD_ROLES,
        direction=Direction.OUT,
        peer=Peer.MEMBERS,
        ports=(f"{ETCD_CLIENT_PORT}-{ETCD_PEER_PORT}",),
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
        why="etcd, kubelets, and pods; any pod may be a webhook on any port",
    ),
    Flow(
        name="laptops-out",
        parts=(VPN,),
        direction=Direction.OUT,
        peer=Peer.ENVIRONMENT,
        protocol=Protocol.ANY,
        rank=100,
        why="laptops reach each part as far as that part's rules allow",
    ),
    Flow(
        name="vault",
        parts=(*CONTROL_PLANE, VPN),
        direction=Direction.OUT,
        peer=Peer.VAULT,
        ports=HTTPS,
        rank=110,
        why="machines fetch their secrets",
    ),
    Flow(
        name="agent",
        parts=(*CONTROL_PLANE, VPN),
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
        why="the join service fetches the keys that sign machines' tokens",
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
        name="issuers",
        parts=("api",),
        direction=Direction.OUT,
        peer=Peer.ISSUERS,
        ports=(ISSUERS,),
        rank=145,
        for_issuers=True,
        why="API servers fetch the keys of the issuers whose tokens they accept",
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
    Flow(
        name="ssh-quarantine",
        parts=(QUARANTINE,),
        direction=Direction.IN,
        peer=Peer.OPERATORS_INSIDE,
        ports=("22",),
        rank=100,
        cloud="aws",
        why="operators examine a machine that an attacker may control",
    ),
)
"""The table, in the order in which rules are written."""


def flows(environment: Environment, part: str) -> Iterator[Flow]:
    """Yield the flows of one part that this environment has, with ports as numbers."""
    named = {API: (str(environment.control_plane.api.port),), ISSUERS: environment.identity.ports}
    for flow in FLOWS:
        if part in flow.parts and _is_there(environment, flow):
            yield replace(flow, ports=tuple(number for port in flow.ports for number in named.get(port, (port,))))


def _is_there(environment: Environment, flow: Flow) -> bool:
    if flow.for_issuers:
        return bool(environment.identity.issuers)
    named = {pool.site for pool in environment.pools.values()} if flow.for_pools else environment.sites
    kinds = {environment.sites[name].kind for name in named}
    return flow.cloud in kinds if flow.cloud else bool(kinds)
