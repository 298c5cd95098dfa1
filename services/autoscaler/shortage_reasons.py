"""Text about demand without room: which pools could hold it, and why they do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contract.kubernetes.quantities import Resources
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.capacity_ledger import CapacityLedger
from services.autoscaler.free_capacity import PodNeed
from services.autoscaler.machine_offers import Market, Offer
from services.autoscaler.placement import Domain, ShortDemand
from services.autoscaler.pod_demand import GangDemand
from services.autoscaler.pod_shapes import NO_LIMIT, PODS, VOLUMES_OF
from services.autoscaler.scaling_actions import ScalingAction, Verb
from services.autoscaler.scheduling_rules import mismatch
from services.autoscaler.volume_counts import volume_counts

UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
STORAGE = "ephemeral-storage"
UNKNOWN_STORAGE = "local storage that is unknown until it has a node or `system_disk_gib`"
NAMED = 3
"""Number of pools that are named in one reason."""


def quantity(name: str, amount: int) -> str:
    """Return an amount of a resource as text, such as ``2 TiB of memory`` or ``8 nvidia.com/gpu``."""
    if name == "cpu":
        return f"{amount / 1000:g} cores"
    if name == "memory" or name == "ephemeral-storage" or name.startswith("hugepages-"):
        size, unit = next(((size, unit) for size, unit in UNITS if amount >= size), (1, "bytes"))
        return f"{float(f'{amount / size:.3g}'):g} {unit} of {name}"
    if name.startswith(VOLUMES_OF):
        return f"{amount} volumes of {name.removeprefix(VOLUMES_OF)}"
    return f"{amount} {name}"


def request_words(need: PodNeed) -> str:
    """Return a pod's requests as text."""
    amounts = [quantity(name, amount) for name, amount in _asked(need).items() if name != PODS]
    return ", ".join(amounts) or "nothing but a place"


def _asked(need: PodNeed) -> Resources:
    """Return a pod's requests with the volumes that it shares."""
    asked = dict(need.shape.requests)
    if need.shape.shared_volumes:
        for name, count in volume_counts(need.shape.shared_volumes).items():
            asked[name] = asked.get(name, 0) + count
    return asked


class ShortageReasons:
    """Messages about demand without room. They are made after all demand was placed, so that the pools' remaining
    machines do not change any more."""

    def __init__(self, ledger: CapacityLedger, market: Market) -> None:
        self._ledger, self._market = ledger, market
        self._shut_pools: dict[object, tuple[WaitReason, str] | None] = {}
        """Reason and text about the pools that could hold a pod, by the pools' offers, the pools that are closed to the
        pod, and the domain. Most shapes have these in common."""

    def action(self, short: ShortDemand) -> ScalingAction:
        """Return the message about demand without room."""
        unknown = short.demand.need.shape.unknown or (short.gang.gang.unknown if short.gang else ())
        need, count = short.demand.need, len(short.demand.pods) if short.gang else 1
        if unknown:
            obstacle = unknown_demands(unknown)
        elif message := self._ledger.volume_obstacle(need, count):
            obstacle = Obstacle(WaitReason.CLAIM_MISSING, f"no node is asked for: {message}")
        else:
            obstacle = self._obstacle(need, short.domain)
        if short.gang is None:
            target, pods = short.pods[0], short.pods
        else:
            target = short.gang.gang.name
            pods = tuple(name for member in short.gang.members if not member.declared for name in member.pods)
            if not unknown:
                obstacle = _gang_obstacle(short, short.gang, obstacle)
        return ScalingAction(verb=Verb.TELL, target=target, reason=obstacle.reason, message=obstacle.message, pods=pods)

    def _obstacle(self, need: PodNeed, domain: Domain | None) -> Obstacle:
        asks = f"asks {request_words(need)}"
        market = self._market
        if need.shape.where.is_pinned:
            message = f"{asks}; it may run only on nodes with certain names, and these have no room"
            return Obstacle(WaitReason.NAMED_NODES_FULL, message)
        fitting = market.fitting(need)
        if not fitting:
            return self._no_pool(need)
        closed = market.closed_pools(need)
        key = (tuple(offer for offers in fitting.values() for offer, _ in offers), tuple(closed.items()), domain)
        if key not in self._shut_pools:
            there = [
                _shut(name, [offer for offer, _ in offers], need, market)
                for name, offers in fitting.items()
                if domain is None or any(domain in offer.kind.labels for offer, _ in offers)
            ]
            self._shut_pools[key] = (there[0].reason, _listed(map(str, there))) if there else None
        shut = self._shut_pools[key]
        if shut:
            return Obstacle(shut[0], f"{asks}; {shut[1]}")
        label = "=".join(domain or ())
        message = f"{asks}; no pool that could hold it has nodes that are known to be {label}"
        return Obstacle(WaitReason.NO_DOMAIN, message)

    def _no_pool(self, need: PodNeed) -> Obstacle:
        """Return why no pool's new node can hold a pod."""
        market = self._market
        beside = _beside_daemons(need, market)
        if beside:
            return Obstacle(WaitReason.DAEMON_SET_CONFLICT, f"no pool can hold this: {beside}")
        shut = [offer.pool.name for offer in market.matching(need.shape.where) if need.closed & offer.domains]
        if shut:
            where = " and ".join(f"{key}={value}" for key, value in sorted(need.closed))
            message = f"pods that run keep it out of {where}, where new nodes are or may be ({_listed(shut, ', ')})"
            return Obstacle(WaitReason.NO_POOL_MATCHES, f"no pool can hold this: {message}")
        too_small = _too_small(need, self._ledger, market)
        reason = WaitReason.NO_MACHINE_FITS if too_small else WaitReason.NO_POOL_MATCHES
        return Obstacle(reason, f"no pool can hold this: {too_small or _unlike(need, market)}")


def unknown_demands(unknown: Sequence[Obstacle]) -> Obstacle:
    """Return the messages about unsupported demands. When there are several, the reason is the first demand's."""
    return Obstacle(unknown[0].reason, f"no node is asked for: {'; '.join(map(str, unknown))}")


def _gang_obstacle(short: ShortDemand, gang: GangDemand, obstacle: Obstacle) -> Obstacle:
    within = gang.gang.within
    if within and short.domain is None:
        message = f"it waits as a whole: no node or pool is known to have the label {within}"
        return Obstacle(WaitReason.NO_DOMAIN, message)
    place = f" with {'='.join(short.domain)}" if short.domain else ""
    fitted = f"{short.fitted} of {gang.count} members have room{place}"
    return Obstacle(obstacle.reason, f"it waits as a whole: {fitted}; {obstacle}")


def _shut(name: str, offers: Sequence[Offer], need: PodNeed, market: Market) -> Obstacle:
    """Return why a pool gives no machine, or too few."""
    shut = [market.closed(offer, need) or offer.exhausted_by() for offer in offers if not market.left(offer, need)]
    if len(shut) == len(offers):
        return Obstacle(shut[0].reason, f"pool {name}: {shut[0]}")
    return Obstacle(WaitReason.TOO_FEW_MACHINES, f"pool {name} has room for too few")


def _beside_daemons(need: PodNeed, market: Market) -> str:
    """Return the daemon sets that keep a pod from new nodes that could hold it otherwise; empty when there are none."""
    phrases = []
    for offer in market.matching(need.shape.where):
        conflicts = [(name, daemon) for name, daemon in offer.daemons if need.excludes(daemon)]
        if conflicts and all(offer.empty[index] >= amount for index, amount in need.vector):
            name, daemon = conflicts[0]
            ports, pool = need.taken_by & daemon.ports, offer.pool.name
            phrases.append(
                f"daemon set {name} uses port {min(ports)} of each node of pool {pool}"
                if ports
                else f"it is kept apart from daemon set {name}, which has a pod on each node of pool {pool}"
            )
    return _listed(phrases)


def _too_small(need: PodNeed, ledger: CapacityLedger, market: Market) -> str:
    """Return a text with the amounts of the largest machine on which the pod may be; empty when it may be on none."""
    offers = market.matching(need.shape.where)
    if not offers:
        return ""

    def nearness(offer: Offer) -> tuple[float, str]:
        return min(offer.empty[index] / amount for index, amount in need.vector), offer.pool.name

    best = max(offers, key=nearness)
    empty = dict(zip(ledger.needs.names, best.empty, strict=True))
    names = [name for name in _asked(need) if name != PODS and empty[name] != NO_LIMIT]
    has = ", ".join(
        UNKNOWN_STORAGE if name == STORAGE and name not in best.pool.capacity else quantity(name, max(0, empty[name]))
        for name in names
    )
    machine = best.pool.pool.machine_type or "a node"
    return f"asks {request_words(need)}; the largest machine is {machine} of pool {best.pool.name}, with {has}"


def _unlike(need: PodNeed, market: Market) -> str:
    """Return the labels and taints that keep the pod away."""
    by_reason: dict[str, list[str]] = {}
    for offer in market.offers:
        by_reason.setdefault(mismatch(need.shape.where, offer.kind), []).append(offer.pool.name)
    phrases = [f"{why} ({_listed(names, ', ')})" for why, names in sorted(by_reason.items())]
    return _listed(phrases) or "there is no pool in a cloud"


def _listed(parts: Iterable[str], between: str = "; ") -> str:
    every = list(dict.fromkeys(parts))
    more = f"{between}and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return between.join(every[:NAMED]) + more
