"""Checks of the throughput that links are to carry against what their ends can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clouds.base.faults import Fault, Location
from clouds.base.phrases import word_list
from clouds.base.throughput import text
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.network.link_throughput import declaration, end_limits, link_limit, wanted_mbit
from components.model.network.links import LinkKind, PlannedLink, links

BASIS: tuple[Location, ...] = (("sites",), ("links",))
CIRCUIT = (
    "or a circuit of your own (`kind: existing`): one tunnel carries at a time, and several need BGP, which Longhaul "
    "does not have yet"
)


def check_throughput(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each link that cannot carry its `bandwidth`, and for each gateway that cannot carry the sum of
    its links' `bandwidth`."""
    wanted = {link: mbit for link in links(environment) if (mbit := wanted_mbit(environment, link)) is not None}
    for link, mbit in wanted.items():
        limit = link_limit(environment, link)
        if limit is not None and limit.mbit < mbit:
            wrong = f"{text(mbit)} are more than the {limit}"
            write = _remedy_of_link(environment, link, mbit)
            at = ("links", _index(environment, link), "bandwidth")
            yield Fault(at=at, wrong=wrong, write=write, basis=BASIS)
    for site in environment.sites:
        tunnelled = {
            link: mbit
            for link, mbit in wanted.items()
            if link.kind is LinkKind.IPSEC and site in (link.first, link.second)
        }
        if len(tunnelled) > 1:
            yield from _gateway_faults(environment, site, tunnelled)


def _remedy_of_link(environment: Environment, link: PlannedLink, wanted: int) -> str:
    if link.kind is LinkKind.EXISTING:
        return "a larger circuit and its `capacity`, or a smaller `bandwidth`"
    ends: dict[str, dict[int, str]] = {}
    for name in (link.first, link.second):
        site = environment.sites[name]
        present = min((limit.mbit for limit in end_limits(environment, link, name)), default=wanted)
        larger = cloud_of(site).tunnels.larger_gateways(site)
        ends[name] = _choices(present, [(min(each.tunnel_mbit, each.total_mbit), each.setting) for each in larger])
    return _remedy(ends, wanted)


def _gateway_faults(environment: Environment, name: str, wanted: Mapping[PlannedLink, int]) -> Iterator[Fault]:
    """Yield a fault when the gateway of the site called ``name`` cannot carry what is ``wanted`` of its links."""
    site, total = environment.sites[name], sum(wanted.values())
    tunnels = cloud_of(site).tunnels
    limit = tunnels.gateway_limit(site)
    if limit is None or limit.mbit >= total:
        return
    others = [link.second if link.first == name else link.first for link in wanted]
    wrong = f"the links of {name} to {word_list(others)} are to carry {text(total)} together, more than the {limit}"
    larger = [(each.total_mbit, each.setting) for each in tunnels.larger_gateways(site)]
    write = _remedy({name: _choices(limit.mbit, larger)}, total)
    last = max(_index(environment, link) for link in wanted)
    yield Fault(at=("links", last, "bandwidth"), wrong=wrong, write=write, basis=BASIS)


def _choices(present: int, larger: Sequence[tuple[int, str]]) -> dict[int, str]:
    """Return the settings of a site by the throughput that they give, Mbit/s: of several with the same, the first. The
    setting is empty for the present throughput."""
    return {present: "", **{mbit: setting for mbit, setting in reversed(larger) if mbit > present}}


def _remedy(ends: Mapping[str, Mapping[int, str]], wanted: int) -> str:
    """Return what to write. ``ends`` has the settings of each site by the throughput that they give, Mbit/s."""
    reached = min(wanted, *(max(choices) for choices in ends.values()))
    chosen = {name: choices[min(mbit for mbit in choices if mbit >= reached)] for name, choices in ends.items()}
    settings = word_list([f"`{setting}` at `sites.{name}`" for name, setting in chosen.items() if setting])
    if reached == wanted:
        return f"{settings}, or a smaller `bandwidth`"
    return f"{text(reached)} at most{settings and f' with {settings}'}, {CIRCUIT}"


def _index(environment: Environment, link: PlannedLink) -> int:
    declared = declaration(environment, link)
    return environment.links.index(declared) if declared else 0
