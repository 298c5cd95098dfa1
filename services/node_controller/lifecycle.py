"""Detection of Nodes that have lost their machine: decided from lists, never from silence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from clouds.base.machine_lists import ListedMachine, Presence

LISTINGS = 2
"""Complete listings in a row that a machine must be absent from, because one may lag."""

SHARE = 0.1
"""Share of a site's Nodes whose absence is believed at once; one Node always is. A list that lacks more of them is more
likely wrong than right: a filter that no longer fits, another account, an incomplete answer. In 2018 a full etcd made
every node look dead at once, and an autoscaler began to remove them all (OpenAI, "Scaling Kubernetes to 2,500
nodes")."""

PATIENCE_S = 1800.0
"""Seconds for which a site may have too many absent Nodes before they are believed after all, except Nodes whose lease
is being renewed. A guard without an end would block for ever."""


@dataclass(frozen=True, kw_only=True)
class NodeSeen:
    """Name and site of a Node."""

    name: str
    site: str
    """Site label of the Node; empty for a Node that is not Longhaul's, which is left alone."""


class SiteList(Protocol):
    """Inventory of a site, for questions about one machine."""

    def machine(self, name: str) -> ListedMachine | None:
        """Return the machine, if the list has it."""

    def missed(self, name: str) -> int:
        """Return the number of complete listings in a row without the machine."""


@dataclass(frozen=True, kw_only=True)
class LostNodes:
    """Result of a look at all Nodes."""

    lost: Mapping[str, str]
    """Nodes to be removed, with the reason."""
    suspects: Mapping[str, str]
    """Sites with too many absent Nodes to be believed, each with the observed numbers."""


class Lifecycle:
    """Compares Nodes with lists; remembers since when a site's list is not believed."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held_since: dict[str, float] = {}

    def look(
        self, nodes: Iterable[NodeSeen], lists: Mapping[str, SiteList], *, fresh: Callable[[str], bool]
    ) -> LostNodes:
        """Return which Nodes have lost their machine. ``fresh`` tells whether a node's lease is being renewed; it is
        called only for absent machines."""
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
        """Move absent Nodes to ``lost``, site by site. Return the sites with too many of them."""
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
