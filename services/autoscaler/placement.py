"""Places demand: on free room, then on nodes to be uncordoned, then on new machines. Gangs are placed completely or not
at all."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.free_capacity import NOW, NodeRoom, PodNeed, Tier
from services.autoscaler.machine_offers import UNPRICED, Market
from services.autoscaler.pod_demand import Demand, GangDemand
from services.autoscaler.scaling_actions import PodPlacement

PRESENT = (*NOW, Tier.COMING, Tier.NEW, Tier.ENDING)
"""Tiers that cost nothing more."""

WITHOUT_LIMIT = 1 << 30
"""A number larger than any request for machines."""

Domain = tuple[str, str]
"""A label and its value that all nodes of a gang have in common."""
Parts = list[tuple[NodeRoom, tuple[str, ...]]]
"""Nodes, each with the pods that were placed on it."""


@dataclass(frozen=True, kw_only=True)
class ShortDemand:
    """Demand for which there is not enough room."""

    demand: Demand
    pods: tuple[str, ...]
    """Pods without room."""
    gang: GangDemand | None = None
    """The gang that does not fit completely."""
    fitted: int = 0
    """Number of the gang's members that would have had room."""
    domain: Domain | None = None
    """Domain in which the ``fitted`` members would have had room."""


@dataclass(frozen=True, kw_only=True)
class PlacedGang:
    """A gang that has room completely."""

    gang: GangDemand
    rooms: tuple[NodeRoom, ...]

    @property
    def waits(self) -> int:
        """Return the number of the gang's nodes that are not ready yet."""
        return sum(room.tier not in (*NOW, Tier.ENDING) for room in self.rooms)

    @property
    def ending(self) -> int:
        """Return the number of the gang's nodes on which other pods have yet to end."""
        return sum(room.tier is Tier.ENDING for room in self.rooms)


class Placer:
    """Places one demand after another, and stores the results."""

    def __init__(self, ledger: CapacityLedger, market: Market, *, joining: int) -> None:
        """``joining`` is the maximum number of machines that may be joining at once."""
        self._ledger, self._market, self._joining_most = ledger, market, joining
        self.placed: list[PodPlacement] = []
        self.short: list[ShortDemand] = []
        self.seated: list[PlacedGang] = []
        self._hopeless: dict[object, tuple[int, Demand, Domain | None]] = {}
        """Results for gangs that did not fit, by the gangs' needs. Equal gangs do not fit later either, because room
        only becomes less."""

    def single(self, demand: Demand) -> None:
        """Place independent pods, as many as have room."""
        unknown = demand.need.shape.unknown
        parts, rest = ([], demand.pods) if unknown else self._place(demand, buyer="", domain=None)
        self._keep(parts)
        if rest:
            self.short.append(ShortDemand(demand=demand, pods=rest))

    def gang(self, demand: GangDemand, where_members_run: set[str]) -> None:
        """Place all members, or none. ``where_members_run`` are the values of the gang's label on nodes with running
        members; the other members must be placed there too."""
        first = demand.members[0]
        unknown = next((first_unknown for first_unknown in demand.members if first_unknown.need.shape.unknown), None)
        if unknown or demand.gang.unknown:
            self.short.append(ShortDemand(demand=unknown or first, pods=(), gang=demand))
            return
        within = demand.gang.within
        signature = (
            within,
            tuple(sorted(where_members_run)),
            tuple((part.need, len(part.pods)) for part in demand.members),
        )
        known = self._hopeless.get(signature)
        if known is None:
            attempt = self._attempt(demand, self._domains(within, where_members_run))
            if isinstance(attempt, list):
                self._keep(attempt, gang=demand.gang.name)
                rooms = {room.name: room for room, _ in sorted(attempt, key=lambda part: part[0].tier)}
                self.seated.append(PlacedGang(gang=demand, rooms=tuple(rooms[name] for name in sorted(rooms))))
                return
            known = self._hopeless[signature] = attempt
        fitted, short, domain = known
        member = next(candidate for candidate in demand.members if candidate.need is short.need)
        self.short.append(ShortDemand(demand=member, pods=(), gang=demand, fitted=fitted, domain=domain))

    def _attempt(self, demand: GangDemand, domains: list[Domain | None]) -> Parts | tuple[int, Demand, Domain | None]:
        """Place a gang in the best domain, like :meth:`_best`. When only the limit on joining machines prevents that,
        the gang may exceed the limit once nothing else is joining; until then no other demand gets machines."""
        placement, joining = self._best(demand, domains), self._market.joining
        if isinstance(placement, list) or joining.amount >= demand.count:
            return placement
        before, checkpoint = joining.amount, self._ledger.checkpoint()
        joining.amount = WITHOUT_LIMIT
        alone = self._best(demand, domains)
        if not isinstance(alone, list):
            joining.amount = before
            return placement
        if before < self._joining_most:
            self._ledger.undo_to(checkpoint)
            joining.amount = 0
            return placement
        joining.amount += before - WITHOUT_LIMIT
        return alone

    def _domains(self, within: str, running: set[str]) -> list[Domain | None]:
        if not within:
            return [None]
        return [(within, value) for value in sorted(running or self._ledger.values_of(within))]

    def _best(self, demand: GangDemand, domains: list[Domain | None]) -> Parts | tuple[int, Demand, Domain | None]:
        """Place a gang in the best domain, and return its parts; otherwise return the number of members that fit into
        the roomiest domain, the first member that does not, and the domain."""
        best: tuple[tuple[object, ...], Domain | None, bool] | None = None
        failed: tuple[int, Demand, Domain | None] = (-1, demand.members[0], domains[0] if domains else None)
        for domain in domains:
            if domain and (hopeless := self._hopeless_in(demand, domain)):
                failed = max(failed, hopeless, key=lambda failure: failure[0])
                continue
            checkpoint = self._ledger.checkpoint()
            parts, fitted, short, fewest = self._attempts(demand, domain, checkpoint)
            if short is None:
                cost = self._cost(parts, domain)
                if not any(cost[:3]):
                    # Nothing is better than existing room.
                    return parts
                if best is None or cost < best[0]:
                    best = (cost, domain, fewest)
            elif fitted > failed[0]:
                failed = (fitted, short, domain)
            self._ledger.undo_to(checkpoint)
        if best is None:
            return (max(failed[0], 0), *failed[1:])
        return self._all(demand, best[1], fewest=best[2])[0]

    def _attempts(
        self, demand: GangDemand, domain: Domain | None, checkpoint: int
    ) -> tuple[Parts, int, Demand | None, bool]:
        """Place members like :meth:`_all`. If a limit that pools share is used up before all members have room, place
        them again on as few machines as possible, whatever the pools' order is. There is no second attempt if the first
        one got no machine. The last value is true after a second attempt."""
        before = self._market.joining.amount
        parts, fitted, short = self._all(demand, domain)
        if short is None or self._market.joining.amount == before or not self._market.is_limited():
            return parts, fitted, short, False
        self._ledger.undo_to(checkpoint)
        return *self._all(demand, domain, fewest=True), True

    def _hopeless_in(self, demand: GangDemand, domain: Domain) -> tuple[int, Demand, Domain | None] | None:
        """Return the first member that cannot fit into a domain by numbers alone; None when placing is worth an
        attempt."""
        for member in demand.members:
            count = len(member.pods)
            bound = self._ledger.upper_bound(member.need, count, domain)
            for offer, each in chain(*self._market.fitting(member.need).values()) if bound < count else ():
                bound += self._market.left(offer, member.need) * each if domain in offer.kind.labels else 0
            if bound < count:
                return min(bound, count), member, domain
        return None

    def _all(
        self, demand: GangDemand, domain: Domain | None, *, fewest: bool = False
    ) -> tuple[Parts, int, Demand | None]:
        """Place members until one has no room; with ``fewest``, on as few machines as possible. Return the parts, the
        number of placed members, and the member without room."""
        parts: Parts = []
        fitted = 0
        for member in demand.members:
            some, rest = self._place(member, buyer=f"gang {demand.gang.name}", domain=domain, fewest=fewest)
            parts += some
            fitted += len(member.pods) - len(rest)
            if rest:
                return parts, fitted, member
        return parts, fitted, None

    def _cost(self, parts: Parts, domain: Domain | None) -> tuple[bool, bool, bool, int, Decimal, int, str]:
        """Return a sort key for the cost of a placement; the smallest is the best."""
        rooms = {room.name: room for room, _ in parts}.values()
        new = [self._market.made[room.name].pool.pool for room in rooms if room.tier is Tier.NEW]
        cordoned = any(room.tier is Tier.CORDONED for room in rooms)
        price = sum((UNPRICED if pool.price is None else pool.price for pool in new), Decimal())
        worst = max((pool.priority for pool in new), default=0)
        ending = any(room.tier is Tier.ENDING for room in rooms)
        return bool(new), cordoned, ending, worst, price, len(new), domain[1] if domain else ""

    def _place(
        self, demand: Demand, *, buyer: str, domain: Domain | None, fewest: bool = False
    ) -> tuple[Parts, tuple[str, ...]]:
        """Place pods on free room, then on cordoned nodes, then on new machines. Return the parts, and the pods without
        room."""
        need, count = demand.need, len(demand.pods)
        placed = self._ledger.place(need, count, tiers=PRESENT, domain=domain)
        count -= sum(some for _, some in placed)
        if count:
            more = self._ledger.place(need, count, tiers=(Tier.CORDONED,), domain=domain)
            count -= sum(some for _, some in more)
            placed += more
        if count and need.spreads:
            # Each new machine changes where the next pods may be.
            first = self._market.buy(need, demand.pods[-count:][:1], buyer=buyer, domain=domain, fewest=fewest)
            while first:
                placed += first
                count -= 1
                more = self._ledger.place(need, count, tiers=(*PRESENT, Tier.CORDONED), domain=domain) if count else []
                count -= sum(some for _, some in more)
                placed += more
                rest = demand.pods[-count:][:1] if count else ()
                first = self._market.buy(need, rest, buyer=buyer, domain=domain, fewest=fewest) if rest else []
        elif count:
            placed += self._market.buy(need, demand.pods[-count:], buyer=buyer, domain=domain, fewest=fewest)
        parts: Parts = []
        begun = 0
        for room, some in placed:
            parts.append((room, demand.pods[begun : begun + some]))
            begun += some
        return parts, demand.pods[begun:]

    def move(self, need: PodNeed) -> NodeRoom | None:
        """Place one pod that is to leave its node on another existing node, and return that node; None when none has
        room."""
        rooms = self._ledger.place(need, 1, tiers=NOW)
        return rooms[0][0] if rooms else None

    def _keep(self, parts: Parts, *, gang: str = "") -> None:
        self.placed += [
            PodPlacement(node=room.name, pods=pods, gang=gang, ending=room.tier is Tier.ENDING) for room, pods in parts
        ]
