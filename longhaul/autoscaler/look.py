"""One look at a whole environment, and what would be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longhaul.autoscaler.plan import plan
from longhaul.autoscaler.pools import Asked, ask, limits, machines, pools, settings, taints
from longhaul.autoscaler.reading import list_all, read
from longhaul.autoscaler.snapshot import Snapshot

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.autoscaler.actions import Decision
    from longhaul.kubernetes.api import Api
    from longhaul.prices.book import PriceBook


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A decision, and what it was made without."""

    decision: Decision
    blind: tuple[str, ...]
    """Groups that could not be read, with the reason."""
    groups: int
    """Number of all groups."""


def look(environment: Environment, api: Api, prices: PriceBook) -> Looked:
    """Read cluster and clouds, and decide. Nothing is changed. Raise ``ApiError`` when the API refuses or does not
    answer; a cloud that does not is left out."""
    listed = list_all(api)
    now = api.now()
    asked = ask(environment, frozenset(item["metadata"]["name"] for item in listed.nodes))
    cluster = read(listed, machines=machines(asked), taints=taints(environment), now=now)
    known = pools(environment, asked, cluster.nodes, prices=prices, rolled=listed.rolled)
    snapshot = Snapshot(
        pods=cluster.pods,
        nodes=cluster.nodes,
        gangs=cluster.gangs,
        daemons=cluster.daemons,
        limits=tuple(limits(environment, known, len(environment.hosts))),
        settings=settings(environment),
    )
    return Looked(
        decision=plan(snapshot, known, listed.memory, now), blind=_blind(asked), groups=sum(map(len, asked.values()))
    )


def _blind(asked: Mapping[str, Sequence[Asked]]) -> tuple[str, ...]:
    return tuple(f"{one.declared.name}: {one.error}" for groups in asked.values() for one in groups if one.error)
