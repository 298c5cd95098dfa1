"""Words for demand that has no room: which pools could hold it, and why they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from longhaul.autoscaler.actions import Action, Verb
from longhaul.autoscaler.matching import mismatch
from longhaul.autoscaler.offers import Market, Offer
from longhaul.autoscaler.placing import Domain, Short
from longhaul.autoscaler.rooms import Ledger, Need
from longhaul.autoscaler.shapes import PODS

UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
NAMED = 3
"""Number of pools that are named in one reason."""


def quantity(name: str, amount: int) -> str:
    """Return an amount of a resource in words, such as ``2 TiB of memory`` or ``8 nvidia.com/gpu``."""
    if name == "cpu":
        return f"{amount / 1000:g} cores"
    if name == "memory" or name == "ephemeral-storage" or name.startswith("hugepages-"):
        size, unit = next(((size, unit) for size, unit in UNITS if amount >= size), (1, "bytes"))
        return f"{float(f'{amount / size:.3g}'):g} {unit} of {name}"
    return f"{amount} {name}"


def asked(need: Need) -> str:
    """Return what a pod asks for."""
    found = [quantity(name, amount) for name, amount in need.shape.requests if name != PODS]
    return ", ".join(found) or "nothing but a place"


def tell(short: Short, ledger: Ledger, market: Market) -> Action:
    """Return what is said of demand without room."""
    reason = _reason(short.demand.need, ledger, market, short.domain)
    unknown = short.demand.need.shape.unknown or (short.gang.gang.unknown if short.gang else ())
    if unknown:
        reason = f"no node is asked for: {'; '.join(unknown)}"
    if short.gang is None:
        return Action(verb=Verb.TELL, target=short.pods[0], reason=reason, pods=short.pods)
    gang = short.gang
    place = f" with {'='.join(short.domain)}" if short.domain else ""
    if not unknown:
        reason = f"it waits as a whole: {short.fitted} of {gang.count} members have room{place}; {reason}"
    pods = tuple(name for one in gang.members if not one.declared for name in one.pods)
    return Action(verb=Verb.TELL, target=gang.gang.name, reason=reason, pods=pods)


def _reason(need: Need, ledger: Ledger, market: Market, domain: Domain | None) -> str:
    if need.by_name:
        return f"asks {asked(need)}; it may be on nodes of certain names alone, and these have no room"
    could: dict[str, str] = {}
    small: dict[str, Offer] = {}
    not_there: dict[str, None] = {}
    unlike: dict[str, list[str]] = {}
    for offer in market.offers:
        name = offer.pool.name
        why = mismatch(need.shape.where, offer.kind)
        if why:
            unlike.setdefault(why, []).append(name)
        elif offer.each(need) <= 0:
            small.setdefault(name, offer)
        elif domain is not None and domain not in offer.kind.labels:
            not_there[name] = None
        elif name not in could or offer.left:
            could[name] = f"pool {name} has room for too few" if offer.left else f"pool {name}: {offer.shut()}"
    if could:
        return f"asks {asked(need)}; {_listed(could.values())}"
    if not_there and domain:
        return f"asks {asked(need)}; no pool that could hold it has nodes that are known to be {'='.join(domain)}"
    if small:
        return f"no pool can hold this: asks {asked(need)}, largest is {_largest(need, ledger, small)}"
    told = [f"{why} ({_listed(names, ', ')})" for why, names in sorted(unlike.items())]
    return f"no pool can hold this: {_listed(told) or 'there is none in a cloud'}"


def _listed(parts: Iterable[str], between: str = "; ") -> str:
    every = list(dict.fromkeys(parts))
    more = f"{between}and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return between.join(every[:NAMED]) + more


def _largest(need: Need, ledger: Ledger, small: Mapping[str, Offer]) -> str:
    """Return the pool whose nodes come nearest to what is asked, and what they have of it."""

    def nearness(offer: Offer) -> tuple[float, str]:
        share = min(offer.empty[index] / amount for index, amount in need.vector)
        return share, offer.pool.name

    best = max(small.values(), key=nearness)
    has = [
        quantity(ledger.names[index], max(0, best.empty[index]))
        for index, _ in need.vector
        if ledger.names[index] != PODS
    ]
    machine = best.pool.pool.machine_type
    return f"{machine or 'a node'} of pool {best.pool.name} with {', '.join(has)}"
