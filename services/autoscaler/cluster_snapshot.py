"""Input of a decision: everything about a cluster at one moment, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from components.model.autoscaler.section import IDLE_MINUTES, JOIN_MINUTES
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.pod_shapes import AntiAffinity, NodeKind, PodShape, Resources
from services.autoscaler.time_limits import ScalingLimits

LabelPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPod:
    """A pod that waits for a node."""

    namespace: str
    name: str
    shape: PodShape
    priority: int = 0
    labels: LabelPairs = ()
    """Labels; they matter only when other pods keep apart from them."""
    gang: str = ""
    """Name of its gang; empty for an independent pod."""
    nominated: str = ""
    """Node on which the scheduler is making room for it; empty without one."""

    @property
    def id(self) -> str:
        """Return namespace and name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MovablePod:
    """A running pod that may be moved to another node."""

    namespace: str
    name: str
    shape: PodShape
    labels: LabelPairs = ()
    block_reason: str = ""
    """Reason why it may not leave now: a disruption budget. Empty when it may."""

    @property
    def id(self) -> str:
        """Return namespace and name."""
        return f"{self.namespace}/{self.name}"


class CordonOrigin(StrEnum):
    """Origin of a node's cordon."""

    NONE = ""
    OURS = "ours"
    """The autoscaler made it, and recorded that on the node."""
    OTHERS = "others"


class NodeHealth(StrEnum):
    """Health of a node, as far as pods are concerned."""

    READY = "ready"
    STARTING = "starting"
    """It has registered and is not fit for pods yet."""
    SILENT = "silent"
    """It was ready, and does not answer."""
    ENDING = "ending"
    """The cloud has announced that it takes the machine back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A node of the cluster, with the sum of its pods."""

    name: str
    kind: NodeKind
    free: Resources
    """Allocatable amounts, minus the requests of its pods."""
    allocatable: Resources = field(default_factory=dict)
    pool: str = ""
    """Name of its pool; empty for a node without a pool."""
    group: str = ""
    """Name of its group in the cloud; empty for a host."""
    machine: str = ""
    """The cloud's id of its machine; empty when no group lists it."""
    counted: bool = True
    """False when its group's size does not include the machine: it is being removed, or on standby."""
    health: NodeHealth = NodeHealth.READY
    since: datetime | None = None
    """Time since which the node has had this health; None when it is unknown."""
    made: datetime | None = None
    """Time at which it registered; None when it is unknown."""
    cordon: CordonOrigin = CordonOrigin.NONE
    cordoned_at: datetime | None = None
    """Time of the autoscaler's cordon."""
    keep: str = ""
    """Reason why the node is always left alone; empty without one."""
    work: int = 0
    """Number of pods that would lose something, by the rules of :func:`contract.kubernetes.drain.pod_of`."""
    leaving: int = 0
    """Number of pods that are being ended and may still run."""
    moving: tuple[MovablePod, ...] = ()
    """Pods that may be moved elsewhere."""
    identities: tuple[tuple[str, LabelPairs], ...] = ()
    """Namespace and labels of each pod on it; only used when pods keep apart."""
    ended: tuple[tuple[str, LabelPairs], ...] = ()
    """Those of them that are being ended, which do not count where pods are spread."""
    apart: tuple[AntiAffinity, ...] = ()
    """Pods from which the pods on it keep apart."""
    wide: tuple[AntiAffinity, ...] = ()
    """Pods that the pods on it keep out of a larger domain, such as its zone."""
    ports: frozenset[str] = frozenset()
    """Ports of the node that are in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjoinedMachine:
    """A machine of a group that is not a node."""

    id: str
    made_at: datetime | None = None
    """Time at which it was made; None when the cloud does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFailure:
    """A cloud's refusal to make machines for a group."""

    at: datetime
    obstacle: Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingGroup:
    """A group of a pool, as its cloud reports it."""

    name: str
    wanted: int
    """Number of machines that it should have."""
    machines: int
    """Number of its machines, without those that its size does not include because they are being removed or on
    standby."""
    max: int
    min: int = 0
    min_by_hand: bool = False
    """True when its cloud has a larger minimum than is declared; ``min`` is the cloud's then."""
    leaving: int = 0
    """Number of machines that are being removed."""
    unjoined: tuple[UnjoinedMachine, ...] = ()
    """Machines that are not nodes, without those that are being removed."""
    refused: tuple[str, ...] = ()
    """Ids of machines that ``wanted`` includes although the cloud could not make them; not among ``machines``."""
    failures: tuple[GroupFailure, ...] = ()
    """Refusals that the cloud reports, in any order."""
    labels: LabelPairs = ()
    """Labels of its nodes in addition to the pool's."""
    error: str = ""
    """Reason why there is no current answer; empty when there is. In that case all other fields are the last known
    ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPool:
    """A pool as declared, with the state of its groups."""

    name: str
    site: str
    region: str = ""
    groups: tuple[ScalingGroup, ...] = ()
    """Groups in the order in which they are filled; empty for racks."""
    labels: LabelPairs = ()
    """Labels of a new node, as far as they are known before it is made."""
    variants: tuple[LabelPairs, ...] = ()
    """Labels of a new node in each zone, if its cloud chooses the zone."""
    taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value and effect of each taint of its nodes, once they are fit for pods."""
    capacity: Resources = field(default_factory=dict)
    """Amounts that a new node has for pods, by the declared machine type."""
    machine_type: str = ""
    min: int = 0
    max: int = 0
    spare: int = 0
    """Number of empty nodes that it keeps beyond what is needed."""
    priority: int = 100
    """Pools with a lower number are filled first."""
    fallbacks: tuple[str, ...] = ()
    price: Decimal | None = None
    """Price of a machine per hour; None when it is unknown."""
    spot: bool = False
    reserved: bool = False
    """True when its machines use capacity that is already paid for."""
    racks: bool = False
    """True for bare-metal hosts, which no cloud makes or takes back."""
    closed: Obstacle | None = None
    """Reason why somebody else, such as a roll, controls its size at the moment; None without one."""
    join: timedelta = timedelta(minutes=JOIN_MINUTES)
    """Time in which a requested machine must become a node."""
    idle: timedelta = timedelta(minutes=IDLE_MINUTES)
    """Time that a node is kept after its last work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Equal members of a gang that are not pods yet."""

    shape: PodShape
    count: int
    identity: tuple[str, LabelPairs] = ("", ())
    """Namespace and labels of the pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Pods that start together or not at all: those that name the gang, and the sets that a request declares."""

    name: str
    sets: tuple[PodSet, ...] = ()
    within: str = ""
    """Label that all of its nodes must have in common, such as the site's; empty when they may be anywhere."""
    priority: int = 0
    created: datetime | None = None
    request: bool = False
    """True for a ProvisioningRequest, which must be told when there is room."""
    granted: bool = False
    """True when it was told so; its room is reserved until its pods come."""
    on: tuple[str, ...] = ()
    """Nodes on which members already run."""
    runs: tuple[PodShape, ...] = ()
    """Shapes of running members, and of those that have succeeded, when the gang declares sets."""
    least: int = 0
    """Minimum number of members: while fewer exist as pods, others are still being made."""
    unknown: tuple[Obstacle, ...] = ()
    """Unsupported demands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLimit:
    """A number that several pools share: a quota, the nodes of the environment, the addresses of a subnet."""

    name: str
    """Text for people, such as ``max_nodes``."""
    reason: WaitReason
    """Reason for which pods wait when it is used up."""
    left: int
    each: tuple[tuple[str, int], ...]
    """Amount that one machine uses, by pool; missing pools use none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonPod:
    """A pod that a daemon set has on every matching node."""

    shape: PodShape
    name: str = ""
    """Namespace and name of the daemon set."""
    namespace: str = ""
    labels: LabelPairs = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """A cluster at one moment. The order of its parts has no meaning."""

    pods: tuple[PendingPod, ...] = ()
    """Pods that wait for a node, without those of daemon sets and those that are held back."""
    nodes: tuple[ClusterNode, ...] = ()
    former_nodes: frozenset[str] = frozenset()
    """Machines that were nodes at the last look, by :func:`~contract.documents.autoscaler_memory.machine_key`; empty
    without one."""
    gangs: tuple[Gang, ...] = ()
    limits: tuple[SharedLimit, ...] = ()
    daemons: tuple[DaemonPod, ...] = ()
    """Pods of daemon sets, in the order in which a new node gets them: it has room only for the rest."""
    settings: ScalingLimits = field(default_factory=ScalingLimits)
    scheduling: bool = True
    """False when no scheduler is at work."""
