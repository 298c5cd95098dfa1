"""Input of a scaling decision: the state of a cluster and its pools at one moment, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from components.model.autoscaler.section import IDLE_MINUTES, JOIN_MINUTES
from contract.kubernetes.quantities import Resources
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.pod_shapes import AntiAffinity, NodeKind, PodShape
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
    """Labels of the pod, which matter only to anti-affinities and to spreading over hosts."""
    gang: str = ""
    """Name of the pod's gang, or empty for an independent pod."""
    nominated: str = ""
    """Name of the node on which the scheduler is making room for the pod, or empty if there is no such node."""

    @property
    def id(self) -> str:
        """Return the pod's namespace and name, with a slash between them."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MovablePod:
    """A running pod that may be moved to another node."""

    namespace: str
    name: str
    shape: PodShape
    labels: LabelPairs = ()
    block_reason: str = ""
    """Reason why the pod may not leave its node now, which names a disruption budget. Empty if the pod may leave."""

    @property
    def id(self) -> str:
        """Return the pod's namespace and name, with a slash between them."""
        return f"{self.namespace}/{self.name}"


class CordonOrigin(StrEnum):
    """Origin of a node's cordon."""

    NONE = ""
    OURS = "ours"
    """The autoscaler cordoned the node, and recorded the cordon on the node."""
    OTHERS = "others"


class NodeHealth(StrEnum):
    """Health of a node as a place for pods."""

    READY = "ready"
    STARTING = "starting"
    """The node has registered, and is not fit for pods: the node was never ready, or has a taint of nodes that
    start."""
    SILENT = "silent"
    """The node was ready, and does not answer now."""
    ENDING = "ending"
    """The machine is ending: the cloud has announced the end, the group reports the machine as leaving, or no group
    lists the machine any more after the autoscaler cordoned the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A node of the cluster, with sums over the node's pods."""

    name: str
    kind: NodeKind
    free: Resources
    """Allocatable amounts minus the requests of the node's pods. Empty if one of the pods has more anti-affinities than
    are supported."""
    allocatable: Resources = field(default_factory=dict)
    pool: str = ""
    """Name of the node's pool, or empty for a node without a pool."""
    group: str = ""
    """Name of the node's group in the cloud. Empty for a host, and for a machine that no group lists."""
    machine: str = ""
    """The cloud's id of the node's machine, or empty if no group lists the machine."""
    counted: bool = True
    """False if the group's size does not include the machine, because the machine is being removed or on standby."""
    health: NodeHealth = NodeHealth.READY
    since: datetime | None = None
    """Time since which the node has had this health, or None if the time is unknown."""
    made: datetime | None = None
    """Time at which the node registered, or None if the time is unknown."""
    cordon: CordonOrigin = CordonOrigin.NONE
    cordoned_at: datetime | None = None
    """Time of the autoscaler's cordon, or None if no such cordon is recorded on the node."""
    keep: str = ""
    """Reason why the autoscaler always leaves the node alone, or empty if there is no such reason."""
    work: int = 0
    """Number of pods that would lose something if they ended, by the rules of
    :func:`contract.kubernetes.drain.pod_of`."""
    leaving: int = 0
    """Number of pods that are being ended and may still run."""
    moving: tuple[MovablePod, ...] = ()
    """Pods that may be moved to another node."""
    identities: tuple[tuple[str, LabelPairs], ...] = ()
    """Namespace and labels of each pod on the node. Anti-affinities, spreading over hosts, and the search for missing
    pods of daemon sets use these identities."""
    ended: tuple[tuple[str, LabelPairs], ...] = ()
    """Identities of the pods that are being ended, which spreading over hosts does not count."""
    apart: tuple[AntiAffinity, ...] = ()
    """Anti-affinities by host of the node's pods. No pod that matches such an anti-affinity may join the node."""
    wide: tuple[AntiAffinity, ...] = ()
    """Other anti-affinities of the node's pods. No pod that matches such an anti-affinity may join the larger domain,
    such as the zone, that the node is in."""
    ports: frozenset[str] = frozenset()
    """Host ports in use on the node."""
    volumes: frozenset[tuple[str, str]] = frozenset()
    """Driver and id of each volume in use on the node that several pods use."""
    later: ClusterNode | None = None
    """The node without the pods that are being ended and will soon be gone, or None if there are no such pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjoinedMachine:
    """A machine that a group lists and that is not a node."""

    id: str
    made_at: datetime | None = None
    """Time at which the cloud made the machine, or None if the cloud does not report the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFailure:
    """A cloud's refusal to make machines for a group."""

    at: datetime
    obstacle: Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingGroup:
    """A group of a pool, as its cloud reports the group."""

    name: str
    wanted: int
    """Number of machines that the group should have."""
    machines: int
    """Number of machines that exist and that the group's size includes. A machine that is being removed, on standby or
    refused does not count."""
    max: int
    min: int = 0
    min_by_hand: bool = False
    """True if the minimum in the cloud is larger than the declared minimum. ``min`` is then the cloud's minimum."""
    leaving: int = 0
    """Number of machines that are being removed."""
    unjoined: tuple[UnjoinedMachine, ...] = ()
    """Machines without a node among the machines that ``machines`` counts."""
    refused: tuple[str, ...] = ()
    """Ids of machines that ``wanted`` includes although the cloud could not make the machines. ``machines`` leaves
    refused machines out."""
    failures: tuple[GroupFailure, ...] = ()
    """Refusals that the cloud reports, in any order."""
    labels: LabelPairs = ()
    """Labels of the group's nodes in addition to the pool's labels."""
    error: str = ""
    """Reason why the cloud gives no current answer, or empty after a current answer. With an error, all values from the
    cloud are from the cloud's last answer. If the cloud has never answered, the numbers of machines are zero, and
    ``min`` is the declared minimum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPool:
    """A declared pool, with the state of the pool's groups."""

    name: str
    site: str
    region: str = ""
    groups: tuple[ScalingGroup, ...] = ()
    """Groups of the pool, in the order in which the autoscaler fills the groups. Empty for racks."""
    labels: LabelPairs = ()
    """Labels of a new node that are known before the node is made."""
    variants: tuple[LabelPairs, ...] = ()
    """Further labels of a new node in each zone that the cloud may choose. Empty if only one zone is possible."""
    taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value and effect of each taint that the pool's nodes have once the nodes are fit for pods."""
    capacity: Resources = field(default_factory=dict)
    """Amounts that a new node has for pods, by the declared machine type."""
    machine_type: str = ""
    min: int = 0
    max: int = 0
    spare: int = 0
    """Number of empty nodes that the pool keeps beyond the needed nodes."""
    priority: int = 100
    """Pools with a lower number are filled first."""
    fallbacks: tuple[str, ...] = ()
    price: Decimal | None = None
    """Price of a machine per hour. None if the price is unknown, or if the pools' prices have several currencies."""
    spot: bool = False
    reserved: bool = False
    """True if the pool's machines use capacity that is already paid for."""
    racks: bool = False
    """True for bare-metal hosts, which no cloud makes or takes back."""
    closed: Obstacle | None = None
    """Reason why the autoscaler leaves the pool alone, or None. Either somebody else, such as a roll, controls the
    pool's size at the moment, or the machine type is unknown."""
    join: timedelta = timedelta(minutes=JOIN_MINUTES)
    """Time within which a requested machine must become a node."""
    idle: timedelta = timedelta(minutes=IDLE_MINUTES)
    """Time for which a node is kept after the last work on the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Equal members that a gang's request declares. ``count`` is the declared number, including members that already
    exist as pods."""

    shape: PodShape
    count: int
    identity: tuple[str, LabelPairs] = ("", ())
    """Namespace and labels of the members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Pods that start together or not at all. The members are the pods that name the gang and the sets that a request
    declares."""

    name: str
    sets: tuple[PodSet, ...] = ()
    within: str = ""
    """Label whose value all nodes of the gang must share, such as the site's label. Empty if the nodes may be
    anywhere."""
    priority: int = 0
    created: datetime | None = None
    request: bool = False
    """True if a ProvisioningRequest declares the gang. The autoscaler reports to such a request that there is room."""
    granted: bool = False
    """True if the autoscaler has reported that there is room. The room is reserved until the pods come, for at most 10
    minutes (``gang_objects.HELD``). After that time, the snapshot leaves the gang out."""
    on: tuple[str, ...] = ()
    """Node of each member that already runs. A node with several members appears several times."""
    runs: tuple[PodShape, ...] = ()
    """Shapes of the members that run or have succeeded, if a request declares the gang's sets."""
    least: int = 0
    """Minimum number of members that must exist as pods before the gang gets room. For a PodGroup, ``minMember`` minus
    the number of members that have succeeded."""
    unknown: tuple[Obstacle, ...] = ()
    """Reasons why the gang gets no room yet: unsupported demands, pod templates and classes that do not exist, and
    members that do not exist yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLimit:
    """A number that several pools share, such as the environment's largest number of nodes or the addresses of a
    site."""

    name: str
    """Text for people that names the limit, such as ``the number of addresses in weu``."""
    reason: WaitReason
    """Reason for which pods wait once the limit is used up."""
    left: int
    each: tuple[tuple[str, int], ...]
    """Name of each pool under the limit, with the amount that one of the pool's machines uses. Machines of all other
    pools use nothing."""


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
    """A cluster at one moment. Only the order of ``daemons`` has a meaning."""

    pods: tuple[PendingPod, ...] = ()
    """Pods that wait for a node. Pods of daemon sets and pods that are held back are left out."""
    nodes: tuple[ClusterNode, ...] = ()
    former_nodes: frozenset[str] = frozenset()
    """Keys of the machines that were nodes in the pass before, by
    :func:`~contract.documents.autoscaler_memory.machine_key`. Empty in the first pass."""
    gangs: tuple[Gang, ...] = ()
    limits: tuple[SharedLimit, ...] = ()
    daemons: tuple[DaemonPod, ...] = ()
    """Pods of daemon sets, in the order in which a new node gets these pods. Other pods get the rest of the node's
    room."""
    settings: ScalingLimits = field(default_factory=ScalingLimits)
    scheduling: bool = True
    """False if the scheduler's lease has expired, which means that no scheduler is at work."""
