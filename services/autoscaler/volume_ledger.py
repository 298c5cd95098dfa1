"""Free volumes, and claims for one pod at a time: which of them pods take that are placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

from services.autoscaler.pod_shapes import FreeVolumes, NodeConstraints, NodeKind, NodeSelectorTerm, PodShape
from services.autoscaler.scheduling_rules import label_mismatch, node_labels

Reaches = Callable[[tuple[NodeSelectorTerm, ...]], bool]
"""Returns whether a node fulfils one of some alternatives."""


class VolumeLedger:
    """Volumes and claims that placed pods have."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        """Volumes by name, and claims for one pod at a time by namespace and name."""
        self._volumes: dict[str, str] = {}
        """Volume of each claim that several pods have; empty for one that is to be made."""

    def most_pods(self, shape: PodShape, kind: NodeKind, name: str, count: int) -> int:
        """Return the number of pods, at most ``count``, that can have their volumes on a node. ``name`` is the node's
        name; a node that is still to be made has none."""
        return min(self._choose(shape, reaches, count)[0] for reaches in _places(kind, name))

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
        if self._choose(shape, lambda _: True, count)[0] < count:
            classes = " and ".join(sorted({free.class_ for free in shape.free_volumes}))
            return f"storage class {classes} has too few free volumes for it"
        return ""

    def _choose(self, shape: PodShape, reaches: Reaches, count: int) -> tuple[int, set[str], dict[str, str]]:
        """Return the number of pods that can have their volumes, at most ``count``, and the volumes and claims that
        they newly take."""
        taken: set[str] = set()
        volumes: dict[str, str] = {}
        for number in range(count):
            if any(claim in self._taken or claim in taken for claim in shape.single_claims):
                return number, taken, volumes
            chosen: dict[str, str] = {}
            names: set[str] = set()
            for free in shape.free_volumes:
                known = self._volumes.get(free.claim, volumes.get(free.claim))
                volume = _choice(free, reaches, known, (self._taken, taken, names))
                if volume is None:
                    return number, taken, volumes
                if volume:
                    names.add(volume)
                if free.claim and known is None:
                    chosen[free.claim] = volume
            taken |= names.difference(self._taken).union(shape.single_claims)
            volumes |= chosen
        return count, taken, volumes


def _choice(free: FreeVolumes, reaches: Reaches, known: str | None, taken: Iterable[Set[str]]) -> str | None:
    """Return the volume that a claim takes (k8s.io/component-helpers, ``storage/volume``, ``FindMatchingVolume``); an
    empty name for one that is made; None when the claim has none. ``known`` is the volume that the claim has taken for
    another pod."""
    if known == "":
        return known
    for name, terms in free.choices:
        if (name == known if known else not any(name in names for names in taken)) and (not terms or reaches(terms)):
            return name
    return "" if free.provisioned is not None and not known and all(map(reaches, free.provisioned)) else None


def _places(kind: NodeKind, name: str) -> list[Reaches]:
    """Return functions for a node; for a node that is still to be made, one for each zone in which it may be."""
    labels = node_labels(kind, name)
    return [_reaches(labels | dict(variant), name) for variant in kind.variants or ((),)]


def _reaches(labels: Mapping[str, str], name: str) -> Reaches:
    return lambda terms: not label_mismatch(NodeConstraints(volumes=(terms,)), labels, name)
