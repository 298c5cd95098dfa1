"""Needs of pods and kinds of nodes, as plain values. Equal pods share one :class:`PodShape` object and equal nodes one
:class:`NodeKind`: a cluster has few of either, so results for thousands of pods are computed once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from contract.kubernetes.quantities import Resources
from contract.labels import HOSTNAME_LABEL
from contract.reasons.autoscaler import Obstacle

COMMON = ("pods", "cpu", "memory", "ephemeral-storage")
"""Resources that every machine has. Others, especially GPUs, are compared first."""
PODS = "pods"
VOLUMES_OF = "attachable-volumes-csi-"
"""Prefix, before a driver's name, of the names of nodes' volume limits. A node without a limit for a driver allows any
number of the driver's volumes."""
DECLARES = "status.declaredFeatures/"
"""Prefix, before a feature's name, of the labels that stand for features that a node's kubelet declares."""
RESTARTS_ALL = "RestartAllContainersOnContainerExits"
"""The only feature by which kube-scheduler 1.36 chooses nodes."""
NO_LIMIT = 1 << 30
"""Amount of volumes on a node without a limit."""


def absent_amount(name: str) -> int:
    """Return the amount of a resource on a node that does not report it: no limit for volumes, and 0 for everything
    else."""
    return NO_LIMIT if name.startswith(VOLUMES_OF) else 0


Amounts = tuple[tuple[str, int], ...]
"""Resources as a value that can be compared and hashed: sorted pairs, without zeros."""


def amounts(resources: Resources) -> Amounts:
    """Return resources as sorted pairs, without zeros."""
    return tuple(sorted((name, amount) for name, amount in resources.items() if amount))


class SelectorOperator(StrEnum):
    """Operator of a requirement on a label (k8s.io/api/core/v1, ``NodeSelectorOperator``)."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class SelectorRequirement:
    """Requirement on one label."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        listed = ",".join(self.values)
        match self.operator:
            case SelectorOperator.IN if len(self.values) == 1:
                return f"{self.key}={listed}"
            case SelectorOperator.EXISTS:
                return self.key
            case SelectorOperator.DOES_NOT_EXIST:
                return f"!{self.key}"
        return f"{self.key} {self.operator} {listed}"


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements that must all hold. A term without requirements holds nowhere, as in Kubernetes."""

    labels: tuple[SelectorRequirement, ...] = ()
    fields: tuple[SelectorRequirement, ...] = ()
    """Requirements on ``metadata.name``, the only field by which nodes are selected."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's toleration. An empty key tolerates every key, an empty effect every effect."""

    key: str = ""
    value: str | None = None
    """Value of the taint; None for any (operator ``Exists``)."""
    effect: str = ""


@dataclass(frozen=True, slots=True, order=True)
class SchedulingTaint:
    """A node's taint."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class AntiAffinity:
    """A required anti-affinity: pods with which a pod must not share a node or a larger domain, such as a zone."""

    namespaces: tuple[str, ...] | None
    """Namespaces of these pods; None for all."""
    labels: tuple[SelectorRequirement, ...] = ()
    """Requirements on the pods' labels; without any, every pod of the namespaces."""
    key: str = HOSTNAME_LABEL
    """Label of the domain. Nodes with the same value of this label must not have both pods."""


@dataclass(frozen=True, slots=True)
class HostSpread:
    """A pod's spreading over hosts with ``DoNotSchedule``: no host may have more than ``max_skew`` pods more than the
    host with the fewest (kubernetes 1.36, ``pkg/scheduler/framework/plugins/podtopologyspread``, ``Filter``)."""

    counted: AntiAffinity
    """Namespace and labels of the pods that are counted."""
    max_skew: int
    itself: bool = True
    """True when the pod itself is counted."""
    min_domains: int = 1
    """Number of hosts below which the smallest number of pods on a host counts as 0."""
    by_labels: bool = True
    """True when only hosts with labels that the pod accepts count (``nodeAffinityPolicy``)."""
    by_taints: bool = False
    """True when only hosts with taints that the pod tolerates count (``nodeTaintsPolicy``)."""


@dataclass(frozen=True, slots=True)
class NodeConstraints:
    """Nodes on which a pod may be, by labels and taints."""

    selector: tuple[SelectorRequirement, ...] = ()
    """Requirements that must all hold."""
    affinity: tuple[tuple[NodeSelectorTerm, ...], ...] = ()
    """Groups of alternatives in the pod's own node affinity; one term of each group must hold."""
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[tuple[NodeSelectorTerm, ...], ...] = ()
    """Groups of alternatives of the pod's volumes."""
    features: tuple[SelectorRequirement, ...] = ()
    """Features that the node's kubelet must declare."""

    @property
    def labels(self) -> set[str]:
        """Return the keys of all labels on which the constraints depend."""
        terms = (term for group in (*self.affinity, *self.volumes) for term in group)
        alternatives = (requirement.key for term in terms for requirement in term.labels)
        return {*(requirement.key for requirement in (*self.selector, *self.features)), *alternatives}

    @property
    def of_pod(self) -> NodeConstraints:
        """Return the constraints without those of the pod's volumes and features. Spreading counts hosts by these
        constraints alone (kubernetes 1.36, ``podtopologyspread``, ``GetRequiredNodeAffinity``)."""
        return replace(self, volumes=(), features=()) if self.volumes or self.features else self

    @property
    def is_pinned(self) -> bool:
        """Return whether it allows only nodes with certain names."""
        alternatives = (*((NodeSelectorTerm((requirement,)),) for requirement in self.selector), *self.affinity)
        groups = filter(None, (*alternatives, *self.volumes))
        return any(all(map(_names_node, terms)) for terms in groups)

    @property
    def names_nodes(self) -> bool:
        """Return whether the constraints depend on the name of a node."""
        groups = (*self.affinity, *self.volumes)
        return HOSTNAME_LABEL in self.labels or any(term.fields for terms in groups for term in terms)


VolumeChoice = tuple[str, tuple[NodeSelectorTerm, ...]]
"""A volume's name, and the alternatives of its nodes."""


@dataclass(frozen=True, slots=True)
class FreeVolumes:
    """Free volumes of which a claim takes one."""

    size: int
    """Size that the claim asks for, in bytes."""
    class_: str
    """Name of the storage class."""
    choices: tuple[VolumeChoice, ...] = field(hash=False)
    """The volumes, the smallest first. A volume without alternatives may be used anywhere."""
    provisioned: tuple[tuple[NodeSelectorTerm, ...], ...] | None = None
    """Groups of alternatives of the nodes for which a volume can be made instead; None if none is made."""
    claim: str = ""
    """Name of the claim if several pods have it."""


def _names_node(term: NodeSelectorTerm) -> bool:
    """Return whether a term holds only on nodes with certain names."""
    return any(map(names_hosts, term.labels)) or any(field.operator is SelectorOperator.IN for field in term.fields)


def names_hosts(requirement: SelectorRequirement) -> bool:
    """Return whether a requirement names the hosts that fulfil it."""
    return requirement.key == HOSTNAME_LABEL and requirement.operator is SelectorOperator.IN


@dataclass(frozen=True, slots=True)
class PodShape:
    """Needs of a pod. Two pods of one shape are interchangeable."""

    requests: Amounts
    """Sum of the containers' requests plus the pod's overhead, and one of ``pods``."""
    where: NodeConstraints = field(default_factory=NodeConstraints)
    apart: tuple[AntiAffinity, ...] = ()
    """Anti-affinities by host."""
    wide: tuple[AntiAffinity, ...] = ()
    """Other anti-affinities, such as those by zone. They are supported only for running pods."""
    spreads: tuple[HostSpread, ...] = ()
    ports: tuple[str, ...] = ()
    """Ports of the node that the pod uses, such as ``TCP/8080``, or ``TCP/8080@10.0.0.1`` at one address of the
    node."""
    free_volumes: tuple[FreeVolumes, ...] = ()
    """Free volumes that the pod's claims take, the smallest claim first."""
    shared_volumes: tuple[tuple[str, str], ...] = ()
    """Driver and id of each volume that other pods use too. A node counts such a volume once."""
    single_claims: tuple[str, ...] = ()
    """Claims for one pod at a time."""
    unknown: tuple[Obstacle, ...] = ()
    """Unsupported demands. With any, no node is requested for the pod, and an Event on the pod says why."""


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Labels and taints of equal nodes."""

    labels: tuple[tuple[str, str], ...] = ()
    """Labels without the host's name, sorted."""
    taints: tuple[SchedulingTaint, ...] = ()
    """Taints that keep pods away, sorted, without the taints of a cordon and of a starting node."""
    variants: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Further labels in each zone, for a node that is still to be made and whose zone its cloud chooses. A pod fits
    only if it may be in all of these zones."""
    host: str | None = ""
    """Value of the label of the host's name. Empty if it is the node's name, None without such a label."""
