"""Reasons of the autoscaler: events on pods, its log, its metrics and ``longhaul capacity --json`` carry them beside
their sentences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WaitReason(StrEnum):
    """Reason for which a pod or a gang waits. When several pools could hold it, the first pool's reason counts."""

    FITS_NODE = "FitsNode"
    """A node has room for it; the scheduler has yet to bind it."""
    PODS_ENDING = "PodsEnding"
    """Pods that are being ended make room for it."""
    MACHINES_REQUESTED = "MachinesRequested"
    """Machines for it are asked for, or are starting."""
    GANG_FITS = "GangFits"
    """All members of the gang have room."""
    NOT_UNDERSTOOD = "NotUnderstood"
    """It requests something that the autoscaler does not support, so no machine is requested."""
    CLAIM_MISSING = "ClaimMissing"
    """A volume claim that it names does not exist."""
    TEMPLATE_MISSING = "TemplateMissing"
    """A pod template that its request names does not exist."""
    MEMBERS_MISSING = "MembersMissing"
    """The gang has fewer pods than it needs to start."""
    NAMED_NODES_FULL = "NamedNodesFull"
    """It may run only on nodes with certain names, and these have no room."""
    NO_POOL_MATCHES = "NoPoolMatches"
    """No pool has the labels that it requests, or it does not tolerate the pools' taints."""
    NO_MACHINE_FITS = "NoMachineFits"
    """Pools match it, but none has machines that are large enough."""
    DAEMON_SET_CONFLICT = "DaemonSetConflict"
    """Pools match it, but a daemon set has a pod on each of their nodes beside which it cannot run."""
    NO_DOMAIN = "NoDomain"
    """The gang's nodes must have the same value of a label, and no node or pool is known to have that label."""
    TOO_FEW_MACHINES = "TooFewMachines"
    """A pool can still grow, but not enough."""
    POOL_AT_MAX = "PoolAtMax"
    """The pool, or its group, has its maximum number of machines."""
    MAX_NODES = "MaxNodes"
    """The environment has its maximum number of nodes."""
    ADDRESSES_USED_UP = "AddressesUsedUp"
    """The pool's site or zone has no addresses left."""
    TOO_MANY_JOINING = "TooManyJoining"
    """As many machines are joining as may join at once."""
    TYPE_UNKNOWN = "TypeUnknown"
    """The autoscaler does not know the pool's machine type: its image is older than the file."""
    POOL_ROLLING = "PoolRolling"
    """The pool is being rolled, and the roll controls its size."""
    CLOUD_SILENT = "CloudSilent"
    """The pool's cloud does not answer, has too many requests, or has not answered the last call yet."""
    OUT_OF_CAPACITY = "OutOfCapacity"
    """The cloud has no such machine there now; the pool is asked again later."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """The account's quota for such machines is used up; the pool is asked again later."""
    SPOT_UNAVAILABLE = "SpotUnavailable"
    """The cloud has no spot machine, or none at this price; the pool is asked again later."""
    REFUSED = "Refused"
    """The cloud refused for another cause; the pool is asked again later."""
    NOT_MADE = "NotMade"
    """The cloud has not made the pool's machines in time; it is asked again later."""
    NOT_JOINED = "NotJoined"
    """Machines of the pool have not become nodes in time; it is asked again later."""
    NOT_READY = "NotReady"
    """Machines of the pool have become nodes that are not fit for pods in time; it is asked again later."""
    NOT_TAKEN = "NotTaken"
    """A machine that was made for such pods became a node and did not take them; the pool is asked for them again
    later, for one machine at first."""


class GrowthReason(StrEnum):
    """Reason for which a group is asked for machines."""

    GANG_WAITS = "GangWaits"
    """A gang waits for them."""
    PODS_WAIT = "PodsWait"
    """Pods wait for them."""
    BELOW_MIN = "BelowMin"
    """The group has fewer machines than its minimum."""
    SPARE_MISSING = "SpareMissing"
    """The pool has fewer spare nodes than it should keep."""


class EndReason(StrEnum):
    """Reason for which a node is cordoned or emptied, or a machine ended."""

    EMPTY = "Empty"
    """The node runs only the pods that every node runs."""
    UNDERUSED = "Underused"
    """No work runs on the node, and its pods have room elsewhere."""
    NODE_DEAD = "NodeDead"
    """The node has long not been ready, and no work runs on it."""
    NEVER_JOINED = "NeverJoined"
    """The machine has not become a node in time."""
    NEVER_READY = "NeverReady"
    """The node has not been fit for pods since it registered, and its time for that is over."""
    NEVER_MADE = "NeverMade"
    """The cloud counts a machine that it could not make."""


class KeepReason(StrEnum):
    """Reason for which a node stays, or gets its cordon taken off."""

    POD_AT_WORK = "PodAtWork"
    """A pod on it would lose work."""
    PODS_WAIT = "PodsWait"
    """Waiting pods have room on it."""
    SPARE = "Spare"
    """It is one of the pool's spare nodes."""
    POOL_AT_MIN = "PoolAtMin"
    """The pool or its group would have fewer machines than its minimum."""
    NO_ROOM_ELSEWHERE = "NoRoomElsewhere"
    """Its pods have no room on other nodes."""
    PODS_STAY = "PodsStay"
    """Its pods have not left in time."""
    PODS_LEAVING = "PodsLeaving"
    """Pods on it are being ended."""
    DISRUPTION_BUDGET = "DisruptionBudget"
    """A disruption budget does not let its pods go yet."""
    IDLE_BRIEFLY = "IdleBriefly"
    """It has not been idle for as long as the pool keeps idle nodes."""
    TOO_MANY_LEAVING = "TooManyLeaving"
    """As many nodes of the pool are being removed as may be removed at once."""
    POOL_FROZEN = "PoolFrozen"
    """The pool is being rolled, or its cloud does not report it."""
    SIZE_SET_BY_HAND = "SizeSetByHand"
    """Somebody else set the group's size: its machines stay until they are idle."""
    MIN_SET_BY_HAND = "MinSetByHand"
    """Somebody else set the group's smallest size in its cloud: no machine below it is ended."""
    MACHINE_UNKNOWN = "MachineUnknown"
    """No group of the pool lists its machine."""
    TOO_MANY_DEAD = "TooManyDead"
    """So many nodes look dead at once that the cause is probably elsewhere: none is touched."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Obstacle between a pod, a gang or a pool and new machines."""

    reason: WaitReason
    message: str
    """Text for people."""

    def __str__(self) -> str:
        return self.message


AutoscalerReason = WaitReason | GrowthReason | EndReason | KeepReason
