"""Free volumes, and claims for one pod at a time: which of them pods take that are placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from contract.labels import HOSTNAME_LABEL
from services.autoscaler.pod_shapes import (
    FreeVolumes,
    NodeConstraints,
    NodeKind,
    NodeSelectorTerm,
    PodShape,
    VolumeChoice,
    names_hosts,
)
from services.autoscaler.scheduling_rules import label_mismatch, node_labels

LabelledNode = tuple[Mapping[str, str], str]
"""Labels and name of a node."""
ANY_HOST = ""


class VolumeLedger:
    """Volumes and claims that placed pods have."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        """Volumes by name, and claims for one pod at a time by namespace and name."""
        self._volumes: dict[str, str] = {}
        """Volume of each claim that several pods have; empty for one that is to be made."""
        self._by_host: dict[int, tuple[object, dict[str, list[tuple[int, VolumeChoice]]]]] = {}
        """Volumes by host, by the ``id`` of the choices, which claims share. The choices are stored so that their
        ``id`` stays in use."""

    def most_pods(self, shape: PodShape, kind: NodeKind, name: str, count: int) -> int:
        """Return the number of pods, at most ``count``, that can have their volumes on a node. ``name`` is the node's
        name; a node that is still to be made has none."""
        return min(self._choose(shape, node, count)[0] for node in _places(kind, name))

    def take(self, shape: PodShape, kind: NodeKind, name: str, count: int) -> Callable[[], None]:
        """Take the volumes and claims of pods on a node. Return the function that undoes that."""
        _, taken, volumes = self._choose(shape, _places(kind, name)[0], count)
        self._taken |= taken
        self._volumes |= volumes

        def undo() -> None:
            self._taken -= taken
            for claim in volumes:
                del self._volumes[claim]

        return undo

    def obstacle(self, shape: PodShape, count: int) -> str:
        """Return why some pods cannot have their volumes anywhere; empty when they can."""
        for claim in shape.single_claims:
            if claim in self._taken or count > 1:
                name = claim.partition("/")[2]
                return f"its volume claim {name} is for one pod at a time, and another pod is to have it"
        if self._choose(shape, None, count)[0] < count:
            classes = " and ".join(sorted({free.class_ for free in shape.free_volumes}))
            return f"storage class {classes} has too few free volumes for it"
        return ""

    def _choose(self, shape: PodShape, node: LabelledNode | None, count: int) -> tuple[int, set[str], dict[str, str]]:
        """Return the number of pods that can have their volumes, at most ``count``, and the volumes and claims that
        they newly take, on a node or anywhere."""
        taken: set[str] = set()
        volumes: dict[str, str] = {}
        for number in range(count):
            if any(claim in self._taken or claim in taken for claim in shape.single_claims):
                return number, taken, volumes
            chosen: dict[str, str] = {}
            names: set[str] = set()
            for free in shape.free_volumes:
                known = self._volumes.get(free.claim, volumes.get(free.claim))
                volume = self._choice(free, node, known, (self._taken, taken, names))
                if volume is None:
                    return number, taken, volumes
                if volume:
                    names.add(volume)
                if free.claim and known is None:
                    chosen[free.claim] = volume
            taken |= names.difference(self._taken).union(shape.single_claims)
            volumes |= chosen
        return count, taken, volumes

    def _choice(
        self, free: FreeVolumes, node: LabelledNode | None, known: str | None, taken: Iterable[Set[str]]
    ) -> str | None:
        """Return the volume that a claim takes (k8s.io/component-helpers, ``storage/volume``, ``FindMatchingVolume``);
        an empty name for one that is made; None when the claim has none. ``known`` is the volume that the claim has
        taken for another pod."""
        if known == "":
            return known
        for name, terms in self._near(free.choices, node) if node else free.choices:
            usable = name == known if known else not any(name in names for names in taken)
            if usable and (not terms or _reaches(node, terms)):
                return name
        made = free.provisioned is not None and not known and all(_reaches(node, terms) for terms in free.provisioned)
        return "" if made else None

    def _near(self, choices: Sequence[VolumeChoice], node: LabelledNode) -> Iterable[VolumeChoice]:
        """Return the volumes that may be on a node's host, in order. A cluster may have thousands on other hosts."""
        if id(choices) not in self._by_host:
            hosts: dict[str, list[tuple[int, VolumeChoice]]] = {}
            for number, choice in enumerate(choices):
                for name in _hosts(choice[1]) or (ANY_HOST,):
                    hosts.setdefault(name, []).append((number, choice))
            self._by_host[id(choices)] = (choices, hosts)
        hosts = self._by_host[id(choices)][1]
        host = node[0].get(HOSTNAME_LABEL)
        near = (*(hosts.get(host, ()) if host else ()), *hosts.get(ANY_HOST, ()))
        return (choice for _, choice in sorted(near))


def _hosts(terms: Iterable[NodeSelectorTerm]) -> set[str]:
    """Return the hosts that alternatives name; none if one of them names no host."""
    named = [
        [value for requirement in term.labels if names_hosts(requirement) for value in requirement.values]
        for term in terms
    ]
    return {host for hosts in named for host in hosts} if all(named) else set()


def _places(kind: NodeKind, name: str) -> list[LabelledNode]:
    """Return a node's labels and name; for a node that is still to be made, one for each zone in which it may be."""
    labels = node_labels(kind, name)
    return [(labels | dict(variant), name) for variant in kind.variants or ((),)]


def _reaches(node: LabelledNode | None, terms: tuple[NodeSelectorTerm, ...]) -> bool:
    """Return whether a node fulfils one of some alternatives."""
    return node is None or not label_mismatch(NodeConstraints(volumes=(terms,)), *node)
