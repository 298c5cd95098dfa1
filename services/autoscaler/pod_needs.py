"""Needs of pods in the form in which a ledger compares them with nodes: amounts in a common order of resources, and one
bit for each rule that selects other pods by their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contract.kubernetes.quantities import Resources
from services.autoscaler.cluster_snapshot import DaemonPod, LabelPairs
from services.autoscaler.free_capacity import ANY, PodNeed, labels_of
from services.autoscaler.pod_shapes import COMMON, VOLUMES_OF, AntiAffinity, PodShape, absent_amount
from services.autoscaler.scheduling_rules import keeps_apart


class PodNeeds:
    """Needs of the pods of one decision."""

    def __init__(
        self, shapes: Iterable[PodShape], *, apart: Iterable[AntiAffinity], closed: Mapping[AntiAffinity, Iterable[str]]
    ) -> None:
        """``shapes`` are distinct, and all that will be placed. ``apart`` are the running pods' anti-affinities by
        host. ``closed`` are their other anti-affinities, each with the values of its label on the nodes where these
        pods run."""
        shapes = tuple(shapes)
        self.names = sorted(
            {name for shape in shapes for name, _ in shape.requests}
            | {VOLUMES_OF + driver for shape in shapes for driver, _ in shape.shared_volumes},
            key=lambda resource: (resource in COMMON, resource),
        )
        """Names of the resources that pods request, in the order of all amounts."""
        self._index = {name: index for index, name in enumerate(self.names)}
        self._absent = list(map(absent_amount, self.names))
        """Amounts of resources on a node that does not report them."""
        spreads = dict.fromkeys(spread.counted for shape in shapes for spread in shape.spreads)
        terms = dict.fromkeys((*apart, *(term for shape in shapes for term in shape.apart), *closed, *spreads))
        self._bits = {term: 1 << number for number, term in enumerate(terms)}
        self._closed = {self._bits[term]: [(term.key, value) for value in values] for term, values in closed.items()}
        self.counted = tuple(self._bits[term] for term in spreads)
        """Bits of the pods that spreadings count."""
        self._by_label: dict[tuple[str, str], list[AntiAffinity]] = {}
        """Anti-affinities by the labels of :func:`~services.autoscaler.free_capacity.labels_of`."""
        for term in terms:
            for label in labels_of(term):
                self._by_label.setdefault(label, []).append(term)
        self._matched: dict[tuple[str, LabelPairs], int] = {}
        self._needs: dict[tuple[PodShape, int], PodNeed] = {}

    @property
    def has_rules(self) -> bool:
        """Return whether labels of pods matter, because an anti-affinity or a spreading selects pods by them."""
        return bool(self._bits)

    def amounts(self, resources: Resources) -> list[int]:
        """Return the amounts of the resources that pods request, in the order of ``names``."""
        return list(map(resources.get, self.names, self._absent))

    def of(self, shape: PodShape, identity: tuple[str, LabelPairs] = ("", ())) -> PodNeed:
        """Return a shape's need. ``identity`` is the pod's namespace and labels, which matter only when an
        anti-affinity or a spreading selects pods by them."""
        matches = self.matches(*identity) if self._bits else 0
        known = self._needs.get((shape, matches))
        if known is None:
            vector = tuple(sorted((self._index[name], amount) for name, amount in shape.requests))
            known = self._needs[shape, matches] = PodNeed(
                shape,
                vector,
                matches=matches,
                owns=self.owns(shape.apart),
                closed=frozenset(pair for bit, pairs in self._closed.items() if bit & matches for pair in pairs),
                spreads=tuple((self._bits[spread.counted], spread) for spread in shape.spreads),
                counted=tuple(bit for bit in self.counted if bit & matches),
                shared=tuple((self._index[VOLUMES_OF + volume[0]], volume) for volume in shape.shared_volumes),
            )
        return known

    def of_daemon(self, daemon: DaemonPod) -> PodNeed:
        """Return the need of a daemon set's pod without its requests, which may be for resources that no waiting pod
        requests."""
        matches = self.matches(daemon.namespace, daemon.labels) if self._bits else 0
        counted = tuple(bit for bit in self.counted if bit & matches)
        owns = self.owns((*daemon.shape.apart, *daemon.shape.wide))
        return PodNeed(daemon.shape, (), matches=matches, owns=owns, counted=counted)

    def owns(self, terms: Iterable[AntiAffinity]) -> int:
        """Return the bits of anti-affinities."""
        return sum({self._bits[term] for term in terms})

    def matches(self, namespace: str, labels: LabelPairs) -> int:
        """Return the bits of the rules that select pods with this namespace and these labels."""
        known = self._matched.get((namespace, labels))
        if known is None:
            pairs = dict(labels)
            likely = {term for label in (*labels, ANY) for term in self._by_label.get(label, ())}
            known = sum(self._bits[term] for term in likely if keeps_apart(term, namespace, pairs))
            self._matched[namespace, labels] = known
        return known
