"""Free volumes, and claims for one pod at a time: which of them pods take that are placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from contract.labels import HOSTNAME_LABEL
from services.autoscaler.pod_shapes import FreeVolumes, NodeConstraints, NodeKind, NodeSelectorTerm, PodShape
from services.autoscaler.scheduling_rules import label_mismatch

Reaches = Callable[[tuple[NodeSelectorTerm, ...]], bool]
"""Returns whether a node fulfils one of some alternatives."""


class VolumeLedger:
    """Volumes and claims that placed pods have."""

    def __init__(self) -> None:
        self._taken: dict[str, None] = {}
        """Volumes by name, and claims for one pod at a time by namespace and name."""
        self._volumes: dict[str, str] = {}
        """Volume of each claim that several pods have; empty for one that is to be made."""

    def most_pods(self, shape: PodShape, kind: NodeKind, name: str, count: int) -> int:
        """Return the number of pods, at most ``count``, that can have their volumes on a node. ``name`` is the node's
        name; a node that is still to be made has none."""
        return min(self._choose(shape, reaches, count)[0] for reaches in _places(kind, name))

    def take(self, shape: PodShape, kind: NodeKind, name: str, count: int) -> Callable[[], None]:
        """Take the volumes and claims of pods on a node. Return the function that undoes that."""
        former = self._taken, self._volumes
        _, self._taken, self._volumes = self._choose(shape, _places(kind, name)[0], count)

        def undo() -> None:
            self._taken, self._volumes = former

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

    def _choose(self, shape: PodShape, reaches: Reaches, count: int) -> tuple[int, dict[str, None], dict[str, str]]:
        """Return the number of pods that can have their volumes, at most ``count``, and what is taken then."""
        taken, volumes = self._taken, self._volumes
        for number in range(count):
            if any(claim in taken for claim in shape.single_claims):
                return number, taken, volumes
            chosen: list[tuple[str, str]] = []
            for free in shape.free_volumes:
                volume = _choice(free, reaches, volumes, {*taken, *(volume for _, volume in chosen)})
                if volume is None:
                    return number, taken, volumes
                chosen.append((free.claim, volume))
            names = (*shape.single_claims, *(volume for _, volume in chosen if volume))
            taken = {**taken, **dict.fromkeys(names)}
            volumes = {**volumes, **{claim: volume for claim, volume in chosen if claim}}
        return count, taken, volumes


def _choice(free: FreeVolumes, reaches: Reaches, volumes: Mapping[str, str], taken: Iterable[str]) -> str | None:
    """Return the volume that a claim takes (k8s.io/component-helpers, ``storage/volume``, ``FindMatchingVolume``); an
    empty name for one that is made; None when the claim has none."""
    known = volumes.get(free.claim)
    if known == "":
        return known
    for name, terms in free.choices:
        if (name == known if known else name not in taken) and (not terms or reaches(terms)):
            return name
    return "" if free.provisioned is not None and not known and all(map(reaches, free.provisioned)) else None


def _places(kind: NodeKind, name: str) -> list[Reaches]:
    """Return functions for a node; for a node that is still to be made, one for each zone in which it may be."""
    places = []
    for variant in kind.variants or ((),):
        labels = {**dict(kind.labels), **dict(variant)}
        if name:
            labels.setdefault(HOSTNAME_LABEL, name)
        places.append(_reaches(labels, name))
    return places


def _reaches(labels: Mapping[str, str], name: str) -> Reaches:
    return lambda terms: not label_mismatch(NodeConstraints(volumes=(terms,)), labels, name)
