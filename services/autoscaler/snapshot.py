"""Everything that a decision knows of a cluster at one moment, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from components.model.autoscaler.section import IDLE_MINUTES, JOIN_MINUTES, JOINING, LEAVING_PERCENT
from services.autoscaler.shapes import Apart, NodeKind, Resources, Shape

LabelPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPod:
    """A pod that waits for a node."""

    namespace: str
    name: str
    shape: Shape
    priority: int = 0
    labels: LabelPairs = ()
    """Labels; they matter only where other pods keep apart from them."""
    gang: str = ""
    """Name of the gang that it belongs to; empty for a pod that starts alone."""
    nominated: str = ""
    """Node on which the scheduler is making room for it; empty when it is not."""

    @property
    def id(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """A pod that may be moved to another node, as it runs."""

    id: str
    shape: Shape
    held: str = ""
    """Reason for which it may not leave now: a disruption budget. Empty when it may."""


class Cordon(StrEnum):
    """Cordon of a node, by who made it."""

    NONE = ""
    OURS = "ours"
    """The autoscaler made it, and noted so on the node."""
    OTHERS = "others"


class Health(StrEnum):
    """Health of a node, as far as it takes pods."""

    READY = "ready"
    STARTING = "starting"
    """It has registered and is not fit for pods yet."""
    SILENT = "silent"
    """It was ready, and does not answer."""
    ENDING = "ending"
    """The cloud has announced that it takes the machine back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A node of the cluster, with what is on it summed up."""

    name: str
    kind: NodeKind
    free: Resources
    """Amounts that may be allocated, without what its pods have requested."""
    allocatable: Resources = field(default_factory=dict)
    pool: str = ""
    """Name of its pool; empty for a node of nobody's."""
    group: str = ""
    """Name of its group in the cloud; empty for a host."""
    machine: str = ""
    """The cloud's id of its machine; empty when no group knows it."""
    counted: bool = True
    """False when its group's size does not include the machine: it is being removed, or stands by."""
    health: Health = Health.READY
    since: datetime | None = None
    """Time since which the health is as it is; None when that is not known."""
    cordon: Cordon = Cordon.NONE
    cordoned_at: datetime | None = None
    """Time of a cordon of ours."""
    keep: str = ""
    """Reason for which it is left alone, whatever happens; empty when there is none."""
    work: int = 0
    """Number of pods that would lose something, by the rules of :func:`contract.kubernetes.drain.pod_of`."""
    leaving: int = 0
    """Number of pods that are being ended, and may still be."""
    moving: tuple[Moving, ...] = ()
    """Pods that may be moved elsewhere."""
    identities: tuple[tuple[str, LabelPairs], ...] = ()
    """Namespace and labels of each pod on it; needed only where pods keep apart."""
    apart: tuple[Apart, ...] = ()
    """Pods that those on it keep apart from."""
    ports: frozenset[str] = frozenset()
    """Ports of the node that are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjoinedMachine:
    """A machine of a group that is no node."""

    id: str
    made_at: datetime | None = None
    """Time at which it was made; None when the cloud does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An attempt of a group to make machines that its cloud refused."""

    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingGroup:
    """A group of a pool, as its cloud reports it."""

    name: str
    wanted: int
    """Number of machines that it should have."""
    machines: int
    """Number of machines that it has, without those that its size does not include: they are being removed, or stand
    by."""
    max: int
    min: int = 0
    leaving: int = 0
    """Number of machines that are being removed."""
    unjoined: tuple[UnjoinedMachine, ...] = ()
    """Machines that are no nodes, without those that are being removed."""
    refused: tuple[str, ...] = ()
    """Ids of machines that count in ``wanted`` though the cloud could not make them; not among ``machines``."""
    failures: tuple[Failure, ...] = ()
    """Refusals that the cloud tells of, in any order."""
    labels: LabelPairs = ()
    """Labels of its nodes beyond the pool's."""
    error: str = ""
    """Reason for which its state is not known now; empty when it is. All else is then what was known last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPool:
    """A pool as it is declared, with the state of its groups."""

    name: str
    site: str
    region: str = ""
    groups: tuple[ScalingGroup, ...] = ()
    """Groups in the order in which they are filled; empty for racks."""
    labels: LabelPairs = ()
    """Labels of a new node, as far as they are known before it is made."""
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
    """Price of a machine for an hour; None when it is not known."""
    spot: bool = False
    reserved: bool = False
    """True when its machines use capacity that is paid for already."""
    racks: bool = False
    """True for bare-metal hosts, which no cloud makes or takes back."""
    closed: str = ""
    """Reason for which its size is somebody else's at the moment, such as a roll; empty when it is not."""
    join: timedelta = timedelta(minutes=JOIN_MINUTES)
    """Time in which a machine that was asked for has to be a node."""
    idle: timedelta = timedelta(minutes=IDLE_MINUTES)
    """Time that a node is kept after its last work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Set:
    """Members of a gang that are alike and are not there as pods yet."""

    shape: Shape
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Pods that start together or not at all: those that name it, and the sets that a request declares."""

    name: str
    sets: tuple[Set, ...] = ()
    within: str = ""
    """Label that all of its nodes must agree on, such as that of the site; empty when they may be anywhere."""
    priority: int = 0
    created: datetime | None = None
    request: bool = False
    """True for a ProvisioningRequest, which wants to be told when there is room."""
    granted: bool = False
    """True when it was told so, and its room is held until its pods come."""
    on: tuple[str, ...] = ()
    """Nodes on which members run already."""
    runs: tuple[Shape, ...] = ()
    """Shapes of those members, and of those that have succeeded, where the gang declares sets."""
    least: int = 0
    """Number of members below which it does not start: while fewer are there as pods, others are still being made."""
    unknown: tuple[str, ...] = ()
    """Demands that are not understood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLimit:
    """A number that several pools share: a quota, the nodes of the environment, the addresses of a subnet."""

    name: str
    """Words for people, such as ``max_nodes``."""
    left: int
    each: tuple[tuple[str, int], ...]
    """Amount that one machine takes, by pool; pools that are not named take none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerSettings:
    """Numbers of the autoscaler that no pool sets."""

    share: float = LEAVING_PERCENT / 100
    """Part of a pool that may be on its way out at once; one node always may. When more look dead, none is touched."""
    dead: timedelta = timedelta(minutes=60)
    """Time after which a node that does not answer is taken for dead."""
    leave: timedelta = timedelta(minutes=30)
    """Time in which the pods of a cordoned node have to leave. After that it is given back: it would keep others from
    going."""
    settle: timedelta = timedelta(minutes=1)
    """Least time between a cordon and the end of the machine: what the scheduler had decided meanwhile is seen."""
    joining: int = JOINING
    """Number of machines that may be on their way at once: joins load the API servers. One gang alone may be more."""
    backoff: timedelta = timedelta(minutes=5)
    """Time for which a pool that failed is skipped, doubled by each further failure."""
    backoff_most: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """A cluster at one moment. No order in it means anything."""

    pods: tuple[PendingPod, ...] = ()
    """Pods that wait for a node, without those of daemon sets and those that are being held back."""
    nodes: tuple[ClusterNode, ...] = ()
    were: frozenset[str] = frozenset()
    """Machines that were nodes at the moment before, by their ids; none when nobody has looked before."""
    gangs: tuple[Gang, ...] = ()
    limits: tuple[SharedLimit, ...] = ()
    daemons: tuple[Shape, ...] = ()
    """Pods that every node has that they match: a new node has room for the rest only."""
    settings: AutoscalerSettings = field(default_factory=AutoscalerSettings)
