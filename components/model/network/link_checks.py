"""Checks of links between sites."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault
from clouds.base.phrases import suggestion
from components.model.environment import Environment
from components.model.network.links import links


def check_links(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each link that names an unknown site, joins a site to itself, repeats another link, says
    nothing, or has a circuit's capacity without a circuit; and for each two links that would have the same name."""
    pairs: dict[frozenset[str], int] = {}
    for index, link in enumerate(environment.links):
        at = ("links", index, "between")
        for end, site in enumerate(link.between):
            if site not in environment.sites:
                wrong, write = f"{site!r} is not a site", suggestion(environment.sites, site)
                yield Fault(at=(*at, end), wrong=wrong, write=write, basis=(("sites",),))
        if link.between[0] == link.between[1]:
            yield Fault(at=at, wrong=f"{link.between[0]!r} is both ends", write="two different sites")
        if link.kind is None and link.bandwidth is None:
            wrong = "it says nothing about this pair of sites"
            yield Fault(at=("links", index), wrong=wrong, write="`bandwidth`, or `kind: existing`")
        if link.kind is None and link.capacity is not None:
            wrong = f"only a circuit has a capacity, and {' to '.join(link.between)} is none"
            yield Fault(at=("links", index, "capacity"), wrong=wrong, write="`kind: existing`, or no `capacity`")
        earlier = pairs.setdefault(frozenset(link.between), index)
        if earlier != index:
            wrong = f"{' and '.join(link.between)} are already connected by links.{earlier}"
            yield Fault(at=at, wrong=wrong, write="each pair of sites once", basis=(("links", earlier),))
    names: dict[str, str] = {}
    for planned in links(environment):
        pair = f"{planned.first} and {planned.second}"
        other = names.setdefault(planned.name, pair)
        if other != pair:
            wrong = f"the links of {pair} and of {other} would both be called {planned.name}"
            yield Fault(at=("sites", planned.second), wrong=wrong, write="another name for one of these sites")
