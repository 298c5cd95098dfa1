"""Reasons of the autoscaler. Events on pods, the autoscaler's log, its metrics and ``longhaul capacity --json`` contain
these reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WaitReason(StrEnum):
    """Reason for which a pod or a gang waits. If several pools could take the pod or gang, the first pool's reason
    counts."""

    FITS_NODE = "FitsNode"
    """A node has room for the pod. The scheduler has not bound it yet."""
    PODS_ENDING = "PodsEnding"
    """Pods that are being ended make room for the pod or gang."""
    MACHINES_REQUESTED = "MachinesRequested"
    """Machines for the pod or gang are requested, or are starting."""
    GANG_FITS = "GangFits"
    """All members of the gang have room."""
    NOT_UNDERSTOOD = "NotUnderstood"
    """The pod requests something that the autoscaler does not support, so no machine is requested."""
    CLAIM_MISSING = "ClaimMissing"
    """A volume claim that the pod names does not exist."""
    TEMPLATE_MISSING = "TemplateMissing"
    """A pod template that the gang's request names does not exist."""
    MEMBERS_MISSING = "MembersMissing"
    """The gang has fewer pods than it needs to start."""
    NAMED_NODES_FULL = "NamedNodesFull"
    """The pod may run only on nodes with certain names, and these nodes have no room."""
    NO_POOL_MATCHES = "NoPoolMatches"
    """No pool has the labels that the pod requests, or the pod does not tolerate the pools' taints."""
    NO_MACHINE_FITS = "NoMachineFits"
    """Pools match the pod, but no pool has machines that are large enough."""
    DAEMON_SET_CONFLICT = "DaemonSetConflict"
    """Pools match the pod, but the pod cannot run beside a daemon set's pod, which is on each of the pools' nodes."""
    NO_DOMAIN = "NoDomain"
    """The gang's nodes must have the same value of a label, and no node or pool is known to have that label."""
    TOO_FEW_MACHINES = "TooFewMachines"
    """A pool can grow, but not by enough machines."""
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
    """The cloud has no such machine in the pool's place now. The pool is asked again later."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """The account's quota for such machines is used up. The pool is asked again later."""
    SPOT_UNAVAILABLE = "SpotUnavailable"
    """The cloud has no spot machine, or none at this price. The pool is asked again later."""
    OUT_OF_ADDRESSES = "OutOfAddresses"
    """The pool's subnet has no addresses left. The pool is asked again later."""
    REFUSED = "Refused"
    """The cloud refused for another cause. The pool is asked again later."""
    NOT_MADE = "NotMade"
    """The cloud has not made the pool's machines in time. The pool is asked again later."""
    NOT_JOINED = "NotJoined"
    """Machines of the pool have not become nodes in time. The pool is asked again later."""
    NOT_READY = "NotReady"
    """Nodes of the pool have not become fit for pods in time. The pool is asked again later."""
    NOT_TAKEN = "NotTaken"
    """A machine that was made for such pods became a node, but took none of them. The pool is asked again later, at
    first for one machine."""


class GrowthReason(StrEnum):
    """Reason for which a group is asked for machines."""

    GANG_WAITS = "GangWaits"
    """A gang waits for the machines."""
    PODS_WAIT = "PodsWait"
    """Pods wait for the machines."""
    BELOW_MIN = "BelowMin"
    """The group has fewer machines than its minimum."""
    SPARE_MISSING = "SpareMissing"
    """The pool has fewer spare nodes than it should keep."""


class EndReason(StrEnum):
    """Reason for which a node is cordoned or emptied, or a machine is ended."""

    EMPTY = "Empty"
    """The node runs only the pods that every node runs."""
    UNDERUSED = "Underused"
    """No work runs on the node, and its pods have room elsewhere."""
    NODE_DEAD = "NodeDead"
    """The node has not been ready for a long time, and no work runs on it."""
    NEVER_JOINED = "NeverJoined"
    """The machine has not become a node in time."""
    NEVER_READY = "NeverReady"
    """The node has not become fit for pods in the time that it has after its registration."""
    NEVER_MADE = "NeverMade"
    """The cloud counts a machine that it could not make."""


class KeepReason(StrEnum):
    """Reason for which a node stays, or is uncordoned."""

    POD_AT_WORK = "PodAtWork"
    """A pod on the node would lose work."""
    PODS_WAIT = "PodsWait"
    """Waiting pods have room on the node."""
    SPARE = "Spare"
    """The node is one of the pool's spare nodes."""
    POOL_AT_MIN = "PoolAtMin"
    """The pool or its group would have fewer machines than its minimum."""
    NO_ROOM_ELSEWHERE = "NoRoomElsewhere"
    """The node's pods have no room on other nodes."""
    PODS_STAY = "PodsStay"
    """The node's pods have not left in time."""
    PODS_LEAVING = "PodsLeaving"
    """Pods on the node are being ended."""
    DISRUPTION_BUDGET = "DisruptionBudget"
    """A disruption budget does not allow the eviction of the node's pods yet."""
    IDLE_BRIEFLY = "IdleBriefly"
    """The node has been idle for less time than the pool keeps idle nodes."""
    TOO_MANY_LEAVING = "TooManyLeaving"
    """The largest allowed number of the pool's nodes is being removed already."""
    POOL_FROZEN = "PoolFrozen"
    """The pool is being rolled, or its cloud does not report the pool."""
    SIZE_SET_BY_HAND = "SizeSetByHand"
    """Somebody else set the group's size: its machines stay until they are idle."""
    MIN_SET_BY_HAND = "MinSetByHand"
    """Somebody else set the group's smallest size in its cloud: no machine below it is ended."""
    MACHINE_UNKNOWN = "MachineUnknown"
    """No group of the pool lists the node's machine."""
    TOO_MANY_DEAD = "TooManyDead"
    """So many nodes look dead at once that the cause is probably elsewhere. No node is touched."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Obstacle that keeps a pod, a gang or a pool from new machines."""

    reason: WaitReason
    message: str
    """Text for people."""

    def __str__(self) -> str:
        return self.message


AutoscalerReason = WaitReason | GrowthReason | EndReason | KeepReason
