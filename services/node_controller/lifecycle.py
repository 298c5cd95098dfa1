"""Detection of Nodes without a machine, by the sites' lists. A Node's silence alone is no reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from clouds.base.machine_lists import ListedMachine, Presence

LISTINGS = 2
"""Number of consecutive complete listings without a machine after which the machine counts as absent, because a listing
may lag."""

SHARE = 0.1
"""Largest share of a site's Nodes whose machines' absence is accepted at once. One Node is always accepted. A list that
lacks more machines is probably wrong: a filter no longer fits, the account is another, or the answer is incomplete. In
2018 a full etcd made every node look dead at once, and an autoscaler began to remove all nodes (OpenAI, "Scaling
Kubernetes to 2,500 nodes")."""

PATIENCE_S = 1800.0
"""Seconds after which the absence of too many machines of a site is accepted after all, except for Nodes that renew
their leases. Without this limit, the guard would block for ever."""


@dataclass(frozen=True, kw_only=True)
class NodeSeen:
    """Name and site of a Node."""

    name: str
    site: str
    """Site of the Node; empty for a Node that is not Longhaul's, which is ignored."""


class SiteList(Protocol):
    """Inventory of a site."""

    def machine(self, name: str) -> ListedMachine | None:
        """Return the machine; None if the list lacks it."""

    def missed(self, name: str) -> int:
        """Return the number of consecutive complete listings without the machine."""


@dataclass(frozen=True, kw_only=True)
class LostNodes:
    """Result of a check of all Nodes."""

    lost: Mapping[str, str]
    """Reason for the removal of each lost Node, by the Node's name."""
    suspects: Mapping[str, str]
    """Message for each site with too many absent machines, by site, with the observed numbers."""


class Lifecycle:
    """Comparison of Nodes with sites' lists. It remembers since when a site has had too many absent machines."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held_since: dict[str, float] = {}

    def look(
        self, nodes: Iterable[NodeSeen], lists: Mapping[str, SiteList], *, fresh: Callable[[str], bool]
    ) -> LostNodes:
        """Return the Nodes that have lost their machine. ``fresh`` returns whether a node renews its lease. It is
        called only for Nodes whose machines are absent."""
        lost: dict[str, str] = {}
        absent: dict[str, list[str]] = {}
        ours = [node for node in nodes if node.site]
        for node in ours:
            list_ = lists.get(node.site)
            machine = list_.machine(node.name) if list_ else None
            if machine is not None and machine.presence is Presence.ENDED:
                lost[node.name] = f"the cloud says that its machine in {node.site} has ended"
            elif machine is None and (list_ is None or list_.missed(node.name) >= LISTINGS):
                absent.setdefault(node.site, []).append(node.name)
        suspects = self._believe(absent, Counter(node.site for node in ours), lost, fresh=fresh)
        return LostNodes(lost=lost, suspects=suspects)

    def _believe(
        self,
        absent: Mapping[str, list[str]],
        totals: Mapping[str, int],
        lost: dict[str, str],
        *,
        fresh: Callable[[str], bool],
    ) -> dict[str, str]:
        """Add Nodes with absent machines to ``lost``, except on sites with too many of them. Return the messages about
        these sites."""
        suspects: dict[str, str] = {}
        self._held_since = {site: at for site, at in self._held_since.items() if site in absent}
        for site, names in absent.items():
            most = max(1, math.floor(totals[site] * SHARE))
            if len(names) > most:
                since = self._held_since.setdefault(site, self._clock())
                if self._clock() - since < PATIENCE_S:
                    suspects[site] = (
                        f"{len(names)} of {totals[site]} nodes are not in its list, and at most {most} are believed "
                        "at once"
                    )
                    continue
            else:
                self._held_since.pop(site, None)
            for name in names:
                # A node that renews its lease is not gone, whatever a list says.
                if not fresh(name):
                    lost[name] = (
                        f"its machine is not in {LISTINGS} complete lists of {site}, and its lease is not renewed"
                    )
        return suspects
