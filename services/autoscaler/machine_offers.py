"""Offers: machines that groups can still be asked for, and the order in which groups are asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal

from contract.reasons.autoscaler import GrowthReason, Obstacle, WaitReason
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.cluster_snapshot import SharedLimit
from services.autoscaler.free_capacity import NodeRoom, PodNeed, Tier, fit_shared
from services.autoscaler.new_nodes import NewNodeContents, new_node_kind
from services.autoscaler.pod_shapes import NodeConstraints, NodeKind, PodShape
from services.autoscaler.pool_outlook import GroupOutlook, PoolOutlook
from services.autoscaler.scheduling_rules import mismatch

JOINING = "the number of machines that may join at once"
"""Name of the limit on machines that are joining."""

UNPRICED = Decimal("Infinity")
"""Price of an unpriced machine, which sorts after all others."""


class RemainingLimit:
    """The remaining amount of a shared limit."""

    __slots__ = ("amount", "each", "name", "reason")

    def __init__(self, limit: SharedLimit) -> None:
        self.name, self.reason, self.amount, self.each = limit.name, limit.reason, limit.left, dict(limit.each)


class Offer:
    """Machines that one group can still be asked for."""

    def __init__(
        self,
        pool: PoolOutlook,
        group: GroupOutlook,
        *,
        empty: list[int],
        kind: NodeKind,
        daemons: Sequence[tuple[str, PodNeed]],
        limits: Sequence[RemainingLimit],
    ) -> None:
        """``empty`` are the free amounts of a new node, in the ledger's order; ``kind`` are its labels and taints;
        ``daemons`` are the pods of daemon sets on it, by the daemon sets' names."""
        self.pool, self.group, self.kind, self.empty, self.daemons = pool, group, kind, empty, daemons
        self.domains = frozenset({*kind.labels, *(pair for variant in kind.variants for pair in variant)})
        """Labels that new nodes have, or may have."""
        self._room = (group.room, pool.room)
        self.limits = [(limit, limit.each[pool.name]) for limit in limits if limit.each.get(pool.name)]
        self.bought = 0
        """Number of machines that this decision asks for."""
        self.orders: list[tuple[GrowthReason, str, tuple[str, ...]]] = []
        """Reason, buyer and names of the pods of each machine that this decision asks for."""
        self.shapes: list[PodShape] = []
        """Shape of the pods of each machine that this decision asks for. Machines that are for no pods are left out."""

    @property
    def left(self) -> int:
        """Return the number of machines that the group can still be asked for, within the limits of the group, its pool
        and all pools."""
        left = min(self._room[0] - self.bought, self._room[1] - self.pool.bought)
        for limit, each in self.limits:
            left = min(left, limit.amount // each)
        return max(0, left)

    def each(self, need: PodNeed) -> int:
        """Return the number of equal pods for which a new node has room."""
        if self.daemons and any(need.excludes(daemon) for _, daemon in self.daemons):
            return 0
        if need.closed and need.closed & self.domains:
            return 0
        if need.alone:
            each = int(all(self.empty[index] >= amount for index, amount in need.vector))
        else:
            each = min((self.empty[index] // amount for index, amount in need.vector), default=0)
        return fit_shared(self.empty, frozenset(), need, each) if need.shared else each

    def exhausted_by(self) -> Obstacle:
        """Return why the offer has no machine left."""
        if self.pool.blocked:
            return self.pool.blocked
        if self.group.blocked:
            return self.group.blocked
        if self.group.group.error:
            message = f"its cloud does not report {self.group.name}: {self.group.group.error}"
            return Obstacle(WaitReason.CLOUD_SILENT, message)
        used = [limit for limit, each in self.limits if limit.amount < each]
        if used:
            return Obstacle(used[0].reason, f"{' and '.join(limit.name for limit in used)} is used up")
        return Obstacle(WaitReason.POOL_AT_MAX, f"it is at its maximum size, {self.pool.pool.max}")


class Market:
    """All offers, and the machines that this decision asks for."""

    def __init__(
        self,
        ledger: CapacityLedger,
        pools: Mapping[str, PoolOutlook],
        *,
        limits: Iterable[SharedLimit],
        joining: int,
        contents: NewNodeContents,
        closed: Mapping[PodShape, Mapping[str, Obstacle]],
        trials: Collection[tuple[PodShape, str]],
    ) -> None:
        """``joining`` is the maximum number of machines that may be joining at once. ``closed`` holds the pools that
        must not be asked for a shape, with the reason. For a shape and a pool in ``trials``, only one machine is
        requested."""
        self._ledger, self._closed, self._trials = ledger, closed, trials
        coming = sum(group.coming for pool in pools.values() for group in pool.groups)
        everywhere = tuple((name, 1) for name in pools)
        self.joining = RemainingLimit(
            SharedLimit(name=JOINING, reason=WaitReason.TOO_MANY_JOINING, left=joining - coming, each=everywhere)
        )
        self.limits = [*map(RemainingLimit, limits), self.joining]
        self.offers: list[Offer] = []
        for pool in pools.values():
            for group in pool.groups:
                kind = new_node_kind(pool, group)
                empty, needs = contents.of(pool, kind)
                self.offers.append(Offer(pool, group, empty=empty, kind=kind, daemons=needs, limits=self.limits))
                ledger.class_of(kind, Tier.NEW)
        self.made: dict[str, Offer] = {}
        """Offer of each new machine, by the name of its room."""
        self._matching: dict[NodeConstraints, list[Offer]] = {}
        self._fitting: dict[PodNeed, dict[str, list[tuple[Offer, int]]]] = {}
        self._tried: set[tuple[PodShape, str]] = set()
        """Shapes and pools of ``trials`` that this decision has asked."""
        self._closed_to: dict[PodNeed, Mapping[str, Obstacle]] = {}

    def matching(self, where: NodeConstraints) -> list[Offer]:
        """Return the offers whose nodes' labels and taints allow a pod, even offers without machines left."""
        matches = self._matching.get(where)
        if matches is None:
            matches = self._matching[where] = [offer for offer in self.offers if not mismatch(where, offer.kind)]
        return matches

    def fitting(self, need: PodNeed) -> dict[str, list[tuple[Offer, int]]]:
        """Return the offers whose nodes can run a pod, by pool, each with the number of such pods that fit on a node;
        even offers without machines left."""
        fits = self._fitting.get(need)
        if fits is None:
            fits = self._fitting[need] = {}
            for offer in self.matching(need.shape.where):
                each = offer.each(need)
                if each > 0:
                    fits.setdefault(offer.pool.name, []).append((offer, each))
        return fits

    def closed(self, offer: Offer, need: PodNeed) -> Obstacle | None:
        """Return why an offer is closed to a pod; None when it is open."""
        return self.closed_pools(need).get(offer.pool.name)

    def left(self, offer: Offer, need: PodNeed) -> int:
        """Return the number of machines that an offer has left for a pod."""
        return 0 if self._closed and self.closed(offer, need) else offer.left

    def closed_pools(self, need: PodNeed) -> Mapping[str, Obstacle]:
        """Return the pools that are not asked for a pod, with the reason."""
        if not self._closed:
            return {}
        pools = self._closed_to.get(need)
        if pools is None:
            pools = self._closed_to[need] = self._closed.get(need.shape, {})
        return pools

    def ranked(
        self, need: PodNeed, count: int, domain: tuple[str, str] | None, *, fewest: bool = False
    ) -> list[tuple[Offer, int]]:
        """Return the offers with machines left for some pods, in the order in which to ask: by declared priority,
        reservations first, then by total price, spot, region and name. A pool is followed by its fallbacks. With
        ``fewest``, offers whose machines hold the most pods come first, whatever the pools' order is."""
        if self.joining.amount <= 0:
            return []
        fitting = self.fitting(need)

        def rank(name: str) -> tuple[int, bool, int, bool, Decimal, bool, str, str]:
            offer, each = fitting[name][0]
            pool = offer.pool.pool
            price = UNPRICED if pool.price is None else pool.price * -(-count // each)
            return (
                -each if fewest else 0,
                not pool.racks,
                pool.priority,
                not pool.reserved,
                price,
                not pool.spot,
                pool.region,
                name,
            )

        closed = self.closed_pools(need)
        left = {
            name: some
            for name, offers in fitting.items()
            if name not in closed
            and (
                some := [
                    offer for offer in offers if offer[0].left and (domain is None or domain in offer[0].kind.labels)
                ]
            )
        }
        order: dict[str, None] = {}
        # Fallbacks of a pool without machines left take its place.
        for name in sorted(fitting, key=rank) if len(left) > 1 else left:
            if fewest:
                order[name] = None
            else:
                _followed(name, fitting, order)
        return [offer for name in order for offer in left.get(name, ())]

    def buy(
        self,
        need: PodNeed,
        names: tuple[str, ...],
        *,
        buyer: str,
        domain: tuple[str, str] | None = None,
        fewest: bool = False,
    ) -> list[tuple[NodeRoom, int]]:
        """Ask for machines for as many of the pods as possible, and place the pods there. With ``fewest``, ask for as
        few machines as possible. ``names`` are the pods' names; ``buyer`` is a text that names their gang, empty for
        pods that start alone."""
        placed: list[tuple[NodeRoom, int]] = []
        reason = GrowthReason.GANG_WAITS if buyer else GrowthReason.PODS_WAIT
        for offer, each in self.ranked(need, len(names), domain, fewest=fewest):
            pool = offer.pool.name
            once = bool(self._trials) and not buyer and (need.shape, pool) in self._trials
            while names and offer.left > 0 and not (once and (need.shape, pool) in self._tried):
                pods, checkpoint = names[: self._ledger.most_new(need, offer.kind, each)], self._ledger.checkpoint()
                if not pods:
                    break
                room = self._make(offer, reason, buyer, pods, need.shape)
                if need.spreads and not self._ledger.allows(need, room):
                    # The pod's spreading counts daemon sets' pods too.
                    self._ledger.undo_to(checkpoint)
                    break
                names = names[len(pods) :]
                if once:
                    self._tried.add((need.shape, pool))
                self._ledger.reserve(room, need, len(pods))
                placed.append((room, len(pods)))
            if not names:
                break
        return placed

    def request_minimum(self) -> None:
        """Ask for the machines that groups should always have."""
        for offer in self.offers:
            while offer.group.size + offer.bought < offer.group.group.min and offer.left > 0:
                self._make(offer, GrowthReason.BELOW_MIN, "its least size", ())

    def is_limited(self) -> bool:
        """Return whether a limit that pools share is used up."""
        return any(limit.amount <= 0 for limit in self.limits)

    def add_spares(self, pool: str, number: int) -> None:
        """Ask a pool for up to ``number`` spare nodes."""
        for offer in self.offers:
            while number and offer.pool.name == pool and offer.left > 0:
                self._make(offer, GrowthReason.SPARE_MISSING, "its spare nodes", ())
                number -= 1

    def _make(
        self, offer: Offer, reason: GrowthReason, buyer: str, pods: tuple[str, ...], shape: PodShape | None = None
    ) -> NodeRoom:
        number = offer.group.present + offer.bought + 1
        room = NodeRoom(f"{offer.group.name}+{number}", offer.kind, Tier.NEW, list(offer.empty))
        room.carry(daemon for _, daemon in offer.daemons)
        self._ledger.add_new(room)
        self.made[room.name] = offer
        self._count(offer, 1)
        offer.orders.append((reason, buyer, pods))
        offer.shapes += [shape] if shape else []

        def undo() -> None:
            self._count(offer, -1)
            offer.orders.pop()
            if shape:
                offer.shapes.pop()

        self._ledger.on_undo(undo)
        return room

    def _count(self, offer: Offer, change: int) -> None:
        offer.bought += change
        offer.pool.bought += change
        for limit, each in offer.limits:
            limit.amount -= change * each


def _followed(name: str, fitting: Mapping[str, Sequence[tuple[Offer, int]]], order: dict[str, None]) -> None:
    """Add a pool to the order, and its fallbacks right after it."""
    if name in order:
        return
    order[name] = None
    for fallback in fitting[name][0][0].pool.pool.fallbacks:
        if fallback in fitting:
            _followed(fallback, fitting, order)
