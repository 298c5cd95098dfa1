"""Check for names that are longer than their cloud or DNS allows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from clouds.base.faults import Fault
from clouds.base.names import LimitedName
from clouds.registry import cloud_of
from components.model.control_plane.machines import learner_name, role_sizes
from components.model.environment import Environment
from components.model.network.links import LinkKind, links
from components.model.sites.places import place_of

LONGEST_DNS = 253
"""Number of characters of the longest name in DNS, without the dot at its end: 255 bytes include a length for each
label and for the root (RFC 1035, 2.3.4)."""


def check_lengths(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for names that are too long for their cloud (only for the longest name of each kind), and for a
    domain that is too long."""
    longest: dict[str, LimitedName] = {}
    for limited in _names(environment):
        before = longest.setdefault(limited.what, limited)
        if len(limited.name) > len(before.name):
            longest[limited.what] = limited
    yield from _domain(environment)
    prefix = environment.naming.prefix
    at = ("naming", "prefix") if prefix else ("name",)
    for limited in longest.values():
        over = len(limited.name) - limited.most
        if over <= 0:
            continue
        length = f"has {len(limited.name)} characters, and at most {limited.most} are allowed"
        wrong = f"{limited.name!r}, the name of {limited.what}, {length}"
        write = f"names that are {over} shorter in all: prefix, environment, sites, pools and gateways"
        yield Fault(at=at, wrong=wrong, write=write, basis=(("name",), ("sites",), ("pools",)))


def _domain(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for a domain in which the name of a machine would be longer than DNS allows."""
    control = environment.control_plane
    names = [f"{environment.name}-{role}-{count - 1}." for role, (count, _) in role_sizes(environment).items()]
    longest = max([*names, *([f"{learner_name(environment)}."] if control.etcd.learner else [])], key=len)
    over = len(longest) + len(environment.domain) - LONGEST_DNS
    if over > 0:
        wrong = f"{longest}… in it would have {LONGEST_DNS + over} characters, and DNS allows {LONGEST_DNS}"
        yield Fault(at=("domain",), wrong=wrong, write=f"a domain that is {over} shorter", basis=(("name",),))


def _names(environment: Environment) -> Iterator[LimitedName]:
    places = {name: place_of(environment, name) for name in environment.sites}
    for place in places.values():
        yield from cloud_of(place.site).names.of_site(place)
    for pool, declared in environment.pools.items():
        if declared.site in places:
            place = places[declared.site]
            yield from cloud_of(place.site).names.of_pool(place, pool)
    for link in links(environment):
        if link.kind is LinkKind.IPSEC:
            for near, far in permutations((places[link.first], places[link.second])):
                for end in cloud_of(far.site).tunnels.ends(far.site):
                    yield from cloud_of(near.site).names.of_link(near, link.name, end)
