"""Which Nodes have lost their machine: decided from lists, never from silence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from controller.inventory import Machine, State

LISTINGS = 2
"""Complete listings in a row that a machine must be absent from: one may lag."""

SHARE = 0.1
"""Share of a site's Nodes that may be absent at once and still be believed; one Node always may. A list that lacks more
of them is wrong more often than so many machines are gone: a filter that no longer fits, another account, an answer in
part. In 2018 a full etcd made every node look dead at once, and an autoscaler set out to end them all (OpenAI, "Scaling
Kubernetes to 2,500 nodes"; SOURCES.md 5 and 20)."""

PATIENCE_S = 1800.0
"""A guard without an end wedges for ever (SOURCES.md 20). So what is absent from every complete listing for this long,
with nobody renewing its lease, is believed after all, however many they are."""


@dataclass(frozen=True, kw_only=True)
class NodeSeen:
    """A Node, as far as this matters."""

    name: str
    site: str
    """Its label; empty for a Node that is not one of ours, which is left alone."""


class List(Protocol):
    """What a site's inventory says of one machine."""

    def machine(self, name: str) -> Machine | None:
        """The machine, if the list has it."""

    def missed(self, name: str) -> int:
        """Complete listings in a row without it."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What follows of a look at all Nodes."""

    lost: Mapping[str, str]
    """Nodes to be removed, with the reason."""
    held: Mapping[str, str]
    """Sites whose absent Nodes are too many to be believed, with what was seen."""


class Lifecycle:
    """Looks at Nodes and lists; remembers since when a site's list is not believed."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held_since: dict[str, float] = {}

    def look(self, nodes: Iterable[NodeSeen], lists: Mapping[str, List], *, fresh: Callable[[str], bool]) -> Verdict:
        """``fresh`` says whether a node's lease is being renewed; it is asked of absent machines alone."""
        lost: dict[str, str] = {}
        absent: dict[str, list[str]] = {}
        ours = [node for node in nodes if node.site]
        for node in ours:
            list_ = lists.get(node.site)
            machine = list_.machine(node.name) if list_ else None
            if machine is not None and machine.state is State.ENDED:
                lost[node.name] = f"the cloud says that its machine in {node.site} has ended"
            elif machine is None and (list_ is None or list_.missed(node.name) >= LISTINGS):
                absent.setdefault(node.site, []).append(node.name)
        held = self._believe(absent, Counter(node.site for node in ours), lost, fresh=fresh)
        return Verdict(lost=lost, held=held)

    def _believe(
        self,
        absent: Mapping[str, list[str]],
        totals: Mapping[str, int],
        lost: dict[str, str],
        *,
        fresh: Callable[[str], bool],
    ) -> dict[str, str]:
        """Move absent Nodes to ``lost``, site by site; returns the sites where they are too many."""
        held: dict[str, str] = {}
        self._held_since = {site: at for site, at in self._held_since.items() if site in absent}
        for site, names in absent.items():
            most = max(1, math.floor(totals[site] * SHARE))
            if len(names) > most:
                since = self._held_since.setdefault(site, self._clock())
                if self._clock() - since < PATIENCE_S:
                    held[site] = f"{len(names)} of {totals[site]} nodes are not in its list, more than {most} at once"
                    continue
            else:
                self._held_since.pop(site, None)
            for name in names:
                # Somebody who renews a lease is not gone, whatever a list says.
                if not fresh(name):
                    lost[name] = (
                        f"its machine is not in {LISTINGS} complete lists of {site}, and its lease is not renewed"
                    )
        return held
